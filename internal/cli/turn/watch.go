package turn

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/follow"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/show"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func watchCommand(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "watch ID", Short: "Follow the events of a turn until it ends",
		Long: "Follow the events of a turn, from its beginning, until it ends. A broken stream is resumed at its last event.\n" +
			"The exit code is 5 when the turn failed, was cancelled or was stopped by a limit.",
		Args: cobra.ExactArgs(1),
		RunE: r.Run(func(c *command.Call) error {
			return watch(c, follow.Options{Turn: c.Args[0], After: c.Flag("after"), Children: c.Bool("children")})
		}),
	}
	cmd.Flags().String("after", "", "start after this cursor")
	cmd.Flags().Bool("children", false, "show what the agents do that the turn calls, too")
	deltasFlag(cmd)
	return cmd
}

func deltasFlag(cmd *cobra.Command) {
	cmd.Flags().Bool("deltas", false, "show the pieces of messages too, as they come")
}

// watch prints events until the turn ends.
func watch(c *command.Call, o follow.Options) error {
	if c.Format != output.Table && c.Format != output.JSON {
		return app.Usage("events are printed as lines, or as JSON lines with -o json; not %q", c.Format)
	}
	deltas := c.Bool("deltas") || c.Format == output.JSON
	var end *turnv1.TurnEnded
	err := follow.Turn(c, o, func(ev client.Event) error {
		if e := ev.GetTurnEnded(); e != nil && len(ev.GetAgentPath()) < 2 { // not the end of an agent that it called
			end = e
		}
		if isDelta(ev.Event) && !deltas {
			return nil
		}
		if c.Format == output.JSON {
			_, err := fmt.Fprintf(c.Out, "%s\n", ev.JSON)
			return err
		}
		_, err := fmt.Fprintln(c.Out, show.EventLine(ev.Event))
		return err
	})
	if c.Ctx.Err() != nil {
		c.Note("The turn goes on without you. Watch it again with: %s turn watch %s", c.Self, o.Turn)
	}
	if err != nil {
		return err
	}
	return follow.Result(o.Turn, end)
}

func isDelta(ev *turnv1.Event) bool {
	switch ev.GetType() {
	case "message.delta", "reasoning.delta", "tool_call.arguments.delta", "tool_call.progress":
		return true
	}
	return false
}
