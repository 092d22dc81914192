package cli

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func budgets() noun {
	return noun{
		name: "budget", plural: "budgets", short: "Budgets: what many turns may use together", path: "/v1/budgets", get: true, remove: true,
		more:   budgetCommands,
		header: []string{"ID", "FOR", "PERIOD", "TOKENS", "COST", "TOOL CALLS", "AGE"},
		read: typed((*sessionsv1.Budget).GetId, func(m *sessionsv1.Budget, now time.Time) []string {
			return []string{
				m.GetId(), strings.TrimSpace(m.GetScope() + " " + m.GetTarget()), m.GetPeriod(),
				usedOf(m.GetMaxTokens() > 0, m.GetUsedTokens(), m.GetMaxTokens()),
				usedOf(m.GetMaxCost() != "", orZero(m.GetUsedCost()), m.GetMaxCost()),
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

func orZero(s string) string {
	if s == "" {
		return "0"
	}
	return s
}

func budgetCommands(a *app.App) []*cobra.Command {
	create := &cobra.Command{
		Use: "create SCOPE [TARGET]", Short: "Create a budget for the tenant, or for a subject, session or agent", Args: cobra.RangeArgs(1, 2),
		Example: "windlass budget create tenant --period day --max-cost 5\nwindlass budget create agent support --max-tokens 1000000",
		RunE: run(a, func(c *call) error {
			body := budgetLimits(c)
			body["scope"] = c.args[0]
			if len(c.args) == 2 {
				body["target"] = c.args[1]
			}
			if p := flag(c.cmd, "period"); p != "" {
				body["period"] = p
			}
			return sendBudget(c, http.MethodPost, "/v1/budgets", body)
		}),
	}
	create.Flags().String("period", "", "reset each day or month (UTC); none = never (default)")
	limitFlags(create)
	update := &cobra.Command{
		Use: "update ID", Short: "Change the limits of a budget", Args: cobra.ExactArgs(1),
		RunE: run(a, func(c *call) error {
			body := budgetLimits(c)
			if len(body) == 0 {
				return app.Usage("say what to change: --max-tokens, --max-cost, --max-tool-calls or --warn-at")
			}
			return sendBudget(c, http.MethodPatch, "/v1/budgets"+client.Path(c.args[0]), body)
		}),
	}
	limitFlags(update)
	return []*cobra.Command{create, update}
}

// limitNames returns the limits that a turn can have.
func limitNames() []string {
	return []string{"max-steps", "max-tokens", "max-tool-calls", "max-cost", "turn-seconds"}
}

func turnLimitFlags(cmd *cobra.Command) {
	cmd.Flags().Uint32("max-steps", 0, "model steps of this turn, 0 = as the agent says")
	cmd.Flags().Int32("max-tokens", 0, "input and output tokens of this turn, 0 = as the agent says")
	cmd.Flags().Uint32("max-tool-calls", 0, "tool calls of this turn, 0 = as the agent says")
	cmd.Flags().String("max-cost", "", "what the model calls of this turn may cost, for example 0.25; empty = as the agent says")
	cmd.Flags().Uint32("turn-seconds", 0, "time of this turn in seconds, 0 = as the agent says")
}

// turnLimits returns the turn limits set by flags.
func turnLimits(c *call) map[string]any {
	limits := map[string]any{}
	for _, name := range limitNames() {
		if c.cmd.Flags().Changed(name) {
			limits[strings.ReplaceAll(name, "-", "_")] = flag(c.cmd, name)
		}
	}
	return limits
}

func limitFlags(cmd *cobra.Command) {
	cmd.Flags().Int64("max-tokens", 0, "input and output tokens, 0 = no limit")
	cmd.Flags().String("max-cost", "", "what model calls may cost, for example 2.50; empty = no limit")
	cmd.Flags().Int64("max-tool-calls", 0, "tool calls, 0 = no limit")
	cmd.Flags().Int32("warn-at", 0, "percentage of a limit at which turns are warned; 0 = 80")
}

// budgetLimits returns the limits set by flags, including those set to none.
func budgetLimits(c *call) map[string]any {
	body := map[string]any{}
	for _, name := range []string{"max-tokens", "max-cost", "max-tool-calls", "warn-at"} {
		if c.cmd.Flags().Changed(name) {
			body[strings.ReplaceAll(name, "-", "_")] = flag(c.cmd, name)
		}
	}
	return body
}

func sendBudget(c *call, method, path string, body map[string]any) error {
	raw, err := c.client.Do(c.ctx, client.Request{Method: method, Path: path, Body: body}, nil)
	if err != nil {
		return err
	}
	return budgets().printOne(c, raw)
}
