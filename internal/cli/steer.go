package cli

import (
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func steerCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "steer ID INPUT", Short: "Give a running turn more input; INPUT - reads standard input",
		Long: "Give a running turn more input. The model reads it at its next step, after the results of the tools that are running.",
		Args: cobra.MinimumNArgs(2), RunE: run(a, steerTurn),
	}
	cmd.Flags().String("key", "", "idempotency key: the same key and input are given once")
	return cmd
}

func steerTurn(c *call) error {
	input := strings.Join(c.args[1:], " ")
	if input == "-" {
		raw, err := c.ReadIn()
		if err != nil {
			return err
		}
		input = string(raw)
	}
	var got sessionsv1.SteerTurnResponse
	raw, err := c.client.Do(c.ctx, client.Request{
		Method: http.MethodPost, Path: "/v1/turns" + client.Path(c.args[0]) + ":steer", Body: map[string]any{"input": input},
		Key: flag(c.cmd, "key"),
	}, &got)
	if err != nil {
		return err
	}
	return c.print(got.GetMessageId(), raw, func(w io.Writer) error { return output.Fields(w, raw) })
}

func resolveCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "resolve ID CALL OUTCOME [RESULT]", Short: "Resolve a call whose outcome is unknown",
		Long: "Resolve a call whose outcome is unknown, so that its turn continues. OUTCOME is one of\n" +
			"done (it took effect; the model gets RESULT), not_done (it did not: run it) and give_up (unknown: the model is told so).\n" +
			"'windlass approval list --kind resolution --status pending' lists such calls.",
		Args: cobra.RangeArgs(3, 4), RunE: run(a, resolveCall),
	}
	cmd.Flags().String("comment", "", "why, for the journal")
	return cmd
}

func resolveCall(c *call) error {
	body := map[string]any{"call_id": c.args[1], "outcome": c.args[2]}
	if len(c.args) == 4 {
		text, err := readArgument(c.App, c.args[3])
		if err != nil {
			return err
		}
		body["result"] = string(text)
	}
	if v := flag(c.cmd, "comment"); v != "" {
		body["comment"] = v
	}
	raw, err := c.client.Do(c.ctx, client.Request{
		Method: http.MethodPost, Path: "/v1/turns" + client.Path(c.args[0]) + ":resolve",
		Body: body,
	}, nil)
	if err != nil {
		return err
	}
	return printApproval(c, raw)
}
