package turn

import (
	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/command"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func rerunCommand(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rerun ID", Short: "Run a turn that is over again, in a new session",
		Long: "Run a turn that is over again, in a new session, from its start or from one of its model steps.\n" +
			"Tool calls that the turn made too get the results that they had then, and their tools are not called.\n" +
			"With --tools live all calls are run, with all that they do to the world. Compare both with: windlass turn compare.",
		Args: cobra.ExactArgs(1), RunE: r.Run(rerun),
	}
	cmd.Flags().String("from", "", "first model step to run again, for example infer-2; failed: the one that failed; default: from the start")
	cmd.Flags().String("agent", "", "agent of the new turn; without it that of the other one, as it is now")
	cmd.Flags().String("model", "", "model of the new turn, provider/model; without it the agent's")
	cmd.Flags().String("tools", "",
		"recorded: calls get the results that they had; live: they are run; default recorded, with --from failed live")
	cmd.Flags().String("missing", "",
		"calls without a recorded result: fail (default, the model gets an error) or live_read (run those that only read)")
	cmd.Flags().String("params", "", "params of the new session, as JSON; without them those of the other one")
	cmd.Flags().String("key", "", "idempotency key: the same key and request give the same turn")
	startFlags(cmd)
	return cmd
}

func rerun(c *command.Call) error {
	limits, err := limits(c)
	if err != nil {
		return err
	}
	req := &sessionsv1.RerunTurnRequest{
		TurnId: c.Args[0], FromStep: c.Flag("from"), AgentId: c.Flag("agent"), Model: c.Flag("model"), Tools: c.Flag("tools"),
		Missing: c.Flag("missing"), IdempotencyKey: c.Flag("key"), Limits: limits,
	}
	if err := c.AddParams(req); err != nil {
		return err
	}
	return start(c, req)
}
