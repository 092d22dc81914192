package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/windlass-dev/windlass/libs/truncate"
)

// direction is who sends a value: members that only the other side may send are left out.
type direction int

const (
	toAPI direction = iota
	fromAPI
)

// detail is how much of a schema's annotations is kept.
type detail int

const (
	full     detail = iota // descriptions, up to maxDescription each, and examples
	brief                  // the first words of descriptions
	asserted               // what a validator uses
)

// Limits of annotations inside a schema, in bytes.
const (
	maxDescription = 1000
	maxBrief       = 120
	maxExample     = 200
)

// converter writes JSON Schema 2020-12. Referenced schemas become members of "$defs", so that recursive ones stay finite.
type converter struct {
	doc       *openapi3.T
	direction direction
	detail    detail
	// depth is the number of references that are followed one into another; beyond it any value is accepted. 0 = all.
	depth int

	defs  map[string]any
	names map[*openapi3.Schema]string
	level int
}

func newConverter(doc *openapi3.T, to direction, d detail, depth int) *converter {
	return &converter{
		doc: doc, direction: to, detail: d, depth: depth, defs: map[string]any{}, names: map[*openapi3.Schema]string{},
	}
}

// schema converts a schema or a reference to one.
func (c *converter) schema(ref *openapi3.SchemaRef) any {
	switch {
	case ref == nil || ref.Value == nil:
		return true
	case ref.Ref == "":
		return c.value(ref.Value)
	}
	target := c.component(ref)
	out := map[string]any{}
	name, ok := c.names[target]
	if !ok && c.depth > 0 && c.level >= c.depth {
		c.annotate(out, ref.Value)
		return out
	}
	if !ok {
		name = c.define(ref.Ref, target)
	}
	out["$ref"] = "#/$defs/" + name
	if target != ref.Value { // keywords beside the reference
		c.annotate(out, ref.Value)
		if more := ref.Value.AllOf[len(target.AllOf):]; len(more) > 0 {
			out["allOf"] = c.list(more)
		}
	}
	return out
}

// component returns the schema that a reference names, without the keywords beside the reference.
func (c *converter) component(ref *openapi3.SchemaRef) *openapi3.Schema {
	name, ok := strings.CutPrefix(ref.Ref, "#/components/schemas/")
	if !ok || c.doc.Components == nil {
		return ref.Value
	}
	found := c.doc.Components.Schemas[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	if found == nil || found.Value == nil || found.Ref != "" || len(ref.Value.AllOf) < len(found.Value.AllOf) {
		return ref.Value
	}
	return found.Value
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// define adds a schema to $defs. Its name is there before the schema is converted, for references to itself.
func (c *converter) define(ref string, s *openapi3.Schema) string {
	base := notInName.ReplaceAllString(ref[strings.LastIndexByte(ref, '/')+1:], "_")
	name := base
	for n := 2; c.defs[name] != nil; n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	c.names[s], c.defs[name] = name, true
	c.level++
	c.defs[name] = c.value(s)
	c.level--
	return name
}

func (c *converter) list(refs openapi3.SchemaRefs) []any {
	out := make([]any, len(refs))
	for i, r := range refs {
		out[i] = c.schema(r)
	}
	return out
}

func (c *converter) named(schemas openapi3.Schemas) map[string]any {
	out := map[string]any{}
	for name, s := range schemas {
		out[name] = c.schema(s)
	}
	return out
}

// value converts a schema without reference.
func (c *converter) value(s *openapi3.Schema) any {
	if s.Always != nil {
		return *s.Always
	}
	out := map[string]any{}
	c.annotate(out, s)
	if s.Type != nil && len(*s.Type) > 0 {
		out["type"] = typeOf(*s.Type)
	}
	if len(s.Enum) > 0 {
		out["enum"] = s.Enum
	}
	if s.Const != nil {
		out["const"] = s.Const
	}
	set(out, "format", s.Format)
	c.numbers(out, s)
	c.strings(out, s)
	c.arrays(out, s)
	c.objects(out, s)
	c.combined(out, s)
	if s.Nullable {
		return nullable(out)
	}
	return out
}

func typeOf(types openapi3.Types) any {
	if len(types) == 1 {
		return types[0]
	}
	return []string(types)
}

// nullable is OpenAPI 3.0's way to allow null.
func nullable(out map[string]any) any {
	enum, hasEnum := out["enum"].([]any)
	kind, hasType := out["type"].(string)
	if !hasType {
		if len(out) == 0 {
			return out
		}
		return map[string]any{"anyOf": []any{out, map[string]any{"type": "null"}}}
	}
	out["type"] = []string{kind, "null"}
	if hasEnum && !slices.Contains(enum, nil) {
		out["enum"] = append(slices.Clone(enum), nil)
	}
	return out
}

func set[T comparable](out map[string]any, key string, v T) {
	var zero T
	if v != zero {
		out[key] = v
	}
}

func setPointer[T any](out map[string]any, key string, v *T) {
	if v != nil {
		out[key] = *v
	}
}

// annotate writes what people and models read.
func (c *converter) annotate(out map[string]any, s *openapi3.Schema) {
	if s.Deprecated {
		out["deprecated"] = true
	}
	if s.Default != nil && !refers(s.Default) {
		out["default"] = s.Default
	}
	switch c.detail {
	case full:
		set(out, "title", s.Title)
		set(out, "description", truncate.Bytes(s.Description, maxDescription))
		c.examples(out, s)
	case brief:
		set(out, "description", truncate.Bytes(s.Description, maxBrief))
	}
}

func (c *converter) examples(out map[string]any, s *openapi3.Schema) {
	all := s.Examples
	if len(all) == 0 && s.Example != nil {
		all = []any{s.Example}
	}
	all = slices.DeleteFunc(slices.Clone(all), refers)
	if len(all) == 0 {
		return
	}
	if text, err := json.Marshal(all); err == nil && len(text) <= maxExample {
		out["examples"] = all
	}
}

// refers reports whether a value has a member "$ref". In an example that is data, but readers of schemas follow it wherever it is, and what
// it names is not there.
func refers(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["$ref"]; ok {
			return true
		}
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), refers)
	case []any:
		return slices.ContainsFunc(v, refers)
	default:
		return false
	}
}

