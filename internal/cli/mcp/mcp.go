// Package mcp connects an MCP client that starts programs, as desktop clients do, with the MCP endpoints of a server. It passes messages
// on and keeps nothing but the id of the session.
package mcp

import (
	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
)

// Command returns "windlass mcp".
func Command(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp [SOURCE|orchestrator]",
		Short: "Serve the tools of the server to an MCP client over stdio",
		Long: `Serve the tools of the server to an MCP client over stdio.

For clients that start a program. Without an argument the client gets all tools that you may use; with the name of a source
only its tools, under their own names; with orchestrator the tools that run agents.`,
		Example: "  windlass mcp\n  windlass mcp orchestrator",
		Args:    cobra.MaximumNArgs(1),
		RunE: r.Run(func(c *command.Call) error {
			path := "/mcp"
			if len(c.Args) > 0 {
				path += client.Path(c.Args[0])
			}
			return serve(c.Ctx, config{
				Server: c.Client, Path: path, In: c.In, Out: c.Out, AgentSession: c.Flag("agent-session"),
			})
		}),
	}
	cmd.Flags().String("agent-session", "", "id of the session that the client belongs to; sessions that it starts are children of that one")
	return cmd
}
