package turn

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/libs/enum"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func treeCommand(r *command.Runner) *cobra.Command {
	return &cobra.Command{
		Use: "tree ID", Short: "Show a turn with the turns of the agents that it called", Args: cobra.ExactArgs(1), RunE: r.Run(showTree),
	}
}

func showTree(c *command.Call) error {
	var tree sessionsv1.TurnTree
	raw, err := c.Do(&sessionsv1.GetTurnTreeRequest{TurnId: c.Args[0]}, &tree)
	if err != nil {
		return err
	}
	return c.Print(tree.GetTurn().GetId(), raw, func(w io.Writer) error { return writeTree(w, &tree, 0) })
}

// writeTree writes a turn on one line, and its descendants indented below it.
func writeTree(w io.Writer, tree *sessionsv1.TurnTree, depth int) error {
	t := tree.GetTurn()
	u := tree.GetTotalUsage()
	background := ""
	if tree.GetBackground() {
		background = ", in the background"
	}
	line := fmt.Sprintf("%s%s  %s  %s  %d model calls, %d tool calls, %d tokens%s", strings.Repeat("  ", depth), t.GetId(), t.GetAgentId(),
		enum.Name(t.GetStatus()), u.GetModelCalls(), u.GetToolCalls(), u.GetInputTokens()+u.GetOutputTokens(), background)
	if _, err := fmt.Fprintln(w, line); err != nil {
		return err
	}
	for _, child := range tree.GetChildren() {
		if err := writeTree(w, child, depth+1); err != nil {
			return err
		}
	}
	return nil
}
