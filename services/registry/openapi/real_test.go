package openapi_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/schema"
	"github.com/windlass-dev/windlass/services/registry/httpcall"
	"github.com/windlass-dev/windlass/services/registry/openapi"
)

// TestRealDocuments reads public API descriptions, if they are beside the project, and calls each of their operations.
func TestRealDocuments(t *testing.T) {
	files, err := filepath.Glob("../../../../shared/openapi/*-3.*")
	if err != nil || len(files) == 0 {
		t.Skip("there are no API descriptions in ../shared/openapi")
	}
	out, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(out.CloseIdle)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := make(chan string, 1)
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				got <- r.Method + " " + r.URL.EscapedPath()
			}))
			t.Cleanup(server.Close)
			api := read(t, data, openapi.Options{BaseURL: server.URL})
			if len(api.Skipped) > 0 {
				t.Errorf("skipped: %s", strings.Join(api.Skipped, "\n"))
			}
			check(t, api)
			called := 0
			for _, tool := range api.Tools {
				args, ok := arguments(t, tool)
				if !ok {
					continue
				}
				called++
				call := httpcall.Call{Source: "x", Maker: &tool.Operation, Args: args, Hide: strings.Clone}
				if _, err := httpcall.Send(t.Context(), out, call); err != nil {
					t.Errorf("%s: %v", tool.Name, err)
					continue
				}
				path, _, _ := strings.Cut(strings.TrimPrefix(tool.Operation.URL, server.URL), "?")
				want := regexp.MustCompile("^" + tool.Operation.Method + " " +
					regexp.MustCompile(`\\\{[^}]*\\\}`).ReplaceAllString(regexp.QuoteMeta(path), `[^/?#]+`) + "$")
				if request := <-got; !want.MatchString(request) {
					t.Errorf("%s: sent %s, want %s", tool.Name, request, want)
				}
			}
			if missed := len(api.Tools) - called; missed > 3 { // some documents contradict themselves
				t.Errorf("only %d of %d operations were called", called, len(api.Tools))
			}
			t.Logf("%s: %d tools, %d called", api.Title, len(api.Tools), called)
		})
	}
}

// arguments makes the smallest arguments that fit a tool's schema; false if this test cannot.
func arguments(t *testing.T, tool openapi.Tool) (canon.Object, bool) {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal(tool.InputSchema, &root); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(sampler{root}.sample(root, 0))
	if err != nil {
		t.Fatal(err)
	}
	args, err := canon.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	validator, err := schema.Compile(tool.InputSchema)
	if err != nil {
		t.Fatal(err)
	}
	faults, err := validator.Validate(t.Context(), args)
	if err != nil || len(faults) > 0 {
		t.Logf("%s: %v %v for %.300s", tool.Name, faults, err, text)
		return nil, false
	}
	return args, true
}

// sampler makes values that fit schemas, as far as it understands them.
type sampler struct{ root map[string]any }

func (s sampler) sample(v any, depth int) any {
	o, ok := v.(map[string]any)
	if !ok || depth > 12 {
		return "x"
	}
	if ref, ok := o["$ref"].(string); ok {
		defs, _ := s.root["$defs"].(map[string]any)
		return s.sample(defs[strings.TrimPrefix(ref, "#/$defs/")], depth+1)
	}
	for _, key := range []string{"const", "default"} {
		if v, ok := o[key]; ok {
			return v
		}
	}
	if enum, ok := o["enum"].([]any); ok {
		return enum[0]
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := o[key].([]any); ok && o["properties"] == nil {
			return s.sample(list[0], depth+1)
		}
	}
	kind, _ := o["type"].(string)
	if list, ok := o["type"].([]any); ok {
		kind, _ = list[0].(string)
	}
	switch kind {
	case "integer", "number":
		for _, key := range []string{"minimum", "maximum"} {
			if n, ok := o[key].(float64); ok {
				return n
			}
		}
		return 1
	case "boolean":
		return true
	case "null":
		return nil
	case "array":
		list := []any{}
		least, _ := o["minItems"].(float64)
		if depth == 1 { // an empty array is no part of a path
			least = max(least, 1)
		}
		for range int(least) {
			list = append(list, s.sample(o["items"], depth+1))
		}
		return list
	case "string":
		return text(o)
	}
	return s.object(o, depth)
}

func text(o map[string]any) string {
	for format, sample := range map[string]string{
		"date": "2026-01-02", "date-time": "2026-01-02T03:04:05Z", "uuid": "c0ffee00-0000-4000-8000-000000000000",
	} {
		if o["format"] == format {
			return sample
		}
	}
	if pattern, ok := o["pattern"].(string); ok {
		for _, sample := range []string{"0", "1234567890", "abc", "a.b", "x-1"} {
			if regexp.MustCompile(pattern).MatchString(sample) {
				return sample
			}
		}
	}
	least, _ := o["minLength"].(float64)
	return strings.Repeat("x", max(int(least), 1))
}

func (s sampler) object(o map[string]any, depth int) any {
	out := map[string]any{}
	if parts, ok := o["allOf"].([]any); ok {
		for _, part := range parts {
			v := s.sample(part, depth+1)
			members, isObject := v.(map[string]any)
			if !isObject {
				return v
			}
			maps.Copy(out, members)
		}
	}
	properties, _ := o["properties"].(map[string]any)
	required, _ := o["required"].([]any)
	if list, ok := o["oneOf"].([]any); ok { // one of several sets of members
		first, _ := list[0].(map[string]any)
		more, _ := first["required"].([]any)
		required = append(required, more...)
	}
	if len(required) == 0 && depth == 1 { // an empty object is no part of a path
		for name := range properties {
			required = []any{name}
		}
	}
	for _, name := range required {
		if key, ok := name.(string); ok && out[key] == nil {
			out[key] = s.sample(properties[key], depth+1)
		}
	}
	return out
}
