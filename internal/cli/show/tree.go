package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/windlass-dev/windlass/libs/enum"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Tree writes a turn on one line, and its descendants indented below it.
func Tree(w io.Writer, tree *sessionsv1.TurnTree) error { return writeTree(w, tree, 0) }

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
