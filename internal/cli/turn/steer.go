package turn

import (
	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/question"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func steerCommand(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "steer ID INPUT", Short: "Give a running turn more input; INPUT - reads standard input",
		Long: "Give a running turn more input. The model reads it at its next step, after the results of the tools that are running.",
		Args: cobra.MinimumNArgs(2), RunE: r.Run(steer),
	}
	cmd.Flags().String("key", "", "idempotency key: the same key and input are given once")
	return cmd
}

func steer(c *command.Call) error {
	input, err := c.Input(c.Args[1:])
	if err != nil {
		return err
	}
	var got sessionsv1.SteerTurnResponse
	raw, err := c.Do(&sessionsv1.SteerTurnRequest{TurnId: c.Args[0], Input: input, IdempotencyKey: c.Flag("key")}, &got)
	if err != nil {
		return err
	}
	return c.PrintFields(got.GetMessageId(), raw)
}

func resolveCommand(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "resolve ID CALL OUTCOME [RESULT]", Short: "Resolve a call whose outcome is unknown",
		Long: "Resolve a call whose outcome is unknown, so that its turn continues. OUTCOME is one of\n" +
			"done (it took effect; the model gets RESULT), not_done (it did not: run it) and give_up (unknown: the model is told so).\n" +
			"'windlass approval list --kind resolution --status pending' lists such calls.",
		Args: cobra.RangeArgs(3, 4), RunE: r.Run(resolve),
	}
	cmd.Flags().String("comment", "", "why, for the journal")
	return cmd
}

func resolve(c *command.Call) error {
	req := &sessionsv1.ResolveToolCallRequest{TurnId: c.Args[0], CallId: c.Args[1], Outcome: c.Args[2], Comment: c.Flag("comment")}
	if len(c.Args) == 4 {
		text, err := c.Argument(c.Args[3])
		if err != nil {
			return err
		}
		req.Result = string(text)
	}
	return question.Send(c, req)
}
