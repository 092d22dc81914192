package session

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/command"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func forkCommand(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "fork ID", Short: "Open a session that continues from a point in another one",
		Long: "Open a session that begins with the conversation of another one, up to --seq or to its last finished turn.\n" +
			"forked_from_seq in the answer says up to where it was taken: in the middle of a turn, no tool call is taken without its result.",
		Args: cobra.ExactArgs(1), RunE: r.Run(fork),
	}
	cmd.Flags().Uint32("seq", 0, "take the messages up to this event; 0 = those of all finished turns")
	cmd.Flags().String("agent", "", "agent of the new session; without it that of the other one")
	cmd.Flags().String("title", "", "title for people; without it that of the other one")
	cmd.Flags().String("params", "", "params of the new session, as JSON; without them those of the other one")
	cmd.Flags().String("key", "", "idempotency key: the same key and request give the same session")
	return cmd
}

func fork(c *command.Call) error {
	req := &sessionsv1.ForkSessionRequest{SessionId: c.Args[0]}
	if err := errors.Join(c.Given(req, "seq", "agent=agent_id", "title", "key=idempotency_key"), c.AddParams(req)); err != nil {
		return err
	}
	return Noun().Send(c, req)
}
