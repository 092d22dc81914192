package schema

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// maxFaults limits the errors reported per object, maxRead the errors sorted to select them.
const (
	maxFaults = 20
	maxRead   = 1000
)

// Fault is one validation error.
type Fault struct {
	// Pointer is the JSON pointer of the invalid value, "" for the object itself.
	Pointer string
	// Message says what is wrong there.
	Message string
}

// Validator validates objects. The zero value accepts everything.
type Validator struct {
	schema *compiled
	budget int // of one validation, 0 = maxWork
}

// Validate returns at most 20 validation errors in a stable order, nil if the object is valid. Values are those of encoding/json, with or
// without UseNumber. An object that takes too much work to validate is invalid, and a fault says so. The error is ctx's.
func (v Validator) Validate(ctx context.Context, object map[string]any) ([]Fault, error) {
	if v.schema == nil {
		return nil, ctx.Err()
	}
	g := v.schema.guard()
	defer v.schema.guards.Put(g)
	return g.validate(ctx, object, cmp.Or(v.budget, maxWork))
}

func (g *guard) validate(ctx context.Context, object map[string]any, budget int) ([]Fault, error) {
	tooMuch := []Fault{{Message: "takes more work to check against its schema than is allowed: send less, or use a simpler schema"}}
	var where []string
	err, stopped := g.run(ctx, budget, func() error {
		var err error
		if where, err = g.measure(object, 1); err != nil {
			return err
		}
		if g.probe.Validate(object) == nil {
			return errUnfit // the probe only asks whether the object is invalid
		}
		return nil
	})
	switch {
	case errors.Is(stopped, errWork):
		return tooMuch, nil
	case stopped != nil:
		return nil, stopped
	case err == nil:
		return nil, nil
	case !errors.Is(err, errUnfit):
		slices.Reverse(where)
		return []Fault{{Pointer: pointer(where), Message: err.Error()}}, nil
	}
	err, stopped = g.run(ctx, min(budget, maxReportWork), func() error { return g.root.Validate(object) })
	var bad *jsonschema.ValidationError
	switch {
	case errors.Is(stopped, errWork):
		return []Fault{{Message: "does not fit its schema, in too many places to name them"}}, nil
	case stopped != nil:
		return nil, stopped
	case !errors.As(err, &bad):
		return []Fault{{Message: "does not fit its schema"}}, nil
	}
	w := walk{printer: message.NewPrinter(language.English)}
	w.visit(bad)
	slices.SortStableFunc(w.faults, func(a, b Fault) int {
		return strings.Compare(a.Pointer+"\x00"+a.Message, b.Pointer+"\x00"+b.Message)
	})
	w.faults = slices.Compact(w.faults)
	return w.faults[:min(len(w.faults), maxFaults)], nil
}

var errUnfit = errors.New("does not fit")

type walk struct {
	printer *message.Printer
	faults  []Fault
}

// visit collects the leaves of the error tree: branches only say that something below is wrong.
func (w *walk) visit(e *jsonschema.ValidationError) {
	if len(e.Causes) > 0 {
		for _, cause := range e.Causes {
			w.visit(cause)
		}
		return
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			w.add(append(slices.Clone(e.InstanceLocation), name), "is required")
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			w.add(append(slices.Clone(e.InstanceLocation), name), "is not known")
		}
	case *kind.Format: // from the hook, see guard
		w.add(e.InstanceLocation, k.Err.Error())
	case *kind.Pattern:
		w.add(e.InstanceLocation, fmt.Sprintf("%s does not match pattern %s", formatValue(k.Got), formatValue(k.Want)))
	default:
		w.add(e.InstanceLocation, shorten(fmt.Sprint(e.ErrorKind.LocalizedString(w.printer))))
	}
}

func (w *walk) add(location []string, text string) {
	if len(w.faults) >= maxRead {
		return
	}
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
