package session

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/command"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func importCommand(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Open a session with the messages of an export; FILE - reads standard input",
		Long: "Open a session of yours that begins with the messages of a file that \"windlass session export -f json\" wrote, " +
			"here or at another\n" +
			"mesh. It has no connection to the exported session. Its messages count as tainted, since anyone may have written the file.",
		Args: cobra.ExactArgs(1), RunE: r.Run(importFile),
	}
	cmd.Flags().String("agent", "", "agent of the new session; without it that of the exported one")
	cmd.Flags().String("title", "", "title for people; without it that of the exported one")
	cmd.Flags().String("key", "", "idempotency key: the same key and file give the same session")
	return cmd
}

func importFile(c *command.Call) error {
	raw, err := read(c)
	if err != nil {
		return err
	}
	req := &sessionsv1.ImportSessionRequest{}
	if err := codec.UnmarshalKnown(raw, req); err != nil {
		return app.Usage("%s is no export of a session in JSON: %s", c.Args[0], err)
	}
	req.Turns, req.Events = nil, nil // the server ignores them
	if err := c.Given(req, "agent=agent_id", "title", "key=idempotency_key"); err != nil {
		return err
	}
	return Noun().Send(c, req)
}

// read returns the file.
func read(c *command.Call) ([]byte, error) {
	if c.Args[0] == "-" {
		return c.ReadIn()
	}
	return os.ReadFile(c.Args[0])
}
