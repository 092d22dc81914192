package provider

import (
	"fmt"

	"github.com/windlass-dev/windlass/libs/toolschema"
	"github.com/windlass-dev/windlass/libs/truncate"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/inference/provider/wire"
)

// Terms are what a provider accepts in the definitions of tools.
type Terms struct {
	// Form is that of schemas.
	Form toolschema.Form
	// MaxDescription limits descriptions, in characters; 0 = none. What is longer continues in the schema.
	MaxDescription int
}

// maxWarnings limits the warnings of one answer.
const maxWarnings = 20

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
