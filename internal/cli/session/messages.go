package session

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/show"
	"github.com/windlass-dev/windlass/libs/enum"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func messagesCommand(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "messages ID", Short: "Show the conversation of a session", Args: cobra.ExactArgs(1), RunE: r.Run(showMessages),
	}
	cmd.Flags().Int("limit", 0, "show so many at most, 0 = all")
	return cmd
}

// messages are listed per session only.
func messages() command.Noun {
	return command.Noun{
		Name: "message", Plural: "messages",
		Header: []string{"SEQ", "ROLE", "TEXT"},
		Read: command.Typed((*turnv1.Message).GetId, func(m *turnv1.Message, _ time.Time) []string {
			return []string{fmt.Sprint(m.GetSeq()), enum.Name(m.GetRole()), output.Short(show.Message(m), 2*output.CellWidth)}
		}),
	}
}

func showMessages(c *command.Call) error {
	limit, err := c.Limit()
	if err != nil {
		return err
	}
	req := &sessionsv1.ListMessagesRequest{SessionId: c.Args[0]}
	if c.Format != output.Table {
		return messages().ListAt(c, req, nil, limit)
	}
	items, _, err := c.Client.List(c.Ctx, req, nil, limit)
	if err != nil {
		return err
	}
	return show.Conversation(c.Out, items)
}
