// Package initproject has the command that makes a folder to start from.
package initproject

import (
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/project"
)

// Command returns "windlass init".
func Command(a *app.App) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: "init [FOLDER]", Short: "Make a folder with an agent, a tool server and a test to start from",
		Long: "Make a folder with an agent, a tool server in Python and a test of both. Nothing is overwritten, and no server is needed.\n" +
			"The agent and its source are called as the folder.",
		Example: "  windlass init my-agent\n  windlass apply --watch my-agent\n  my-agent/test.sh",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			folder := "."
			if len(args) == 1 {
				folder = args[0]
			}
			made, err := project.Create(folder, name)
			if err != nil {
				return app.Usage("%s", err)
			}
			for _, path := range made {
				if _, err := fmt.Fprintln(a.Out, path); err != nil {
					return err
				}
			}
			_, _ = fmt.Fprintf(a.Err, "Go on with: %s apply --watch %s\n", a.Self, folder) // best effort
			if _, err := exec.LookPath("python3"); err != nil {
				_, _ = fmt.Fprintln(a.Err, "There is no python3 on the PATH, which tools.py needs: install it, or change the command in windlass.yaml.")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "name of the agent and its source")
	return cmd
}
