package cli

import (
	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/stdio"
)

func mcpCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp [SOURCE|orchestrator]",
		Short: "Serve the tools of the server to an MCP client over stdio",
		Long: `Serve the tools of the server to an MCP client over stdio.

For clients that start a program. Without an argument the client gets all tools that you may use; with the name of a source
only its tools, under their own names; with orchestrator the tools that run agents.`,
		Example: "  windlass mcp\n  windlass mcp orchestrator",
		Args:    cobra.MaximumNArgs(1),
		RunE: run(a, func(c *call) error {
			path := "/mcp"
			if len(c.args) > 0 {
				path += client.Path(c.args[0])
			}
			return stdio.Serve(c.ctx, stdio.Config{
				Server: c.client, Path: path, In: a.In, Out: a.Out, AgentSession: flag(c.cmd, "agent-session"),
			})
		}),
	}
	cmd.Flags().String("agent-session", "", "id of the session that the client belongs to; sessions that it starts are children of that one")
	return cmd
}
