package toolschema

import (
	"regexp"
	"slices"
)

// Form is what an API takes in the input schemas of tools. The zero value takes all of JSON Schema below the top; no API takes at the top
// what combines schemas. Forms are compared by their address.
type Form struct {
	// Keywords are those that the API takes; nil = all.
	Keywords []string
	// Top are those that it takes at the top; nil = Keywords.
	Top []string
	// Inline means that the API takes no references: what they lead to replaces them.
	Inline bool
	// OneType means that a schema has exactly one type; null is then "nullable", if that is a keyword.
	OneType bool
	// TextEnums means that enums are of texts only, none of them empty.
	TextEnums bool
	// AnyOfAlone means that no other keyword is beside anyOf.
	AnyOfAlone bool
	// Formats are the formats that the API takes, by type; nil = all.
	Formats map[string][]string
	// Keys is the form of the names of properties; nil = any.
	Keys *regexp.Regexp
	// MaxDepth limits the nesting of schemas, 0 = 100. MaxBytes limits the size, 0 = 64 KiB: a model reads it with each request.
	MaxDepth, MaxBytes int
}

// Full is all of JSON Schema.
var Full Form

// Google is the form of Google's function declarations.
var Google = Form{
	Keywords: []string{
		"type", "format", "title", "description", "nullable", "enum", "items", "properties", "required", "minimum", "maximum", "minItems",
		"maxItems", "minLength", "maxLength", "minProperties", "maxProperties", "pattern", "anyOf",
	},
	Inline: true, OneType: true, TextEnums: true, AnyOfAlone: true, MaxDepth: inlineDepth,
	Formats: map[string][]string{
		"string": {"date-time", "enum"}, "integer": {"int32", "int64"}, "number": {"float", "double"},
	},
	Keys: regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`),
}

// Common is what all APIs take.
var Common = Form{
	Keywords: []string{"type", "description", "enum", "items", "properties", "required", "anyOf"},
	Top:      []string{"type", "properties", "required"},
	Inline:   true, OneType: true, TextEnums: true, AnyOfAlone: true, MaxDepth: inlineDepth, Formats: map[string][]string{},
	Keys: Google.Keys,
}

// Takes reports whether the API takes a keyword at a depth.
func (f *Form) Takes(keyword string, depth int) bool {
	list := f.Keywords
	if depth == 0 && f.Top != nil {
		list = f.Top
	}
	return list == nil || slices.Contains(list, keyword)
}

const (
	// maxDepth is the maximum nesting of a schema that is offered, and of one that is read.
	maxDepth = 100
	// inlineDepth is the maximum nesting where references are replaced: schemas refer to themselves.
	inlineDepth = 12
	// maxBytes is the maximum size of a schema that is offered.
	maxBytes = 64 << 10
	// maxNodes bounds the schemas that are visited or joined in one attempt.
	maxNodes = 10_000
)

// depths are the depths to try until a schema has at most its maximum size.
var depths = []int{maxDepth, inlineDepth, 9, 7, 5, 4, 3, 2, 1}
