package assembly

import (
	"reflect"
	"regexp"
	"testing"

	"github.com/windlass-dev/windlass/libs/config"
)

// handTyped matches a default in a description, which nothing compares with the code.
var handTyped = regexp.MustCompile(`(?i)\(default\b|\bdefaults? (is|of|to)? ?[0-9"]`)

// The defaults are in one place, the default tags; pages and commands print them from there.
func TestDescriptionsNameNoDefaults(t *testing.T) {
	for _, k := range Keys() {
		if text := handTyped.FindString(k.Doc); text != "" && k.Env != "" {
			t.Errorf("%s: the description says %q: use the default tag", k.Path, text)
		}
	}
}

// A default tag has an effect only where a configuration is a struct all the way down.
func TestDefaultTagsAreNotInListsAndMaps(t *testing.T) {
	var check func(at reflect.Type, path string, repeated bool)
	check = func(at reflect.Type, path string, repeated bool) {
		for at.Kind() == reflect.Slice || at.Kind() == reflect.Map || at.Kind() == reflect.Pointer {
			at, repeated = at.Elem(), true
		}
		if at.Kind() != reflect.Struct {
			return
		}
		for f := range at.Fields() {
			if repeated && f.Tag.Get("default") != "" {
				t.Errorf("%s.%s has a default tag inside a list, map or pointer", path, f.Name)
			}
			if f.IsExported() {
				check(f.Type, path+"."+f.Name, repeated)
			}
		}
	}
	check(reflect.TypeFor[Config](), "Config", false)
}

// A zero configuration is completed by the constructors; where zero is a setting, Fill leaves it.
func TestFillCompletesTheServices(t *testing.T) {
	want := Defaults()
	got := Config{}
	config.Fill(&got)
	if got.Sessions.Load != (Config{}).Sessions.Load {
		t.Errorf("limits of zero were replaced: %+v", got.Sessions.Load)
	}
	got.Sessions.Load = want.Sessions.Load
	for name, pair := range map[string][2]any{
		"sessions": {got.Sessions, want.Sessions},
		"worker":   {got.Worker.Config, want.Worker.Config},
		"grants":   {got.Policy.Grants, want.Policy.Grants},
		"cache":    {got.Registry.Cache, want.Registry.Cache},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: filled %+v\ndefaults %+v", name, pair[0], pair[1])
		}
	}
	if got.MCPBridge.Limits != (Config{}).MCPBridge.Limits || got.Worker.Executors.Process || got.Registry.EnvAllow != nil {
		t.Errorf("settings of zero were replaced: %+v, %+v", got.MCPBridge, got.Worker.Executors)
	}
}
