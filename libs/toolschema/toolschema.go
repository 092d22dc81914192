// Package toolschema gives the input schemas of tools a form that the APIs of models accept. Servers write schemas of many drafts and
// with many mistakes; an API refuses a whole request because of one of them. The form allows what the schema allows, or more: arguments
// are checked against the schema itself.
package toolschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Form is what an API accepts.
type Form struct {
	// Subset allows only the keywords of Google's function declarations, and no references.
	Subset bool
	// Keys limits the names of properties to letters, digits, "_", ".", "-" and 64 characters.
	Keys bool
}

// Fitted is a schema as it can be offered.
type Fitted struct {
	// JSON is an object schema with properties.
	JSON json.RawMessage
	// Empty means that there are no properties.
	Empty bool
	// Notes say what was left out, in words for the operator of the source; at most 5.
	Notes []string
}

// maxBranches bounds the schemas that are joined into one.
const maxBranches = 500

const maxNotes = 5

// fitter is the work on one schema.
type fitter struct {
	form   Form
	root   *object // as given, for references
	budget int
	notes  []string
}

func (f *fitter) note(text string) {
	if len(f.notes) < maxNotes && !slices.Contains(f.notes, text) {
		f.notes = append(f.notes, text)
	}
}

// Fit returns a tool's input schema in a form. The error says why the tool cannot be offered: it takes no object, or its schema cannot be
// read. A schema that is accepted as it is, is returned byte for byte.
func Fit(schema string, form Form) (Fitted, error) {
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
	f := &fitter{form: form, root: root, budget: maxBranches}
	top := root
	if !f.plain(root) {
		if top, ok = f.flat(root, 0); !ok {
			return Fitted{}, fmt.Errorf("does not allow an object, but %s", write(nil, root.values["type"]))
		}
	}
	fitted, ok := f.schema(top, 0).(*object)
	if !ok || fitted.properties() == nil {
		return Fitted{}, errors.New("has no form that can be offered")
	}
	out := Fitted{JSON: write(nil, fitted), Empty: len(fitted.properties().keys) == 0, Notes: f.notes}
	if string(out.JSON) == string(write(nil, v)) {
		out.JSON = json.RawMessage(schema)
	}
	return out, nil
}

// plain reports whether the top of a schema is accepted as it is.
func (f *fitter) plain(o *object) bool {
	if name, _ := o.text("type"); name != "object" || o.properties() == nil {
		return false
	}
	return !slices.ContainsFunc([]string{
		"allOf", "anyOf", "oneOf", "not", "enum", "const", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies",
		"$ref",
	}, o.has)
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
