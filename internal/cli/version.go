package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/version"
)

func versionCommand(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this binary", Args: cobra.NoArgs,
		RunE: run(a, func(c *call) error {
			v := version.Of(c.Version)
			raw, err := json.Marshal(v)
			if err != nil {
				return fmt.Errorf("print the version: %w", err)
			}
			return c.print(v.Version, raw, func(w io.Writer) error { return output.Fields(w, raw) })
		}),
	}
}
