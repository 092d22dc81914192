// Package outputschema gives the schemas of answers a form that APIs constrain models to.
package outputschema

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/canon"
)

// Name is what a schema is called in APIs that want a name for it.
const Name = "answer"

// Strict returns a schema as OpenAI's APIs take it: closed, and strict, if it requires all properties of all objects and has no part that
// their strict mode refuses; else as it is, and not strict.
func Strict(schema string) (json.RawMessage, bool) {
	c := closer{complete: true}
	if closed, ok := c.close(schema); ok && c.complete && c.root["anyOf"] == nil && c.root["oneOf"] == nil {
		return closed, true
	}
	return json.RawMessage(schema), false
}

// Closed returns a schema whose objects have no other properties than those that are named, without the keywords that constrained
// decoding does not know. What fits it may not fit the schema, as it lacks those; what it does not allow may. It reports false for a schema
// that means something else then: objects with free names, and references that lead to themselves.
func Closed(schema string) (json.RawMessage, bool) {
	var c closer
	return c.close(schema)
}

// Closes reports whether Closed has a form of a schema.
func Closes(schema string) bool {
	_, ok := Closed(schema)
	return ok
}

// closer closes a schema.
type closer struct {
	root     map[string]any
	complete bool // all objects require all properties, and no part has to fit several others
	parts    int
}

// kept are keywords that stay as they are.
var kept = []string{"type", "enum", "const", "description", "title", "required", "$ref"}

// formats are those that all APIs know. Others are refused.
var formats = []any{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

// Limits of a schema, with references followed.
const (
	maxClosedDepth = 32
	maxClosedParts = 10_000
)

func (c *closer) close(schema string) (json.RawMessage, bool) {
	if err := json.Unmarshal([]byte(schema), (*canon.JSON)(&c.root)); err != nil {
		return nil, false
	}
	out, ok := c.schema(c.root, 0)
	if !ok {
		return nil, false
	}
	raw, err := json.Marshal(out)
	return raw, err == nil
}

// schema closes a part; false if that changes what it means.
func (c *closer) schema(v any, depth int) (any, bool) {
	in, isObject := v.(map[string]any)
	c.parts++
	if !isObject || depth > maxClosedDepth || c.parts > maxClosedParts || !c.ends(in, depth) {
		return nil, false
	}
	out := map[string]any{}
	for _, key := range kept {
		if value, has := in[key]; has {
			out[key] = value
		}
	}
	if slices.Contains(formats, in["format"]) {
		out["format"] = in["format"]
	}
	c.complete = c.complete && in["allOf"] == nil
	for from, to := range map[string]string{"anyOf": "anyOf", "oneOf": "anyOf", "allOf": "allOf"} {
		parts, _ := in[from].([]any)
		var closed []any
		for _, p := range parts {
			part, ok := c.schema(p, depth+1)
			if !ok {
				return nil, false
			}
			closed = append(closed, part)
		}
		if closed != nil {
			out[to] = closed
		}
	}
	if items, has := in["items"]; has {
		closed, ok := c.schema(items, depth+1)
		if !ok {
			return nil, false
		}
		out["items"] = closed
	}
	for _, key := range []string{"$defs", "definitions"} {
		if defs, has := in[key].(map[string]any); has {
			closed, ok := c.members(defs, depth)
			if !ok {
				return nil, false
			}
			out[key] = closed
		}
	}
	return out, c.object(in, out, depth)
}

// ends follows the reference of a part, which must not lead to itself.
func (c *closer) ends(in map[string]any, depth int) bool {
	ref, has := in["$ref"].(string)
	if !has {
		return true
	}
	path, local := strings.CutPrefix(ref, "#/")
	var at any = c.root
	for name := range strings.SplitSeq(path, "/") {
		o, _ := at.(map[string]any)
		at = o[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	_, ok := c.schema(at, depth+1)
	return local && ok
}

// object closes what a part says of objects.
func (c *closer) object(in, out map[string]any, depth int) bool {
	properties, _ := in["properties"].(map[string]any)
	if types, _ := in["type"].(string); types != "object" && properties == nil {
		return true
	}
	free, _ := in["additionalProperties"].(map[string]any)
	if in["patternProperties"] != nil || free != nil || len(properties) == 0 {
		return false
	}
	closed, ok := c.members(properties, depth)
	required, _ := in["required"].([]any)
	c.complete = c.complete && len(required) == len(properties)
	out["properties"], out["additionalProperties"] = closed, false
	return ok
}

func (c *closer) members(in map[string]any, depth int) (map[string]any, bool) {
	out := make(map[string]any, len(in))
	for _, name := range slices.Sorted(maps.Keys(in)) {
		closed, ok := c.schema(in[name], depth+1)
		if !ok {
			return nil, false
		}
		out[name] = closed
	}
	return out, true
}
