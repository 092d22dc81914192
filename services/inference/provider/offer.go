package provider

import (
	"encoding/json"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/windlass-dev/windlass/libs/toolschema"
	"github.com/windlass-dev/windlass/libs/truncate"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/inference/provider/wire"
)

// Tool is a tool as it is offered to a model.
type Tool struct {
	// Name is the name in the request; Own is that of the mesh.
	Name, Own string
	// Description is for the model.
	Description string
	// Schema is an object schema; nil if the form has none for a tool without parameters.
	Schema json.RawMessage
}

// Terms are what a provider accepts in the definitions of tools.
type Terms struct {
	// Form is that of schemas.
	Form toolschema.Form
	// MaxDescription limits descriptions, in characters; 0 = none. What is longer continues in the schema.
	MaxDescription int
}

// maxWarnings limits the warnings of one answer.
const maxWarnings = 20

// fittedKept is the number of schemas that are kept as they are offered.
const fittedKept = 4096

// fits are schemas in the form in which they are offered: the same tools are offered with each call.
type fits struct {
	known *lru.Cache[fitKey, fit]
}

type fitKey struct {
	schema string
	form   toolschema.Form
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

func (f *fits) of(schema string, form toolschema.Form) (toolschema.Fitted, error) {
	key := fitKey{schema, form}
	if known, ok := f.known.Get(key); ok {
		return known.Fitted, known.err
	}
	fitted, err := toolschema.Fit(schema, form)
	f.known.Add(key, fit{fitted, err})
	return fitted, err
}

// Tools returns the tools of a request as they are offered under terms, and a warning for each that is not offered.
func (l *Lessons) Tools(req Request, m *Manner, names *wire.Names, terms Terms) (offered []Tool, warnings []string) {
	for _, t := range req.Tools {
		form := terms.Form
		learned := l.tool(req.Model, t)
		form.Subset = form.Subset || m.Simpler || learned >= simpler
		fitted, err := l.fits.of(t.GetInputSchemaJson(), form)
		if learned == omitted && err == nil {
			err = errOmitted
		}
		if err != nil {
			if len(warnings) < maxWarnings {
				warnings = append(warnings, fmt.Sprintf("the tool %s is not offered to the model: its input schema %s", t.GetName(),
					truncate.Chars(err.Error(), maxMessage)))
			}
			continue
		}
		offered = append(offered, tool(t, names.Wire(t.GetName()), fitted, terms, form.Subset))
	}
	return offered, warnings
}

func tool(t *inferencev1.ToolDefinition, name string, fitted toolschema.Fitted, terms Terms, subset bool) Tool {
	out := Tool{Name: name, Own: t.GetName(), Description: t.GetDescription(), Schema: fitted.JSON}
	if fitted.Empty && subset {
		out.Schema = nil
	}
	chars := []rune(out.Description)
	if most := terms.MaxDescription; most > 0 && len(chars) > most {
		const more = " […]"
		end := most - len([]rune(more))
		out.Description = string(chars[:end]) + more
		out.Schema = toolschema.Describe(fitted.JSON, "[…] "+string(chars[end:]))
	}
	return out
}
