package cli

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func rerunCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rerun ID", Short: "Run a turn that is over again, in a new session",
		Long: "Run a turn that is over again, in a new session, from its start or from one of its model steps.\n" +
			"Tool calls that the turn made too get the results that they had then, and their tools are not called.\n" +
			"With --tools live all calls are run, with all that they do to the world. Compare both with: windlass turn compare.",
		Args: cobra.ExactArgs(1), RunE: run(a, rerunTurn),
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
	cmd.Flags().Bool("watch", false, "watch its events until it ends")
	cmd.Flags().Bool("deltas", false, "show the pieces of messages too, as they come")
	turnLimitFlags(cmd)
	return cmd
}

func rerunTurn(c *call) error {
	body := map[string]any{}
	for name, field := range map[string]string{
		"from": "from_step", "agent": "agent_id", "model": "model", "tools": "tools",
		"missing": "missing",
	} {
		if v := flag(c.cmd, name); v != "" {
			body[field] = v
		}
	}
	if err := addParams(c, body); err != nil {
		return err
	}
	if limits := turnLimits(c); len(limits) > 0 {
		body["limits"] = limits
	}
	var t sessionsv1.Turn
	raw, err := c.client.Do(c.ctx, client.Request{
		Method: http.MethodPost, Path: "/v1/turns" + client.Path(c.args[0]) + ":rerun", Body: body, Key: flag(c.cmd, "key"),
	}, &t)
	if err != nil {
		return err
	}
	if flag(c.cmd, "watch") == "true" {
		return watchTurn(c, t.GetId(), "", true)
	}
	return turns().printOne(c, raw)
}
