package budget

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/money"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func treeCommand(r *command.Runner) *cobra.Command {
	return &cobra.Command{
		Use: "tree", Short: "Show budgets below those that limit their turns too, with what is used and what is reserved", Args: cobra.NoArgs,
		RunE: r.Run(func(c *command.Call) error {
			var tree sessionsv1.BudgetTree
			raw, err := c.Do(&sessionsv1.GetBudgetTreeRequest{}, &tree)
			if err != nil {
				return err
			}
			return c.Print("", raw, func(w io.Writer) error {
				return output.Rows(w, []string{"FOR", "PERIOD", "LIMIT", "USED", "RESERVED", "LEFT", "ID"}, treeRows(tree.GetRoots(), 0))
			})
		}),
	}
}

// treeRows returns a row for each limit of each budget, indented by depth.
func treeRows(nodes []*sessionsv1.BudgetNode, depth int) [][]string {
	var rows [][]string
	for _, n := range nodes {
		b := n.GetBudget()
		name := strings.Repeat("└ ", depth) + output.Cell(strings.TrimSpace(b.GetScope()+" "+b.GetTarget()))
		add := func(limited bool, limit, unit string, used, reserved, left int64, show func(int64) string) {
			if limited {
				rows = append(rows, []string{name, b.GetPeriod(), limit + unit, show(used), show(reserved), show(left), b.GetId()})
			}
		}
		count := func(n int64) string { return fmt.Sprint(n) }
		cost := func(n int64) string { return money.Micros(n).String() }
		used, reserved, left := n.GetUsed(), n.GetReserved(), n.GetRemaining()
		add(b.GetMaxTokens() > 0, count(b.GetMaxTokens()), " tokens", used.GetTokens(), reserved.GetTokens(), left.GetTokens(), count)
		add(b.GetMaxCost() != "", b.GetMaxCost(), " cost", used.GetCostMicros(), reserved.GetCostMicros(), left.GetCostMicros(), cost)
		add(b.GetMaxToolCalls() > 0, count(b.GetMaxToolCalls()), " tool calls", used.GetToolCalls(), reserved.GetToolCalls(),
			left.GetToolCalls(), count)
		rows = append(rows, treeRows(n.GetChildren(), depth+1)...)
	}
	return rows
}
