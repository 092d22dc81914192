package grpcapi_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/schema"
	"github.com/windlass-dev/windlass/services/registry/grpcapi"
	"github.com/windlass-dev/windlass/services/registry/grpcapi/grpctest"
	"github.com/windlass-dev/windlass/services/registry/store"
)

func options() grpcapi.Options { return grpcapi.Options{MaxBytes: 16 << 20, MaxOperations: 2000} }

func read(t *testing.T, o grpcapi.Options, files ...*descriptorpb.FileDescriptorProto) grpcapi.API {
	t.Helper()
	api, err := grpcapi.Read(t.Context(), grpctest.Set(t, files...), o)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func find(t *testing.T, api grpcapi.API, name string) grpcapi.Tool {
	t.Helper()
	i := slices.IndexFunc(api.Tools, func(t grpcapi.Tool) bool { return t.Name == name })
	if i < 0 {
		t.Fatalf("there is no tool %s", name)
	}
	return api.Tools[i]
}

func TestMethodsBecomeTools(t *testing.T) {
	api := read(t, options(), grpctest.Shop(t))
	var got []string
	for _, tool := range api.Tools {
		got = append(got, fmt.Sprintf("%s %d %v", tool.Name, tool.Effect, tool.Deprecated))
		if strings.Join(tool.Tags, " ") != "shop.v1.Orders" {
			t.Errorf("%s has the tags %q", tool.Name, tool.Tags)
		}
	}
	want := []string{
		fmt.Sprintf("Orders_AddAndWatch %d false", store.Once), fmt.Sprintf("Orders_AddOrder %d false", store.Once),
		fmt.Sprintf("Orders_Anything %d false", store.Once), fmt.Sprintf("Orders_DropOrder %d true", store.Idempotent),
		fmt.Sprintf("Orders_Echo %d false", store.Once), fmt.Sprintf("Orders_FindOrder %d false", store.Read),
		fmt.Sprintf("Orders_GetOrder %d false", store.Read), fmt.Sprintf("Orders_PutOrder %d false", store.Idempotent),
		fmt.Sprintf("Orders_WatchOrders %d false", store.Read),
	}
	if !slices.Equal(got, want) {
		t.Errorf("tools %q, want %q", got, want)
	}
	if len(api.Skipped) != 1 || !strings.HasPrefix(api.Skipped[0], "shop.v1.Orders/Upload: a stream of requests") {
		t.Errorf("skipped %q", api.Skipped)
	}
	if tool := find(t, api, "Orders_GetOrder"); tool.Description != "GetOrder returns an order.\nEven a paid one." ||
		!strings.Contains(string(tool.OutputSchema), `"description":"Where it is. `) && !strings.Contains(string(tool.OutputSchema), "Where it is.") {
		t.Errorf("comments: %q, %s", tool.Description, tool.OutputSchema)
	}
	if tool := find(t, api, "Orders_DropOrder"); tool.Description != "Deprecated.\n\nCalls the method shop.v1.Orders/DropOrder." {
		t.Errorf("without comment: %q", tool.Description)
	}
}

// TestArgumentsAreChecked holds the schema of arguments against the JSON form of messages.
func TestArgumentsAreChecked(t *testing.T) {
	api := read(t, options(), grpctest.Shop(t))
	tool := find(t, api, "Orders_PutOrder")
	v, err := schema.Compile(tool.InputSchema)
	if err != nil {
		t.Fatal(err)
	}
	codec, err := tool.Method.Codec()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ field, wrong string }{ // a field in JSON; what is wrong with it, empty = it is accepted
		{`"fInt64":1`, ""},
		{`"fInt64":"9007199254740993"`, ""},
		{`"fInt64":"x"`, "/fInt64"},
		{`"fInt64":1.5`, "/fInt64"},
		{`"fUint64":"-1"`, "/fUint64"},
		{`"fUint64":-1`, "/fUint64"},
		{`"fUint64":18446744073709551615`, ""},
		{`"fInt32":2147483647`, ""},
		{`"fInt32":2147483648`, "/fInt32"},
		{`"fUint32":-1`, "/fUint32"},
		{`"fFixed32":4294967295`, ""},
		{`"fDouble":1e300`, ""},
		{`"fDouble":"NaN"`, ""},
		{`"fFloat":"-Infinity"`, ""},
		{`"fFloat":"x"`, "/fFloat"},
		{`"fBool":true`, ""},
		{`"fBool":"true"`, "/fBool"},
		{`"fString":"ä"`, ""},
		{`"fString":1`, "/fString"},
		{`"fBytes":"aGk="`, ""},
		{`"status":"STATUS_PAID"`, ""},
		{`"status":"PAID"`, "/status"},
		{`"lines":[{"sku":"a","order":{"id":"ab","quantity":1}}]`, ""},
		{`"lines":{}`, "/lines"},
		{`"lines":[{"x":1}]`, "/lines/0/x"},
		{`"parent":{"id":"ab","quantity":1,"parent":{"id":"ab","quantity":2}}`, ""},
		{`"parent":{"quantity":1}`, "/parent/id"},
		{`"labels":{"a":"b"}`, ""},
		{`"labels":{"a":1}`, "/labels/a"},
		{`"byNumber":{"-7":{"sku":"x"}}`, ""},
		{`"byNumber":{"x":{}}`, "does not match pattern"},
		{`"at":"2026-01-02T03:04:05Z"`, ""},
		{`"at":1`, "/at"},
		{`"took":"1.5s"`, ""},
		{`"took":"1.5"`, "/took"},
		{`"mask":"a,bC"`, ""},
		{`"details":{"a":[1]}`, ""},
		{`"details":[]`, "/details"},
		{`"anything":[1,"a",null]`, ""},
		{`"list":[1]`, ""},
		{`"nothing":{}`, ""},
		{`"payload":{"@type":"type.googleapis.com/shop.v1.OrderId","id":"x"}`, ""},
		{`"nothing":{"a":1}`, "/nothing/a"},
		{`"wString":"a"`, ""},
		{`"wInt64":"5"`, ""},
		{`"wBool":false`, ""},
		{`"wBytes":"aGk="`, ""},
		{`"wDouble":1.5`, ""},
		{`"wUint32":-1`, "/wUint32"},
		{`"null":null`, ""},
		{`"error":{"code":5,"message":"m"}`, ""},
		{`"card":"1"`, ""},
		{`"note":""`, ""},
		{`"createdBy":"me"`, "/createdBy"},
		{`"unknown":1`, "/unknown"},
		{`"id":"a"`, "/id"},
		{`"id":"ABC"`, "/id"},
		{`"quantity":0`, "/quantity"},
		{`"quantity":100`, "/quantity"},
		{`"tags":["a","b"]`, ""},
		{`"tags":["a","a"]`, "/tags"},
		{`"tags":["abcdef"]`, "/tags/0"},
		{`"tags":["a","b","c","d"]`, "/tags"},
	} {
		text := "{" + row.field
		for _, required := range []string{`"id":"ab"`, `"quantity":1`} {
			if name, _, _ := strings.Cut(required, ":"); !strings.HasPrefix(row.field, name) {
				text += "," + required
			}
		}
		args, err := canon.Parse([]byte(text + "}"))
		if err != nil {
			t.Fatal(err)
		}
		faults, err := v.Validate(t.Context(), args)
		if err != nil {
			t.Fatal(err)
		}
		if row.wrong != "" {
			if len(faults) == 0 || !strings.Contains(faults[0].Pointer+" "+faults[0].Message, row.wrong) {
				t.Errorf("%s: %v, want a fault at %s", row.field, faults, row.wrong)
			}
			continue
		}
		if len(faults) > 0 {
			t.Errorf("%s: %v", row.field, faults)
			continue
		}
		message, err := codec.Encode(args)
		if err != nil {
			t.Errorf("%s is encoded: %v", row.field, err)
			continue
		}
		out, err := codec.Decode(message)
		if err != nil {
			t.Errorf("%s is decoded: %v", row.field, err)
		}
		answer, err := schema.Compile(tool.OutputSchema)
		if err != nil {
			t.Fatal(err)
		}
		back, err := canon.Parse(out)
		if err != nil {
			t.Fatal(err)
		}
		if faults, err := answer.Validate(t.Context(), back); err != nil || len(faults) > 0 {
			t.Errorf("%s becomes %s: %v, %v", row.field, out, faults, err)
		}
	}
}

