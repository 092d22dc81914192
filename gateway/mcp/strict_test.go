package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// wrongSchema says why a client that checks the schema of a tool rejects the whole list; empty if it does not.
func wrongSchema(v any) string {
	s, _ := v.(map[string]any)
	if s["type"] != "object" {
		return fmt.Sprintf("the type is %v", s["type"])
	}
	if p, ok := s["properties"]; ok {
		all, ok := p.(map[string]any)
		if !ok {
			return fmt.Sprintf("the properties are %v", p)
		}
		for name, item := range all {
			if _, ok := item.(map[string]any); !ok {
				return fmt.Sprintf("the property %s is %v", name, item)
			}
		}
	}
	if r, ok := s["required"]; ok {
		all, ok := r.([]any)
		for _, item := range all {
			_, isText := item.(string)
			ok = ok && isText
		}
		if !ok {
			return fmt.Sprintf("required is %v", r)
		}
	}
	return ""
}

// TestOneOddToolDoesNotHideOthers: clients that check the list of tools reject all of them for one that is wrong.
func TestOneOddToolDoesNotHideOthers(t *testing.T) {
	odd := []struct {
		input, output string
		listed        bool
	}{
		{`{}`, ``, true},
		{`null`, `null`, true},
		{``, ``, true},
		{`true`, `true`, true},
		{`{"properties":{"a":{"type":"string"}}}`, `{"description":"anything"}`, true},
		{`{"type":"object","properties":[]}`, `{"type":"object","properties":[]}`, true},
		{`{"type":"object","required":null}`, `{"type":"object","required":null}`, true},
		{`{"type":["object","null"]}`, `{"type":["object","null"]}`, true},
		{`{"type":"object","properties":{"a":true}}`, `{"type":"array","items":{}}`, true},
		{`{"type":"object","$schema":5}`, `{"type":"object","properties":{"a":7}}`, true},
		{`{"type":"object"}`, `[]`, true},
		{`{"type":"object"}`, `"object"`, true},
		{`{"type":"string"}`, ``, false},
		{`{"type":"object","properties":{"a":"string"}}`, ``, false},
		{`[1]`, ``, false},
	}
	r := &registry{tools: []*registryv1.Tool{{Name: "s__good", OriginalName: "s__good", InputSchemaJson: `{"type":"object"}`}}}
	want := []string{"s__good"}
	for i, row := range odd {
		name := fmt.Sprint("s__odd", i)
		r.tools = append(r.tools, &registryv1.Tool{Name: name, OriginalName: name, InputSchemaJson: row.input, OutputSchemaJson: row.output})
		if row.listed {
			want = append(want, name)
		}
	}
	for _, path := range []string{"/mcp", "/mcp/s"} {
		result, _ := serve(t, r)(path, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)["result"].(map[string]any)
		listed, _ := result["tools"].([]any)
		var names []string
		for _, v := range listed {
			tool, _ := v.(map[string]any)
			names = append(names, fmt.Sprint(tool["name"]))
			if wrong := wrongSchema(tool["inputSchema"]); wrong != "" {
				t.Errorf("%s: %v: input: %s", path, tool["name"], wrong)
			}
			if output, ok := tool["outputSchema"]; ok && wrongSchema(output) != "" {
				t.Errorf("%s: %v: output: %s", path, tool["name"], wrongSchema(output))
			}
		}
		if strings.Join(names, " ") != strings.Join(want, " ") {
			t.Errorf("%s: listed %v, want %v", path, names, want)
		}
	}
}

