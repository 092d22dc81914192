package analytics

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/libs/money"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Usage returns "windlass usage".
func Usage(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "usage [--by GROUP]", Short: "Show what turns used: tokens, cost and tool calls, by day, agent, model, user or tool",
		Long: "Show what the steps of turns have used in a period. Without the permission sessions.analytics.get it shows your own turns.",
		Example: "  windlass usage --since 24h --by hour\n" +
			"  windlass usage --by model --since 2026-11-01T00:00:00Z --until 2026-12-01T00:00:00Z",
		Args: cobra.NoArgs, RunE: r.Run(showUsage),
	}
	cmd.Flags().String("by", "", "day (default), hour, agent, model, user or tool")
	cmd.Flags().String("since", "720h", "from this time on, or from so long ago")
	cmd.Flags().String("until", "", "before this time, or before so long ago; default now")
	cmd.Flags().String("agent", "", "only turns of this agent")
	return cmd
}

func showUsage(c *command.Call) error {
	req := &sessionsv1.GetUsageRequest{AgentId: c.Flag("agent")}
	for _, name := range []string{"since", "until"} {
		if c.Flag(name) == "" {
			continue
		}
		at, err := c.Time(name)
		if err != nil {
			return err
		}
		if err := client.Set(req, name, at); err != nil {
			return err
		}
	}
	if by := c.Flag("by"); by != "" {
		if err := client.Set(req, "group_by", by); err != nil {
			return err
		}
	}
	var got sessionsv1.GetUsageResponse
	raw, err := c.Do(req, &got)
	if err != nil {
		return err
	}
	var keys []string
	var rows [][]string
	for _, u := range got.GetRows() {
		keys = append(keys, u.GetKey())
		rows = append(rows, []string{
			u.GetKey(), fmt.Sprint(u.GetTurns()), fmt.Sprint(u.GetInputTokens()), fmt.Sprint(u.GetOutputTokens()),
			money.Micros(u.GetCostMicros()).String(), fmt.Sprint(u.GetModelCalls()), fmt.Sprint(u.GetToolCalls()), fmt.Sprint(u.GetFailed()),
		})
	}
	if got.GetOwnOnly() {
		c.Note("These are your own turns.")
	}
	header := []string{"", "TURNS", "TOKENS IN", "TOKENS OUT", "COST", "MODEL CALLS", "TOOL CALLS", "FAILED"}
	return c.PrintTable(strings.Join(keys, "\n"), raw, header, rows...)
}
