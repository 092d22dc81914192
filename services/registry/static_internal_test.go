package registry

import (
	"reflect"
	"slices"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// TestTheConfigurationHasEachFieldOfASource: a new field of the API has its place in the configuration too.
func TestTheConfigurationHasEachFieldOfASource(t *testing.T) {
	sameFields(t, "sources", (&registryv1.Source{}).ProtoReflect().Descriptor(), reflect.TypeFor[SourceConfig](), "id")
}

// sameFields compares the fields of a message that callers set with the keys of a type, and those below.
func sameFields(t *testing.T, path string, message protoreflect.MessageDescriptor, config reflect.Type, except ...string) {
	t.Helper()
	keys := map[string]reflect.Type{}
	for f := range config.Fields() {
		if path == "sources" && f.Tag.Get("yaml") == "tenant" {
			continue // callers of the API create sources in their own tenant
		}
		keys[f.Tag.Get("yaml")] = f.Type
	}
	for i := range message.Fields().Len() {
		f := message.Fields().Get(i)
		name := string(f.Name())
		if outputOnly(f) || slices.Contains(except, name) {
			continue
		}
		key, ok := keys[name]
		if !ok {
			t.Errorf("%s: the API has a field %q that the configuration lacks", path, name)
			continue
		}
		delete(keys, name)
		for key.Kind() == reflect.Pointer || key.Kind() == reflect.Slice {
			key = key.Elem()
		}
		if key.Kind() == reflect.Struct {
			sameFields(t, path+"."+name, f.Message(), key)
		}
	}
	for name := range keys {
		t.Errorf("%s: the configuration has a key %q that is no field of the API", path, name)
	}
}

func outputOnly(f protoreflect.FieldDescriptor) bool {
	behaviour, _ := proto.GetExtension(f.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior)
	return slices.Contains(behaviour, annotations.FieldBehavior_OUTPUT_ONLY)
}

// TestEachKeyOfAConfiguredSourceCounts: no key is read and then dropped.
func TestEachKeyOfAConfiguredSourceCounts(t *testing.T) {
	none, err := SourceConfig{}.source()
	if err != nil {
		t.Fatal(err)
	}
	for f := range reflect.TypeFor[SourceConfig]().Fields() {
		var c SourceConfig
		fill(reflect.ValueOf(&c).Elem().FieldByIndex(f.Index))
		with, err := c.source()
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		if reflect.DeepEqual(none, with) {
			t.Errorf("%s is dropped", f.Name)
		}
	}
}

// fill sets a value to something else than its zero value.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("once")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint32:
		v.SetUint(7)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(7)
	case reflect.Interface:
		v.Set(reflect.ValueOf("once"))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value)
		v.SetMapIndex(reflect.ValueOf("key"), value)
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field)
		}
	}
}

func TestConfiguredSourcesBelongToTenants(t *testing.T) {
	source := func(tenant string) SourceConfig {
		return SourceConfig{Name: "crm", Tenant: tenant, URL: "http://127.0.0.1:1/mcp"}
	}
	all, err := Config{Sources: []SourceConfig{source("acme"), source("")}}.static()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range all {
		got = append(got, s.Tenant+"/"+s.Name)
	}
	if want := []string{"default/mesh", "acme/crm", "default/crm"}; !slices.Equal(got, want) {
		t.Errorf("the sources are %v, want %v", got, want)
	}
	for _, bad := range [][]SourceConfig{{source(""), source("default")}, {source("a/b")}} {
		if _, err := (Config{Sources: bad}).static(); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}
