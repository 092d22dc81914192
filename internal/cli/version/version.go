// Package version has the command that prints the version.
package version

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/command"
)

// Command returns "windlass version".
func Command(r *command.Runner) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this binary", Args: cobra.NoArgs,
		RunE: r.Run(func(c *command.Call) error {
			build := c.Build()
			raw, err := json.Marshal(build)
			if err != nil {
				return fmt.Errorf("print the version: %w", err)
			}
			return c.PrintFields(build.Version, raw)
		}),
	}
}
