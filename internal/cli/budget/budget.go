// Package budget has the commands for budgets, which limit what many turns use together.
package budget

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

const path = "/v1/budgets"

// Noun returns "windlass budget".
func Noun() command.Noun {
	return command.Noun{
		Name: "budget", Plural: "budgets", Short: "Budgets: what many turns may use together", Path: path, Get: true, Remove: true,
		More:   commands,
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
			body := limits(c)
			body["scope"] = c.Args[0]
			if len(c.Args) == 2 {
				body["target"] = c.Args[1]
			}
			maps.Copy(body, c.Given("period"))
			return Noun().Send(c, client.Request{Method: http.MethodPost, Path: path, Body: body})
		}),
	}
	create.Flags().String("period", "", "reset each day or month (UTC); none = never (default)")
	limitFlags(create)
	update := &cobra.Command{
		Use: "update ID", Short: "Change the limits of a budget", Args: cobra.ExactArgs(1),
		RunE: r.Run(func(c *command.Call) error {
			body := limits(c)
			if len(body) == 0 {
				return app.Usage("say what to change: --max-tokens, --max-cost, --max-tool-calls or --warn-at")
			}
			return Noun().Send(c, client.Request{Method: http.MethodPatch, Path: path + client.Path(c.Args[0]), Body: body})
		}),
	}
	limitFlags(update)
	return []*cobra.Command{create, update}
}

func limitFlags(cmd *cobra.Command) {
	cmd.Flags().Int64("max-tokens", 0, "input and output tokens, 0 = no limit")
	cmd.Flags().String("max-cost", "", "what model calls may cost, for example 2.50; empty = no limit")
	cmd.Flags().Int64("max-tool-calls", 0, "tool calls, 0 = no limit")
	cmd.Flags().Int32("warn-at", 0, "percentage of a limit at which turns are warned; 0 = 80")
}

// limits returns the limits set by flags, including those set to none.
func limits(c *command.Call) map[string]any {
	return c.Changed("max-tokens", "max-cost", "max-tool-calls", "warn-at")
}
