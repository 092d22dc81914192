package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// maxFaults bounds what is reported of one object.
const maxFaults = 20

// Fault is one thing wrong with an object.
type Fault struct {
	// Pointer is the JSON pointer of the place, "" for the object itself.
	Pointer string
	// Message says what is wrong there.
	Message string
}

// Validator checks objects. The zero value accepts everything.
type Validator struct{ schema *jsonschema.Schema }

// Validate gives what is wrong with the object, at most 20 things in a stable order; nil when it fits. Values are those of
// encoding/json with UseNumber.
func (v Validator) Validate(object map[string]any) []Fault {
	if v.schema == nil {
		return nil
	}
	err := v.schema.Validate(object)
	if err == nil {
		return nil
	}
	var bad *jsonschema.ValidationError
	if !errors.As(err, &bad) {
		return []Fault{{Message: err.Error()}}
	}
	w := walk{printer: message.NewPrinter(language.English)}
	w.visit(bad)
	if w.loop {
		return nil // the schema refers to itself without end: its fault, not the arguments'
	}
	slices.SortStableFunc(w.faults, func(a, b Fault) int {
		return strings.Compare(a.Pointer+"\x00"+a.Message, b.Pointer+"\x00"+b.Message)
	})
	w.faults = slices.Compact(w.faults)
	return w.faults[:min(len(w.faults), maxFaults)]
}

type walk struct {
	printer *message.Printer
	faults  []Fault
	loop    bool
}

// visit collects the leaves of the tree of errors: the branches only say that something below is wrong.
func (w *walk) visit(e *jsonschema.ValidationError) {
	if len(e.Causes) > 0 {
		for _, cause := range e.Causes {
			w.visit(cause)
		}
		return
	}
	switch k := e.ErrorKind.(type) {
	case *kind.RefCycle:
		w.loop = true
	case *kind.Required:
		for _, name := range k.Missing {
			w.add(append(slices.Clone(e.InstanceLocation), name), "is required")
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			w.add(append(slices.Clone(e.InstanceLocation), name), "is not known")
		}
	default:
		w.add(e.InstanceLocation, fmt.Sprint(e.ErrorKind.LocalizedString(w.printer)))
	}
}

func (w *walk) add(location []string, text string) {
	w.faults = append(w.faults, Fault{Pointer: pointer(location), Message: text})
}

func pointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(t))
	}
	return b.String()
}
