// Package session has the commands for sessions.
package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Noun returns "windlass session".
func Noun() command.Noun {
	return command.Noun{
		Name: "session", Plural: "sessions", Short: "Sessions: conversations with agents", More: commands,
		List: &sessionsv1.ListSessionsRequest{}, Get: &sessionsv1.GetSessionRequest{}, Remove: &sessionsv1.DeleteSessionRequest{},
		Filters: append([]command.Filter{
			{Name: "agent", Query: "agent_id", Usage: "only sessions with this agent"},
			{Name: "label", Usage: "only sessions with this label, as key=value or key"},
			{Name: "active", Usage: "only sessions in which a turn is active", Bool: true},
			{Name: "search", Query: "q", Usage: "only sessions with all of these words in their title or messages"},
			{Name: "status", Usage: "only sessions whose newest turn has this status", Enum: turnv1.TurnStatus(0).Descriptor()},
			{Name: "pinned", Usage: "only pinned sessions", Bool: true},
			{Name: "archived", Usage: "only archived sessions", Bool: true},
		}, command.TimeFilters("sessions")...),
		Permanent: "erase them at once; without it they can be restored for a while",
		Header:    []string{"ID", "AGENT", "ACTIVE TURN", "EVENTS", "UPDATED", "TITLE"},
		Read: command.Typed((*sessionsv1.Session).GetId, func(m *sessionsv1.Session, now time.Time) []string {
			return []string{
				m.GetId(), m.GetAgentId(), m.GetActiveTurnId(), fmt.Sprint(m.GetLastSeq()), output.Ago(now, m.GetUpdateTime().AsTime()),
				output.Cell(m.GetTitle()),
			}
		}),
	}
}

func commands(r *command.Runner) []*cobra.Command {
	create := &cobra.Command{Use: "create", Short: "Open a session with an agent", Args: cobra.NoArgs, RunE: r.Run(create)}
	create.Flags().String("agent", "", "the agent; without it the only one, or the one named assistant")
	create.Flags().String("title", "", "title for people")
	create.Flags().String("params", "", `what the agent's placeholders ${params.*} stand for, as JSON: '{"team":"red"}'`)
	create.Flags().StringToString("label", nil, "labels, as key=value")
	create.Flags().StringArray("bank", nil, "bank that it answers from, in place of the agent's; may be repeated")
	update := &cobra.Command{
		Use: "update ID", Short: "Change the title and the labels of a session, pin or archive it", Args: cobra.ExactArgs(1), RunE: r.Run(update),
	}
	update.Flags().String("title", "", "title for people")
	update.Flags().StringToString("label", nil, "labels, as key=value, instead of those it has")
	update.Flags().Bool("pinned", false, "pin it; =false unpins it")
	update.Flags().Bool("archived", false, "archive it; =false takes it back")
	restore := &cobra.Command{
		Use: "restore ID", Short: "Bring back a deleted session", Args: cobra.ExactArgs(1),
		RunE: r.Run(func(c *command.Call) error {
			return Noun().Send(c, &sessionsv1.RestoreSessionRequest{SessionId: c.Args[0]})
		}),
	}
	all := []*cobra.Command{create, update, restore, messagesCommand(r), forkCommand(r), exportCommand(r), importCommand(r)}
	return append(all, shareCommands(r)...)
}

func create(c *command.Call) error {
	req := &sessionsv1.CreateSessionRequest{}
	if err := errors.Join(c.Given(req, "agent=agent_id", "title", "label=labels", "bank=banks"), c.AddParams(req)); err != nil {
		return err
	}
	return Noun().Send(c, req)
}

func update(c *command.Call) error {
	s := &sessionsv1.Session{Id: c.Args[0]}
	changed, err := c.Changed(s, "title", "label=labels", "pinned", "archived")
	if err != nil {
		return err
	}
	if len(changed.GetPaths()) == 0 {
		return app.Usage("say what to change: --title, --label, --pinned or --archived")
	}
	return Noun().Send(c, &sessionsv1.UpdateSessionRequest{Session: s, UpdateMask: changed})
}
