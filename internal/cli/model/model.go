// Package model has the commands for models.
package model

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
)

// Noun returns "windlass model".
func Noun() command.Noun {
	n := command.Noun{
		Name: "model", Plural: "models", Short: "Models that can be asked", List: &inferencev1.ListModelsRequest{},
		Header: []string{"NAME", "DEFAULT", "TOOLS", "CONTEXT", "INPUT"},
		Read: command.Typed((*inferencev1.Model).GetName, func(m *inferencev1.Model, _ time.Time) []string {
			window := ""
			if m.GetContextWindow() > 0 {
				window = fmt.Sprint(m.GetContextWindow())
			}
			return []string{
				m.GetName(), output.YesNo(m.GetDefault()), output.YesNo(m.GetSupportsTools()), window,
				strings.Join(m.GetCapabilities().GetInput(), " "),
			}
		}),
	}
	n.More = func(r *command.Runner) []*cobra.Command {
		return []*cobra.Command{{
			Use: "get MODEL", Short: "Show one model", Args: cobra.ExactArgs(1),
			RunE: r.Run(func(c *command.Call) error {
				return n.Send(c, &inferencev1.ResolveModelRequest{Model: c.Args[0]})
			}),
		}}
	}
	return n
}
