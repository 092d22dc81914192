// Package toolschema compiles the input schemas of tools to what the APIs of models take. Servers write schemas of many drafts and with
// many mistakes; an API refuses a whole request because of one of them. What is compiled allows what the schema allows, or more: arguments
// are checked against the schema itself. What an API does not take stands in the descriptions, so that the model reads it.
package toolschema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Fitted is a schema as it can be offered.
type Fitted struct {
	// JSON is an object schema with properties.
	JSON json.RawMessage
	// Empty means that there are no properties.
	Empty bool
	// Words belong to the description of the tool: the schema has no place for them.
	Words string
	// Keys are the names of properties that were replaced, by what replaces them.
	Keys map[string]string
	// Notes say what was left out, in words for the operator of the source; at most 5.
	Notes []string
}

const maxNotes = 5

// fitter is the work on one schema.
type fitter struct {
	form    *Form
	root    *object // as given, for references
	anchors map[string]any
	depth   int            // the maximum
	budget  int            // of schemas; below 0 the schema is too large
	joins   int            // schemas that may still be joined
	open    map[string]int // references that are being replaced
	words   string
	keys    map[string]string
	notes   []string
}

func (f *fitter) note(text string) {
	if len(f.notes) < maxNotes && !slices.Contains(f.notes, text) {
		f.notes = append(f.notes, text)
	}
}

// Fit compiles a tool's input schema to a form. The error says why the tool cannot be offered: it takes no object, or its schema cannot be
// read, or is too large. A schema that is accepted as it is, is returned byte for byte.
func Fit(schema string, form *Form) (Fitted, error) {
	if schema == "" {
		schema = "{}"
	}
	v, err := parse(schema)
	if err != nil {
		return Fitted{}, err
	}
	root, ok := v.(*object)
	if !ok {
		return Fitted{}, errors.New("is not a JSON object")
	}
	most := cmp.Or(form.MaxBytes, maxBytes)
	anchors := map[string]any{}
	anchorsOf(anchors, root, "")
	for _, depth := range depths {
		if depth > cmp.Or(form.MaxDepth, maxDepth) {
			continue
		}
		f := &fitter{
			form: form, root: root, anchors: anchors, depth: depth, budget: maxNodes, open: map[string]int{}, keys: map[string]string{},
		}
		fitted, err := f.fit()
		if err != nil {
			return Fitted{}, err
		}
		out := Fitted{JSON: write(nil, fitted), Empty: len(fitted.properties().keys) == 0, Words: f.words, Keys: f.keys, Notes: f.notes}
		switch {
		case f.budget < 0 || len(out.JSON) > most:
			continue
		case string(out.JSON) == string(write(nil, v)):
			out.JSON = json.RawMessage(schema)
		case depth < min(cmp.Or(form.MaxDepth, maxDepth), inlineDepth):
			out.Notes = append(out.Notes, fmt.Sprintf("it is too large, and what is nested deeper than %d is not offered", depth))
		}
		return out, nil
	}
	return Fitted{}, fmt.Errorf("has more than %d bytes, also without what is nested", most)
}

// fit compiles the schema once.
func (f *fitter) fit() (*object, error) {
	top := f.root
	if !f.plain(f.root) {
		var ok bool
		if top, ok = f.join(f.root); !ok {
			return nil, fmt.Errorf("does not allow an object, but %s", write(nil, f.root.values["type"]))
		}
	}
	fitted, ok := f.schema(top, 0).(*object)
	if !ok || fitted.properties() == nil {
		return nil, errors.New("has no form that can be offered")
	}
	if !f.form.Inline {
		prune(fitted)
	}
	return fitted, nil
}

// combining are the keywords that no API takes at the top.
var combining = []string{
	"allOf", "anyOf", "oneOf", "not", "enum", "const", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies",
}

// plain reports whether the top of a schema is accepted as it is.
func (f *fitter) plain(o *object) bool {
	if name, _ := o.text("type"); name != "object" || o.properties() == nil {
		return false
	}
	return !slices.ContainsFunc(combining, o.has) && !o.has("$ref") && !o.has("$dynamicRef")
}

// Describe returns a fitted schema with more words in its description.
func Describe(schema json.RawMessage, words string) json.RawMessage {
	v, err := parse(string(schema))
	o, ok := v.(*object)
	if err != nil || !ok {
		return schema
	}
	if before, _ := o.text("description"); before != "" {
		words = before + "\n" + words
	}
	o.set("description", quoted(words))
	return write(nil, o)
}
