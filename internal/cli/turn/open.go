package turn

import (
	"fmt"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func openCommand(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "open ID", Short: "Show the timeline of a turn in a browser", Args: cobra.ExactArgs(1),
		Long: "Print the URL of a turn's timeline in the console, and open it in a browser if this is a terminal.",
		RunE: r.Run(func(c *command.Call) error {
			if _, err := c.Do(&sessionsv1.GetTurnRequest{TurnId: c.Args[0]}, nil); err != nil {
				return err
			}
			page := c.Client.Server() + "/turns" + client.Path(c.Args[0])
			if _, err := fmt.Fprintln(c.Out, page); err != nil || !c.Terminal {
				return err
			}
			opener := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
			if opener == nil {
				opener = []string{"xdg-open"}
			}
			opens := exec.CommandContext(c.Ctx, opener[0], append(opener[1:], page)...) //nolint:gosec // the server's address is the user's
			_ = opens.Run()                                                             // the URL is printed
			return nil
		}),
	}
	return cmd
}
