package blueprint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/schema"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// maxParams bounds a session's params, in bytes of JSON.
const maxParams = 64 << 10

// checkSchema finds what is wrong with an agent's params_schema.
func checkSchema(s *structpb.Struct) string {
	if s == nil {
		return ""
	}
	object := s.AsMap()
	if object["type"] != "object" {
		return `must have "type": "object"`
	}
	text, err := json.Marshal(object)
	if err != nil {
		return err.Error()
	}
	if _, err := schema.Compile(text); err != nil {
		return strings.TrimPrefix(err.Error(), "compile schema: ")
	}
	return checkDefaults(object, propertiesOf(object, object))
}

// checkDefaults finds a default that its own property refuses.
func checkDefaults(root map[string]any, properties map[string]any) string {
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		property := follow(root, properties[name])
		value, ok := property["default"]
		if !ok {
			continue
		}
		one := map[string]any{"type": "object", "properties": map[string]any{name: properties[name]}, "$defs": root["$defs"], "definitions": root["definitions"]}
		text, err := json.Marshal(withoutNil(one))
		if err != nil {
			return err.Error()
		}
		v, err := schema.Compile(text)
		if err != nil {
			continue // it refers to another part of the schema: the session's params are checked with it
		}
		if wrong := v.Validate(map[string]any{name: value}); len(wrong) > 0 {
			return fmt.Sprintf("the default of %q does not fit: %s", name, wrong[0].Message)
		}
	}
	return ""
}

func withoutNil(object map[string]any) map[string]any {
	for name, v := range object {
		if v == nil {
			delete(object, name)
		}
	}
	return object
}

// Params checks the params that a session with the agent shall have, and fills in the defaults of its schema. The error names each wrong one below
// "params".
func Params(a *sessionsv1.Agent, params *structpb.Struct) (*structpb.Struct, error) {
	if a.GetParamsSchema() == nil {
		if len(params.GetFields()) > 0 {
			return nil, fault.Invalid("params", "agent %q takes none: it has no params_schema", a.GetId()).
				Hint("Leave params out, or give the agent a params_schema.")
		}
		return nil, nil
	}
	root := a.GetParamsSchema().AsMap()
	object := params.AsMap()
	fill(root, root, object)
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}
	if len(text) > maxParams {
		return nil, fault.Invalid("params", "has %d bytes as JSON; at most %d are allowed", len(text), maxParams)
	}
	schemaText, err := json.Marshal(root)
	if err != nil {
		return nil, fmt.Errorf("params_schema: %w", err)
	}
	v, err := schema.Compile(schemaText)
	if err != nil {
		return nil, fault.Internal(fmt.Errorf("params_schema of agent %s: %w", a.GetId(), err))
	}
	var wrong []fault.Field
	for _, f := range v.Validate(object) {
		wrong = append(wrong, fault.Field{Path: "params" + dotted(f.Pointer), Message: f.Message})
	}
	if len(wrong) > 0 {
		return nil, fault.InvalidFields(wrong)
	}
	out, err := structpb.NewStruct(object)
	if err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}
	return out, nil
}

// fill puts the defaults of a schema where an object has nothing.
func fill(root, s, object map[string]any) {
	for name, property := range propertiesOf(root, s) {
		p := follow(root, property)
		value, there := object[name]
		switch below, nested := value.(map[string]any); {
		case nested:
			fill(root, p, below)
		case there:
		case p["default"] != nil:
			object[name] = p["default"]
			if below, ok := p["default"].(map[string]any); ok {
				fill(root, p, below)
			}
		}
	}
}

func propertiesOf(root, s map[string]any) map[string]any {
	properties, _ := follow(root, s)["properties"].(map[string]any)
	return properties
}

// maxFollow bounds references that follow each other.
const maxFollow = 16

// follow gives the schema that a reference inside the document stands for. What is no schema is an empty one.
func follow(root map[string]any, s any) map[string]any {
	object, _ := s.(map[string]any)
	for range maxFollow {
		ref, ok := object["$ref"].(string)
		path, local := strings.CutPrefix(ref, "#/")
		if !ok || !local {
			break
		}
		var at any = root
		for name := range strings.SplitSeq(path, "/") {
			part, _ := at.(map[string]any)
			at = part[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
		}
		target, ok := at.(map[string]any)
		if !ok {
			break
		}
		object = target
	}
	return object
}

// knows tells whether params that fit a schema may have a value at a path. A schema that leaves its properties open in some way knows all.
// Below the root an object without named properties does so too.
func knows(root, s map[string]any, path string, below bool) bool {
	s = follow(root, s)
	properties, _ := s["properties"].(map[string]any)
	for name, property := range properties {
		if path == name {
			return true
		}
		if rest, ok := strings.CutPrefix(path, name+"."); ok && knows(root, follow(root, property), rest, true) {
			return true
		}
	}
	for _, open := range []string{"patternProperties", "allOf", "anyOf", "oneOf", "if", "$dynamicRef"} {
		if s[open] != nil {
			return true
		}
	}
	switch more := s["additionalProperties"].(type) {
	case nil: // JSON Schema allows properties that nobody declared; a placeholder for one is most likely a slip, unless it names none at all
		return below && properties == nil && s["type"] == "object"
	case bool:
		return more
	default:
		return true
	}
}

// dotted is a JSON pointer as the path of a field: "/lines/0/sku" is ".lines[0].sku".
func dotted(pointer string) string {
	var b strings.Builder
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch _, err := strconv.ParseUint(token, 10, 32); {
		case token == "":
		case err == nil:
			b.WriteString("[" + token + "]")
		default:
			b.WriteString("." + token)
		}
	}
	return b.String()
}
