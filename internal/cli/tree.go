package cli

import (
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/show"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func treeCommand(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "tree ID", Short: "Show a turn with the turns of the agents that it called", Args: cobra.ExactArgs(1), RunE: run(a, showTree),
	}
}

func showTree(c *call) error {
	var tree sessionsv1.TurnTree
	raw, err := c.client.Do(c.ctx, client.Request{Method: http.MethodGet, Path: "/v1/turns" + client.Path(c.args[0], "tree")}, &tree)
	if err != nil {
		return err
	}
	return c.print(tree.GetTurn().GetId(), raw, func(w io.Writer) error { return show.Tree(w, &tree) })
}
