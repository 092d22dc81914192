package provider

import (
	"encoding/json"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/windlass-dev/windlass/libs/toolschema"
)

// Tool is a tool as it is offered to a model.
type Tool struct {
	// Name is the name in the request; Own is that of the mesh.
	Name, Own string
	// Description is for the model.
	Description string
	// Schema is an object schema; nil if the form has none for a tool without parameters.
	Schema json.RawMessage
	// Keys are the names of properties that were replaced, by what replaces them.
	Keys map[string]string
}

// fittedKept is the number of schemas that are kept as they are offered.
const fittedKept = 4096

// fits are schemas in the form in which they are offered: the same tools are offered with each call.
type fits struct {
	known *lru.Cache[fitKey, fit]
}

type fitKey struct {
	schema string
	form   *toolschema.Form
}

type fit struct {
	toolschema.Fitted
	err error
}

func newFits() *fits {
	known, err := lru.New[fitKey, fit](fittedKept)
	if err != nil {
		panic(err) // the size is a constant
	}
	return &fits{known}
}

func (f *fits) of(schema string, form *toolschema.Form) (toolschema.Fitted, error) {
	key := fitKey{schema, form}
	if known, ok := f.known.Get(key); ok {
		return known.Fitted, known.err
	}
	fitted, err := toolschema.Fit(schema, form)
	f.known.Add(key, fit{fitted, err})
	return fitted, err
}
