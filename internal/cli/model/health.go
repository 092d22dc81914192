package model

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
)

// health are the models and keys that failed, which have no commands of their own.
func health() command.Noun {
	return command.Noun{
		Name: "entry", Plural: "entries", List: &inferencev1.ListModelHealthRequest{},
		Header: []string{"NAME", "KIND", "STATUS", "UNTIL", "FAILURES", "REASON"},
		Read: command.Typed((*inferencev1.ModelHealth).GetName, func(m *inferencev1.ModelHealth, _ time.Time) []string {
			until := ""
			if m.GetUntil() != nil {
				until = m.GetUntil().AsTime().Format(time.RFC3339)
			}
			return []string{
				m.GetName(), enum.Name(m.GetKind()), enum.Name(m.GetStatus()), until, fmt.Sprint(m.GetFailures()), output.Cell(m.GetReason()),
			}
		}),
	}
}

// healthCommand is "windlass model health".
func healthCommand(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "health", Short: "List the models and keys that failed lately", Args: cobra.NoArgs,
		Long: "List the models and keys that failed lately: failing ones are called, cooling ones are called again by one call first, and\n" +
			"refused ones are not called before they are changed or reset. All others are healthy. Replicas share the list.",
		RunE: r.Run(func(c *command.Call) error {
			return health().ListAt(c, &inferencev1.ListModelHealthRequest{}, nil, command.DefaultLimit)
		}),
	}
	cmd.AddCommand(&cobra.Command{
		Use: "reset NAME", Short: "Forget the failures of a model or key, so that it is called again", Args: cobra.ExactArgs(1),
		Example: "  windlass model health reset openai/second-key",
		RunE: r.Run(func(c *command.Call) error {
			return c.Done(&inferencev1.ResetModelHealthRequest{Name: c.Args[0]}, c.Args[0], "%s is called again", output.Line(c.Args[0]))
		}),
	})
	return cmd
}