func (c *converter) numbers(out map[string]any, s *openapi3.Schema) {
	setPointer(out, "minimum", s.Min)
	setPointer(out, "maximum", s.Max)
	setPointer(out, "multipleOf", s.MultipleOf)
	bound(out, "minimum", "exclusiveMinimum", s.ExclusiveMin)
	bound(out, "maximum", "exclusiveMaximum", s.ExclusiveMax)
}

// bound writes an exclusive bound, which is a boolean in OpenAPI 3.0.
func bound(out map[string]any, inclusive, exclusive string, b openapi3.ExclusiveBound) {
	switch {
	case b.Value != nil:
		out[exclusive] = *b.Value
	case b.Bool != nil && *b.Bool && out[inclusive] != nil:
		out[exclusive] = out[inclusive]
		delete(out, inclusive)
	}
}

func (c *converter) strings(out map[string]any, s *openapi3.Schema) {
	set(out, "minLength", s.MinLength)
	setPointer(out, "maxLength", s.MaxLength)
	set(out, "contentMediaType", s.ContentMediaType)
	set(out, "contentEncoding", s.ContentEncoding)
	if _, err := regexp.Compile(s.Pattern); s.Pattern != "" && err == nil { // others are left to the API
		out["pattern"] = s.Pattern
	}
}

func (c *converter) arrays(out map[string]any, s *openapi3.Schema) {
	if s.Items != nil {
		out["items"] = c.schema(s.Items)
	}
	if len(s.PrefixItems) > 0 {
		out["prefixItems"] = c.list(s.PrefixItems)
	}
	if s.Contains != nil {
		out["contains"] = c.schema(s.Contains)
		setPointer(out, "minContains", s.MinContains)
		setPointer(out, "maxContains", s.MaxContains)
	}
	set(out, "minItems", s.MinItems)
	setPointer(out, "maxItems", s.MaxItems)
	set(out, "uniqueItems", s.UniqueItems)
	c.boolean(out, "unevaluatedItems", s.UnevaluatedItems)
}

func (c *converter) boolean(out map[string]any, key string, b openapi3.BoolSchema) {
	switch {
	case b.Schema != nil:
		out[key] = c.schema(b.Schema)
	case b.Has != nil:
		out[key] = *b.Has
	}
}

// objects writes the members of an object, except those that the receiver sets.
func (c *converter) objects(out map[string]any, s *openapi3.Schema) {
	required := s.Required
	if len(s.Properties) > 0 {
		kept := map[string]any{}
		for name, p := range s.Properties {
			if v := p.Value; v != nil && (c.direction == toAPI && v.ReadOnly || c.direction == fromAPI && v.WriteOnly) {
				required = slices.DeleteFunc(slices.Clone(required), func(r string) bool { return r == name })
				continue
			}
			kept[name] = c.schema(p)
		}
		out["properties"] = kept
	}
	if len(required) > 0 {
		out["required"] = slices.Compact(slices.Sorted(slices.Values(required)))
	}
	set(out, "minProperties", s.MinProps)
	setPointer(out, "maxProperties", s.MaxProps)
	c.boolean(out, "additionalProperties", s.AdditionalProperties)
	c.boolean(out, "unevaluatedProperties", s.UnevaluatedProperties)
	if len(s.PatternProperties) > 0 {
		out["patternProperties"] = c.named(s.PatternProperties)
		maps.DeleteFunc(out["patternProperties"].(map[string]any), func(pattern string, _ any) bool {
			_, err := regexp.Compile(pattern)
			return err != nil
		})
	}
	if s.PropertyNames != nil {
		out["propertyNames"] = c.schema(s.PropertyNames)
	}
	if len(s.DependentRequired) > 0 {
		out["dependentRequired"] = s.DependentRequired
	}
	if len(s.DependentSchemas) > 0 {
		out["dependentSchemas"] = c.named(s.DependentSchemas)
	}
}

func (c *converter) combined(out map[string]any, s *openapi3.Schema) {
	if len(s.AllOf) > 0 {
		out["allOf"] = c.list(s.AllOf)
	}
	if len(s.AnyOf) > 0 {
		out["anyOf"] = c.list(s.AnyOf)
	}
	if len(s.OneOf) > 0 {
		key := "oneOf"
		if s.Discriminator != nil && out["anyOf"] == nil {
			key = "anyOf" // the discriminator chooses one where several fit, which JSON Schema cannot say
		}
		out[key] = c.list(s.OneOf)
	}
	for key, part := range map[string]*openapi3.SchemaRef{"not": s.Not, "if": s.If, "then": s.Then, "else": s.Else} {
		if part != nil {
			out[key] = c.schema(part)
		}
	}
}
