// Package cli is the windlass command: it speaks REST and event streams to a running mesh.
package cli

import (
	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
)

// New makes the windlass command with its own commands and the given ones.
func New(a *app.App, more ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:   "windlass",
		Short: "Run agents that survive anything",
	}
	root.PersistentFlags().StringP("output", "o", "table", "what to print: table, json, yaml or name")
	root.AddCommand(more...)
	return root
}