// TestSchemasAreOfUse: model APIs refuse some keywords at the top of a schema.
func TestSchemasAreOfUse(t *testing.T) {
	for _, tool := range read(t, options(), grpctest.Shop(t)).Tools {
		for _, text := range []json.RawMessage{tool.InputSchema, tool.OutputSchema} {
			if len(text) == 0 {
				continue
			}
			var s map[string]any
			if err := json.Unmarshal(text, &s); err != nil {
				t.Fatal(err)
			}
			if s["type"] != "object" || s["oneOf"] != nil || s["anyOf"] != nil || s["allOf"] != nil {
				t.Errorf("%s: %s", tool.Name, text)
			}
			if _, err := schema.Compile(text); err != nil {
				t.Errorf("%s: %v", tool.Name, err)
			}
		}
	}
	api := read(t, options(), grpctest.Shop(t))
	if got := string(find(t, api, "Orders_Echo").InputSchema); got !=
		`{"additionalProperties":false,"properties":{"value":{"type":"string"}},"required":["value"],"type":"object"}` {
		t.Errorf("a request that is no object: %s", got)
	}
	if got := string(find(t, api, "Orders_AddOrder").InputSchema); !strings.Contains(got, "At most one of: card, cash.") {
		t.Errorf("members of a oneof: %s", got)
	}
}

