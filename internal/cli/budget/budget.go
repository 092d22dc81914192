// Package budget has the commands for budgets, which limit what many turns use together.
package budget

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Noun returns "windlass budget".
func Noun() command.Noun {
	return command.Noun{
		Name: "budget", Plural: "budgets", Short: "Budgets: what many turns may use together", More: commands,
		List: &sessionsv1.ListBudgetsRequest{}, Get: &sessionsv1.GetBudgetRequest{}, Remove: &sessionsv1.DeleteBudgetRequest{},
		Header: []string{"ID", "FOR", "PERIOD", "TOKENS", "COST", "TOOL CALLS", "AGE"},
		Read: command.Typed((*sessionsv1.Budget).GetId, func(m *sessionsv1.Budget, now time.Time) []string {
			return []string{
				m.GetId(), strings.TrimSpace(m.GetScope() + " " + m.GetTarget()), m.GetPeriod(),
				usedOf(m.GetMaxTokens() > 0, m.GetUsedTokens(), m.GetMaxTokens()),
				usedOf(m.GetMaxCost() != "", cmp.Or(m.GetUsedCost(), "0"), m.GetMaxCost()),
				usedOf(m.GetMaxToolCalls() > 0, m.GetUsedToolCalls(), m.GetMaxToolCalls()), output.Ago(now, m.GetCreateTime().AsTime()),
			}
		}),
	}
}

// usedOf formats how much of a limit is used.
func usedOf(limited bool, used, limit any) string {
	if !limited {
		return fmt.Sprint(used)
	}
	return fmt.Sprintf("%v of %v", used, limit)
}

func commands(r *command.Runner) []*cobra.Command {
	create := &cobra.Command{
		Use: "create SCOPE [TARGET]", Short: "Create a budget for the tenant, or for a subject, session or agent", Args: cobra.RangeArgs(1, 2),
		Example: "windlass budget create tenant --period day --max-cost 5\nwindlass budget create agent support --max-tokens 1000000",
		RunE: r.Run(func(c *command.Call) error {
			b := &sessionsv1.Budget{Scope: c.Args[0]}
			if len(c.Args) == 2 {
				b.Target = c.Args[1]
			}
			if err := c.Given(b, append(limits, "period")...); err != nil {
				return err
			}
			return Noun().Send(c, &sessionsv1.CreateBudgetRequest{Budget: b})
		}),
	}
	create.Flags().String("period", "", "reset each day or month (UTC); none = never (default)")
	limitFlags(create)
	update := &cobra.Command{
		Use: "update ID", Short: "Change the limits of a budget", Args: cobra.ExactArgs(1),
		RunE: r.Run(func(c *command.Call) error {
			b := &sessionsv1.Budget{Id: c.Args[0]}
			changed, err := c.Changed(b, limits...)
			if err != nil {
				return err
			}
			if len(changed.GetPaths()) == 0 {
				return app.Usage("say what to change: --max-tokens, --max-cost, --max-tool-calls or --warn-at")
			}
			return Noun().Send(c, &sessionsv1.UpdateBudgetRequest{Budget: b, UpdateMask: changed})
		}),
	}
	limitFlags(update)
	return []*cobra.Command{create, update, treeCommand(r)}
}

// limits are the flags of limits.
var limits = []string{"max-tokens", "max-cost", "max-tool-calls", "warn-at"}

func limitFlags(cmd *cobra.Command) {
	cmd.Flags().Int64("max-tokens", 0, "input and output tokens, 0 = no limit")
	cmd.Flags().String("max-cost", "", "what model calls may cost, for example 2.50; empty = no limit")
	cmd.Flags().Int64("max-tool-calls", 0, "tool calls, 0 = no limit")
	cmd.Flags().Int32("warn-at", 0, "percentage of a limit at which turns are warned; 0 = 80")
}
