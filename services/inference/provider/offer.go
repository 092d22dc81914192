package provider

import (
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/libs/toolschema"
	"github.com/windlass-dev/windlass/libs/truncate"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/inference/provider/wire"
)

// Terms are what a provider accepts in the definitions of tools.
type Terms struct {
	// Form is that of schemas.
	Form *toolschema.Form
	// NoEmpty means that a tool without parameters has no schema.
	NoEmpty bool
	// MaxDescription limits descriptions, in characters; 0 = none. What is longer continues in the schema.
	MaxDescription int
	// MaxTools limits the number of tools; 0 = none. Further ones are not offered.
	MaxTools int
}

// maxWarnings limits the warnings of one answer.
const maxWarnings = 20

// Tools returns the tools of a request as they are offered under terms, and a warning for each that is not offered.
func (l *Lessons) Tools(req Request, m *Manner, names *wire.Names, terms Terms) (offered []Tool, warnings []string) {
	again := map[string]bool{}
	for _, t := range req.Tools {
		form := terms.Form
		learned := l.tool(req.Model, t)
		if m.Simpler || learned >= simpler {
			form = &toolschema.Common
		}
		fitted, err := l.fits.of(t.GetInputSchemaJson(), form)
		if learned == omitted && err == nil {
			err = errOmitted
		}
		var why string
		switch {
		case again[t.GetName()]:
			why = "another one has its name"
		case err != nil:
			why = "its input schema " + truncate.Chars(err.Error(), maxMessage)
		case terms.MaxTools > 0 && len(offered) == terms.MaxTools:
			why = fmt.Sprintf("the API takes %d tools at most", terms.MaxTools)
		default:
			again[t.GetName()] = true
			offered = append(offered, tool(t, names.Wire(t.GetName()), fitted, form, terms))
			continue
		}
		if len(warnings) < maxWarnings {
			warnings = append(warnings, fmt.Sprintf("the tool %s is not offered to the model: %s", t.GetName(), why))
		}
	}
	return offered, warnings
}

func tool(t *inferencev1.ToolDefinition, name string, fitted toolschema.Fitted, form *toolschema.Form, terms Terms) Tool {
	out := Tool{Name: name, Own: t.GetName(), Description: t.GetDescription(), Schema: fitted.JSON, Keys: fitted.Keys}
	if fitted.Empty && (terms.NoEmpty || form == &toolschema.Common) {
		out.Schema = nil
	}
	if fitted.Words != "" {
		out.Description = strings.TrimSpace(out.Description + "\n" + fitted.Words)
	}
	chars := []rune(out.Description)
	if most := terms.MaxDescription; most > 0 && len(chars) > most {
		const more = " […]"
		end := most - len([]rune(more))
		out.Description = string(chars[:end]) + more
		if form.Takes("description", 0) {
			out.Schema = toolschema.Describe(fitted.JSON, "[…] "+string(chars[end:]))
		}
	}
	return out
}
