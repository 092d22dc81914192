// Package vendortest refuses definitions of tools as the APIs of models do: by their documentation, and by the errors that they are known
// for.
package vendortest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Rules are what an API refuses.
type Rules struct {
	name, key      *regexp.Regexp
	maxDescription int
	maxTools       int
	// wants returns the fault of a schema, "" for none; at is the path within.
	wants func(r *Rules, schema any) string
}

var (
	plainName  = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	googleName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`)
	claudeKey  = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	googleKey  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`)
)

// The rules of APIs.
var (
	OpenAI    = &Rules{name: plainName, maxDescription: 1024, maxTools: 128, wants: jsonSchema}
	Anthropic = &Rules{name: plainName, key: claudeKey, wants: jsonSchema}
	Nova      = &Rules{name: plainName, key: claudeKey, wants: nova}
	Google    = &Rules{name: googleName, key: googleKey, wants: google}
	Ollama    = &Rules{name: googleName, wants: ollama}
)

// Tool returns why the API refuses a tool, "" if it takes it.
func (r *Rules) Tool(name, description string, schema any) string {
	switch {
	case !r.name.MatchString(name):
		return "invalid name " + name
	case r.maxDescription > 0 && len([]rune(description)) > r.maxDescription:
		return "the description is too long"
	}
	return r.wants(r, schema)
}

// Tools returns why the API refuses the tools of a request, "" if it takes them.
func (r *Rules) Tools(kind string, body map[string]any) string {
	seen := map[string]bool{}
	tools := Offered(kind, body)
	if r.maxTools > 0 && len(tools) > r.maxTools {
		return fmt.Sprintf("Invalid 'tools': array too long. Expected an array with maximum length %d", r.maxTools)
	}
	for _, t := range tools {
		if seen[t.Name] {
			return "Tool names must be unique: " + t.Name
		}
		seen[t.Name] = true
		if why := r.Tool(t.Name, t.Description, t.Schema); why != "" {
			return fmt.Sprintf("Invalid schema for function '%s': %s", t.Name, why)
		}
	}
	return ""
}

// Tool is one of a request.
type Tool struct {
	Name, Description string
	Schema            any
}

// Offered returns the tools of a request, in the form of a kind of provider.
func Offered(kind string, body map[string]any) (out []Tool) {
	at := func(v any, path ...string) any {
		for _, p := range path {
			o, _ := v.(map[string]any)
			v = o[p]
		}
		return v
	}
	list, _ := body["tools"].([]any)
	path, schema := []string(nil), []string{"parameters"}
	switch kind {
	case "openai", "ollama":
		path = []string{"function"}
	case "anthropic":
		schema = []string{"input_schema"}
	case "bedrock":
		list, _ = at(body, "toolConfig", "tools").([]any)
		path, schema = []string{"toolSpec"}, []string{"inputSchema", "json"}
	case "gemini":
		var all []any
		for _, t := range list {
			more, _ := at(t, "functionDeclarations").([]any)
			all = append(all, more...)
		}
		list = all
	}
	for _, t := range list {
		t = at(t, path...)
		name, _ := at(t, "name").(string)
		description, _ := at(t, "description").(string)
		out = append(out, Tool{name, description, at(t, schema...)})
	}
	return out
}

// children calls do with each schema within a schema.
func children(o map[string]any, do func(path string, v any)) {
	for _, key := range []string{"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"} {
		named, _ := o[key].(map[string]any)
		for name, v := range named {
			do(key+"."+name, v)
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		list, _ := o[key].([]any)
		for i, v := range list {
			do(fmt.Sprintf("%s.%d", key, i), v)
		}
	}
	for _, key := range []string{"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"} {
		if v, ok := o[key].(map[string]any); ok {
			do(key, v)
		}
	}
}

// anyPattern accepts each pattern: Go does not read those of JavaScript.
type anyPattern string

func (p anyPattern) MatchString(string) bool { return true }
func (p anyPattern) String() string          { return string(p) }

var compiling sync.Mutex

// jsonSchema refuses what is no JSON Schema of the draft 2020-12, and what APIs do not take of it.
func jsonSchema(r *Rules, schema any) string {
	o, ok := schema.(map[string]any)
	if !ok || o["type"] != "object" {
		return "schema must have type 'object'"
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "enum", "not"} {
		if _, has := o[key]; has {
			return "schema must not have " + key + " at the top level"
		}
	}
	if why := r.nodes(o, ""); why != "" {
		return why
	}
	return compiles(schema)
}

// compiles returns why a schema is not valid.
func compiles(schema any) string {
	compiling.Lock()
	defer compiling.Unlock()
	raw, err := json.Marshal(schema)
	if err != nil {
		return err.Error()
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err.Error()
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) { return anyPattern(text), nil })
	if err := c.AddResource("https://tool.test/schema", v); err != nil {
		return err.Error()
	}
	if _, err := c.Compile("https://tool.test/schema"); err != nil {
		return "JSON schema is invalid. It must match JSON Schema draft 2020-12: " + err.Error()
	}
	return ""
}

// nodes checks each schema within a schema.
func (r *Rules) nodes(o map[string]any, path string) (why string) {
	types, _ := o["type"].([]any)
	if one, ok := o["type"].(string); ok {
		types = []any{one}
	}
	if _, has := o["items"]; !has && slices.Contains(types, any("array")) {
		return path + ": array schema missing items"
	}
	named, _ := o["properties"].(map[string]any)
	for name := range named {
		if r.key != nil && !r.key.MatchString(name) {
			return path + ": Property keys should match pattern '" + r.key.String() + "': " + name
		}
	}
	children(o, func(at string, v any) {
		if inner, ok := v.(map[string]any); ok && why == "" {
			why = r.nodes(inner, path+"/"+at)
		}
	})
	return why
}

// refers reports whether a schema, or one within, has a reference.
func refers(o map[string]any) bool {
	_, found := o["$ref"].(string)
	children(o, func(_ string, v any) {
		if inner, ok := v.(map[string]any); ok && !found {
			found = refers(inner)
		}
	})
	return found
}

// nova refuses what Amazon's models do: only three keywords at the top, and no definitions to refer to.
func nova(r *Rules, schema any) string {
	o, _ := schema.(map[string]any)
	for key := range o {
		if !slices.Contains([]string{"type", "properties", "required"}, key) {
			return "extraneous key [" + key + "] is not permitted"
		}
	}
	if refers(o) {
		return "a reference leads nowhere"
	}
	return jsonSchema(r, schema)
}
