package blueprint

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/schema"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// maxParams bounds a session's params, in bytes of JSON.
const maxParams = 64 << 10

// checkSchema finds what is wrong with an agent's params_schema.
func checkSchema(s *structpb.Struct) string {
	if s == nil {
		return ""
	}
	if message := CheckOutputSchema(s); message != "" {
		return message
	}
	return checkDefaults(canon.FromStruct(s))
}

// CheckOutputSchema finds what is wrong with an output_schema: the schema of an object, without references to other documents.
func CheckOutputSchema(s *structpb.Struct) string {
	object := map[string]any(canon.FromStruct(s))
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
	return ""
}

// checkDefaults finds a default that its own property refuses.
func checkDefaults(root map[string]any) string {
	defaults := map[string]any{}
	for name, property := range propertiesOf(root, root) {
		if value, ok := follow(root, property)["default"]; ok {
			defaults[name] = value
		}
	}
	if len(defaults) == 0 {
		return ""
	}
	// A default is checked for itself: what the schema says of the object as a whole is for the params of a session.
	parts := maps.Clone(root)
	for _, keyword := range []string{
		"required", "minProperties", "dependentRequired", "allOf", "anyOf", "oneOf", "not", "if", "then",
		"else",
	} {
		delete(parts, keyword)
	}
	text, err := json.Marshal(parts)
	if err != nil {
		return err.Error()
	}
	v, err := schema.Compile(text)
	if err != nil {
		return "" // it refers to a part that was left out: the session's params are checked with all of it
	}
	// The budget of a check bounds this one; there is no caller to go away.
	wrong, err := v.Validate(context.Background(), defaults)
	if err != nil || len(wrong) == 0 {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(wrong[0].Pointer, "/"), "/")
	return fmt.Sprintf("the default of %q does not fit: %s", strings.NewReplacer("~1", "/", "~0", "~").Replace(name), wrong[0].Message)
}

// Params checks the params that a session with the agent shall have, and fills in the defaults of its schema. The error names
// each wrong one below "params".
func Params(ctx context.Context, a store.Agent, params *structpb.Struct) (*structpb.Struct, error) {
	if a.Spec.ParamsSchema == nil {
		if len(params.GetFields()) > 0 {
			return nil, fault.Invalid("params", "agent %q takes none: it has no params_schema", a.ID).
				Hint("Leave params out, or give the agent a params_schema.")
		}
		return nil, nil
	}
	root := map[string]any(canon.FromStruct(a.Spec.ParamsSchema))
	object := map[string]any(canon.FromStruct(params))
	f := filler{root: root, left: maxFilled}
	f.fill(root, object)
	if f.left <= 0 {
		return nil, fault.Invalid("params", "the defaults of agent %q's params_schema are more than %d values", a.ID, maxFilled).
			Hint("Change the agent: a default must not lead to itself again.")
	}
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
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_INVALID_BLUEPRINT, "the params_schema of agent %q cannot be used: %s", a.ID,
			err).
			Hint("Give the agent a smaller schema.")
	}
	faults, err := v.Validate(ctx, object)
	if err != nil {
		return nil, fmt.Errorf("check params: %w", err)
	}
	var wrong []fault.Field
	for _, f := range faults {
		wrong = append(wrong, fault.Field{Path: "params" + dotted(f.Pointer), Message: f.Message})
	}
	if len(wrong) > 0 {
		return nil, fault.InvalidFields(wrong)
	}
	return canon.Object(object).Struct(), nil
}

// maxFilled bounds the values that defaults are looked for in. A default of a schema that refers to itself has no end.
const maxFilled = 10_000

// filler puts the defaults of a schema where an object has nothing.
type filler struct {
	root map[string]any
	left int
}

func (f *filler) fill(s, object map[string]any) {
	for name, property := range propertiesOf(f.root, s) {
		if f.left--; f.left <= 0 {
			return
		}
		p := follow(f.root, property)
		if _, there := object[name]; !there && p["default"] != nil {
			object[name] = f.copy(p["default"])
		}
		if below, nested := object[name].(map[string]any); nested {
			f.fill(p, below)
		}
	}
}

// copy makes a default a value of its own, so that what is filled into it stays there.
func (f *filler) copy(v any) any {
	f.left--
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, member := range v {
			out[key] = f.copy(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, member := range v {
			out[i] = f.copy(member)
		}
		return out
	}
	return v
}

func propertiesOf(root, s map[string]any) map[string]any {
	properties, _ := follow(root, s)["properties"].(map[string]any)
	return properties
}

// maxFollow bounds references that follow each other.
const maxFollow = 16

// follow returns the schema that a reference inside the document stands for. What is no schema is an empty one.
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

// knows reports whether params that fit a schema may have a value at a path. A schema that leaves its properties open in some way
// knows all. Below the root an object without named properties does so too.
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