// TestOneOddEntryDoesNotHideOthers: the same for prompts, resources and templates.
func TestOneOddEntryDoesNotHideOthers(t *testing.T) {
	for method, row := range map[string]struct{ field, items, want string }{
		"prompts/list": {
			"prompts", `[7,null,"x",{"name":"good","arguments":[{"name":"a","required":true}]},
			{"name":"odd1","title":5,"description":null,"arguments":null,"icons":{},"_meta":[]},
			{"name":"odd2","arguments":[{"name":"a","title":null,"required":"yes"}]},
			{"name":"odd3","arguments":[{"title":"no name"}]},{"name":"odd4","arguments":{}},{"name":""},{"name":7},{}]`,
			`[{"arguments":[{"name":"a","required":true}],"name":"good"},{"name":"odd1"},{"arguments":[{"name":"a"}],"name":"odd2"}]`,
		},
		"resources/list": {
			"resources", `[{"uri":"a:1","name":"good","size":3,"annotations":{"audience":["user"],"priority":0.5}},
			{"uri":"a:2"},{"uri":"a:3","name":null,"mimeType":null,"size":"3","annotations":{"audience":["robot"],"priority":7,"x":1}},
			{"uri":"a:4","name":"n","icons":[{"src":"x","sizes":"any"}],"annotations":[]},{"uri":"a:5","name":"n","icons":[{}]},
			{"name":"no address"},{"uri":null},{"uri":7}]`,
			`[{"annotations":{"audience":["user"],"priority":0.5},"name":"good","size":3,"uri":"a:1"},{"name":"a:2","uri":"a:2"},` +
				`{"annotations":{"x":1},"name":"a:3","uri":"a:3"},{"icons":[{"src":"x"}],"name":"n","uri":"a:4"},{"name":"n","uri":"a:5"}]`,
		},
		"resources/templates/list": {
			"resourceTemplates", `[{"uriTemplate":"a:{x}","name":"good"},{"uriTemplate":"b:{x}","title":[]},{"name":"n"}]`,
			`[{"name":"good","uriTemplate":"a:{x}"},{"name":"b:{x}","uriTemplate":"b:{x}"}]`,
		},
	} {
		answer := `{"` + row.field + `":` + row.items + `,"nextCursor":null}`
		ask := serve(t, &registry{forward: func(*registryv1.ForwardRequestRequest) (*registryv1.ForwardRequestResponse, error) {
			return forwarded(answer, nil)
		}})
		result, _ := ask("/mcp/a", `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`)["result"].(map[string]any)
		text, err := json.Marshal(result[row.field])
		if _, cursor := result["nextCursor"]; err != nil || string(text) != row.want || cursor {
			t.Errorf("%s: got %s, %v", method, text, err)
		}
		result, _ = ask("/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`)["result"].(map[string]any)
		if all, _ := result[row.field].([]any); len(all) != 2*strings.Count(row.want, `"name"`)-2*strings.Count(row.want, `"name":"a"`) {
			t.Errorf("%s of all: got %v", method, all)
		}
	}
}

// TestOddContentOfPromptsAndResources: what a client could not read becomes text.
func TestOddContentOfPromptsAndResources(t *testing.T) {
	for method, row := range map[string]struct{ answer, want string }{
		"prompts/get": {
			`{"messages":[{"role":"user","content":{"type":"text","text":"hi"}},{"role":"user","content":{"type":"video","url":"x"}},
				{"role":"user","content":"plain"},{"role":"user","content":{"type":"image","data":7}},
				{"role":"user","content":{"type":"resource","resource":{"uri":"a:b","mimeType":null}}},
				{"role":"user","content":{"type":"resource_link","uri":"a:b"}}]}`,
			`{"messages":[{"content":{"text":"hi","type":"text"},"role":"user"},` +
				`{"content":{"text":"{\"type\":\"video\",\"url\":\"x\"}","type":"text"},"role":"user"},` +
				`{"content":{"text":"\"plain\"","type":"text"},"role":"user"},` +
				`{"content":{"text":"{\"type\":\"image\",\"data\":7}","type":"text"},"role":"user"},` +
				`{"content":{"resource":{"text":"","uri":"a:b"},"type":"resource"},"role":"user"},` +
				`{"content":{"name":"a:b","type":"resource_link","uri":"a:b"},"role":"user"}]}`,
		},
		"resources/read": {
			`{"contents":[{"uri":"a:b","text":"t"},{"text":"no address"},{"uri":"a:b","mimeType":7,"blob":null},7]}`,
			`{"contents":[{"text":"t","uri":"a:b"},{"text":"no address","uri":"a:b"},{"text":"","uri":"a:b"}]}`,
		},
	} {
		ask := serve(t, &registry{forward: func(*registryv1.ForwardRequestRequest) (*registryv1.ForwardRequestResponse, error) {
			return forwarded(row.answer, nil)
		}})
		got := ask("/mcp/a", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"name":"p","uri":"a:b"}}`)
		text, err := json.Marshal(got["result"])
		if err != nil || string(text) != row.want {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", method, text, err, row.want)
		}
	}
}
