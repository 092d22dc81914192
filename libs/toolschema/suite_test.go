package toolschema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/build"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/windlass-dev/windlass/libs/toolschema"
)

// TestWhatIsOfferedAllowsAllThatTheSchemaAllows: each value that JSON Schema's own test suite calls valid is valid for what is offered.
func TestWhatIsOfferedAllowsAllThatTheSchemaAllows(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(build.Default.GOPATH,
		"pkg/mod/github.com/google/jsonschema-go@*/jsonschema/testdata/draft2020-12/*.json"))
	if err != nil || len(files) == 0 {
		t.Skip("there is no test suite in the module cache")
	}
	for name, form := range map[string]*toolschema.Form{
		"full": &toolschema.Full, "google": &toolschema.Google, "common": &toolschema.Common,
		"inline": {Inline: true, Top: []string{"type", "properties", "required"}, MaxDepth: 12},
	} {
		checked := 0
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var groups []struct {
				Description string
				Schema      json.RawMessage
				Tests       []struct {
					Description string
					Data        json.RawMessage
					Valid       bool
				}
			}
			if err := json.Unmarshal(data, &groups); err != nil {
				t.Fatal(err)
			}
			for _, g := range groups {
				for _, v := range g.Tests {
					if !v.Valid {
						continue
					}
					checked += allows(t, name+" "+filepath.Base(file)+": "+g.Description+", "+v.Description, form, string(g.Schema), string(v.Data))
					checked += allows(t, name+" property "+filepath.Base(file)+": "+g.Description+", "+v.Description, form,
						fmt.Sprintf(`{"type":"object","properties":{"v":%s}}`, g.Schema), fmt.Sprintf(`{"v":%s}`, v.Data))
				}
			}
		}
		t.Logf("%s: %d values", name, checked)
	}
}

// allows checks that a value is valid for what is offered of a schema; 0 if that is not offered.
func allows(t *testing.T, name string, form *toolschema.Form, schema, value string) int {
	t.Helper()
	fitted, err := toolschema.Fit(schema, form)
	if err != nil || value[0] != '{' || !valid(schema, value) {
		return 0
	}
	// A schema without a type allows what it does not speak of, and Google's form has no such schema.
	var of struct {
		Type       any
		Properties struct{ V struct{ Type any } }
	}
	typed := json.Unmarshal([]byte(schema), &of) == nil && of.Type != nil && (of.Properties.V.Type != nil || !strings.Contains(schema, `{"v":`))
	null := strings.Contains(value, "null") && !form.Takes("nullable", 1)
	if form.OneType && (!typed || null) {
		return 0
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(fitted.JSON))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("https://tool.test/schema", nullable(v)); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("https://tool.test/schema")
	if err != nil {
		t.Errorf("%s: %s becomes %s: %v", name, schema, fitted.JSON, err)
		return 1
	}
	for made, own := range fitted.Keys {
		value = string(bytes.ReplaceAll([]byte(value), quote(own), quote(made)))
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(value)))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(instance); err != nil {
		t.Errorf("%s: %s of %s does not allow %s: %v", name, fitted.JSON, schema, value, err)
	}
	return 1
}

// valid reports whether a schema allows a value: in a property, a schema may refer to something else than as a whole.
func valid(schema, value string) bool {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		return false
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if c.AddResource("https://tool.test/schema", v) != nil {
		return false
	}
	compiled, err := c.Compile("https://tool.test/schema")
	if err != nil {
		return false
	}
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
	return err == nil && compiled.Validate(instance) == nil
}

func quote(text string) []byte {
	raw, err := json.Marshal(text)
	if err != nil {
		return nil
	}
	return raw
}

// nullable expresses Google's keyword in JSON Schema.
func nullable(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = nullable(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = nullable(v[key])
		}
		if name, ok := v["type"].(string); ok && v["nullable"] == true {
			v["type"] = []any{name, "null"}
			if enum, ok := v["enum"].([]any); ok {
				v["enum"] = append(enum, nil)
			}
		}
	}
	return v
}
