package cli

import (
	"net/url"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
)

// defaultLimit is how many items a list without a --limit flag shows.
const defaultLimit = 100

func agentCommands(a *app.App) []*cobra.Command {
	return []*cobra.Command{{
		Use: "revisions ID", Short: "List the blueprint revisions of an agent", Args: cobra.ExactArgs(1),
		RunE: run(a, func(c *call) error {
			return agents().listAt(c, "/v1/agents"+client.Path(c.args[0], "revisions"), "revisions", url.Values{}, defaultLimit)
		}),
	}}
}
