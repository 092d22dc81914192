package approval

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func watchCommand(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "watch", Short: "Print approvals as they are opened, decided and closed, until Ctrl-C",
		Long: "Print each approval that you may see when it is opened, when a decision is added and when it is closed. A broken connection is\n" +
			"resumed without gap.",
		Args: cobra.NoArgs, RunE: r.Run(watch),
	}
	cmd.Flags().String("after", "", "begin after this cursor")
	return cmd
}

func watch(c *command.Call) error {
	if c.Format != output.Table && c.Format != output.JSON {
		return app.Usage("approvals are printed as lines, or as JSON lines with -o json; not %q", c.Format)
	}
	err := c.Client.WatchDomain(c.Ctx, client.Watch{
		Path: "/v1/approvals:watch", After: c.Flag("after"), Notice: c.StreamBroke,
	}, func(raw json.RawMessage) error {
		if c.Format == output.JSON {
			_, err := fmt.Fprintf(c.Out, "%s\n", raw)
			return err
		}
		var a sessionsv1.Approval
		if err := client.Decode(raw, &a); err != nil {
			return err
		}
		decided := ""
		if a.GetQuorum() > 0 {
			decided = fmt.Sprintf("%d of %d", len(a.GetDecisions()), a.GetQuorum())
		}
		_, err := fmt.Fprintln(c.Out, output.Line(strings.Join([]string{
			a.GetId(), enum.Name(a.GetStatus()), enum.Name(a.GetKind()), a.GetTool(), decided, output.Cell(a.GetMessage()),
		}, "  ")))
		return err
	})
	if c.Ctx.Err() != nil {
		return nil //nolint:nilerr // the user ended it
	}
	return err
}