func TestMethodsAreSelected(t *testing.T) {
	shop, other := grpctest.Shop(t), grpctest.Shop(t)
	other.Name, other.Package = new("shop/v2/shop.proto"), new("shop.v2")
	renameTypes(other, ".shop.v1.", ".shop.v2.")
	health := grpctest.Shop(t)
	health.Name, health.Package = new("grpc/x.proto"), new("grpc.x")
	renameTypes(health, ".shop.v1.", ".grpc.x.")
	for _, row := range []struct {
		name string
		o    grpcapi.Options
		want string
	}{
		{"the first package has the short names", grpcapi.Options{Names: []string{"*GetOrder"}}, "Orders_GetOrder shop_v2_Orders_GetOrder"},
		{"by path", grpcapi.Options{Paths: []string{"shop.v2.*/GetOrder"}}, "shop_v2_Orders_GetOrder"},
		{
			"by service",
			grpcapi.Options{Tags: []string{"shop.v1.Orders"}, Names: []string{"*_Find*", "*_Get*"}},
			"Orders_FindOrder Orders_GetOrder",
		},
		{"what is part of gRPC, if it is named", grpcapi.Options{Paths: []string{"grpc.*/GetOrder"}}, "Orders_GetOrder"},
		{"nothing", grpcapi.Options{Names: []string{"x"}}, "no method is selected"},
	} {
		o := options()
		o.Tags, o.Paths, o.Names = row.o.Tags, row.o.Paths, row.o.Names
		api, err := grpcapi.Read(t.Context(), grpctest.Set(t, health, other, shop), o)
		var names []string
		for _, tool := range api.Tools {
			names = append(names, tool.Name)
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = err.Error()
		}
		if got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
	o := options()
	o.MaxOperations = 3
	if _, err := grpcapi.Read(t.Context(), grpctest.Set(t, shop), o); err == nil || !strings.Contains(err.Error(), "more than 3 methods") {
		t.Errorf("too many methods: %v", err)
	}
}

func renameTypes(f *descriptorpb.FileDescriptorProto, from, to string) {
	var message func(m *descriptorpb.DescriptorProto)
	message = func(m *descriptorpb.DescriptorProto) {
		for _, field := range m.GetField() {
			if field.TypeName != nil {
				field.TypeName = new(strings.Replace(field.GetTypeName(), from, to, 1))
			}
		}
		for _, inner := range m.GetNestedType() {
			message(inner)
		}
	}
	for _, m := range f.GetMessageType() {
		message(m)
	}
	for _, s := range f.GetService() {
		for _, m := range s.GetMethod() {
			m.InputType = new(strings.Replace(m.GetInputType(), from, to, 1))
			m.OutputType = new(strings.Replace(m.GetOutputType(), from, to, 1))
		}
	}
}

// TestDefinitionsHaveWhatTheyNeed: a change of what a method does not use leaves its definition alone.
func TestDefinitionsHaveWhatTheyNeed(t *testing.T) {
	before := find(t, read(t, options(), grpctest.Shop(t)), "Orders_AddAndWatch")
	changed := grpctest.Shop(t)
	changed.MessageType[2].Field[0].Name = new("changed") // Unused
	changed.MessageType[0].Field[0].Name = new("changed") // Order
	changed.Service[0].Method = changed.GetService()[0].GetMethod()[:9]
	after := find(t, read(t, options(), changed), "Orders_AddAndWatch")
	x, errX := json.Marshal(before)
	y, errY := json.Marshal(after)
	if errX != nil || errY != nil || string(x) != string(y) || len(x) > 2000 {
		t.Errorf("before %s, after %s", x, y)
	}
}
