// Package model has the commands for models.
package model

import (
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
)

// Noun returns "windlass model".
func Noun() command.Noun {
	return command.Noun{
		Name: "model", Plural: "models", Short: "Models that can be asked", List: &inferencev1.ListModelsRequest{},
		Header: []string{"NAME", "DEFAULT", "TOOLS", "CONTEXT"},
		Read: command.Typed((*inferencev1.Model).GetName, func(m *inferencev1.Model, _ time.Time) []string {
			window := ""
			if m.GetContextWindow() > 0 {
				window = fmt.Sprint(m.GetContextWindow())
			}
			return []string{m.GetName(), output.YesNo(m.GetDefault()), output.YesNo(m.GetSupportsTools()), window}
		}),
	}
}
