// Package turn has the commands for turns.
package turn

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/follow"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

const path = "/v1/turns"

// Noun returns "windlass turn".
func Noun() command.Noun {
	return command.Noun{
		Name: "turn", Plural: "turns", Short: "Turns: one input until its answer", Path: path, Get: true, Wait: wait, More: commands,
		Filters: append([]command.Filter{
			{Name: "session", Query: "session_id", Usage: "only turns of this session"},
			{Name: "agent", Query: "agent_id", Usage: "only turns of this agent"},
			{Name: "label", Usage: "only turns of sessions with this label, as key=value or key"},
			{
				Name: "status", Usage: "only turns that are queued, running, waiting, completed, failed or cancelled",
				Enum: turnv1.TurnStatus(0).Descriptor(),
			},
			{Name: "view", Usage: "full: inputs and outputs are not cut to 200 characters"},
		}, command.TimeFilters("turns")...),
		Header: []string{"ID", "SESSION", "STATUS", "STOP", "TOOLS", "TOKENS", "AGE", "INPUT"},
		Read: command.Typed((*sessionsv1.Turn).GetId, func(m *sessionsv1.Turn, now time.Time) []string {
			return []string{
				m.GetId(), m.GetSessionId(), enum.Name(m.GetStatus()), m.GetStopReason(), fmt.Sprint(m.GetUsage().GetToolCalls()),
				fmt.Sprint(m.GetUsage().GetInputTokens() + m.GetUsage().GetOutputTokens()), output.Ago(now, m.GetCreateTime().AsTime()),
				output.Cell(m.GetInput()),
			}
		}),
	}
}

func commands(r *command.Runner) []*cobra.Command {
	return []*cobra.Command{
		createCommand(r), watchCommand(r), cancelCommand(r), steerCommand(r), resolveCommand(r), treeCommand(r), openCommand(r),
		rerunCommand(r), compareCommand(r),
	}
}

func createCommand(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "create SESSION INPUT", Short: "Send input to a session; INPUT - reads standard input", Args: cobra.MinimumNArgs(2),
		RunE: r.Run(create),
	}
	cmd.Flags().String("mode", "",
		"when the session has an active turn: enqueue (default), reject, interrupt (cancel it and run next), steer (give it to that turn) or "+
			"fork (run in a new session)")
	cmd.Flags().String("key", "", "idempotency key: the same key and input give the same turn")
	cmd.Flags().String("webhook-url", "", "tell this address when the turn ends; needs a webhook with --per-turn, which signs")
	startFlags(cmd)
	return cmd
}

// startFlags are those of the commands that start a turn.
func startFlags(cmd *cobra.Command) {
	cmd.Flags().Bool("watch", false, "watch its events until it ends")
	deltasFlag(cmd)
	cmd.Flags().Uint32("max-steps", 0, "model steps of this turn, 0 = as the agent says")
	cmd.Flags().Int32("max-tokens", 0, "input and output tokens of this turn, 0 = as the agent says")
	cmd.Flags().Uint32("max-tool-calls", 0, "tool calls of this turn, 0 = as the agent says")
	cmd.Flags().String("max-cost", "", "what the model calls of this turn may cost, for example 0.25; empty = as the agent says")
	cmd.Flags().Uint32("turn-seconds", 0, "time of this turn in seconds, 0 = as the agent says")
}

// start starts a turn with the limits set by flags, and prints it, or its events with --watch.
func start(c *command.Call, path string, body map[string]any) error {
	if limits := c.Changed("max-steps", "max-tokens", "max-tool-calls", "max-cost", "turn-seconds"); len(limits) > 0 {
		body["limits"] = limits
	}
	var t sessionsv1.Turn
	raw, err := c.Do(client.Request{Method: http.MethodPost, Path: path, Body: body, Key: c.Flag("key")}, &t)
	if err != nil {
		return err
	}
	if c.Bool("watch") {
		return watch(c, follow.Options{Turn: t.GetId(), Known: true})
	}
	return Noun().Print(c, raw)
}

func create(c *command.Call) error {
	input, err := c.Input(c.Args[1:])
	if err != nil {
		return err
	}
	body := c.Given("mode", "webhook-url")
	body["input"] = input
	return start(c, "/v1/sessions"+client.Path(c.Args[0], "turns"), body)
}

func cancelCommand(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "cancel ID", Short: "Request the cancellation of a turn", Args: cobra.ExactArgs(1), RunE: r.Run(func(c *command.Call) error {
			return Noun().Send(c, client.Request{Method: http.MethodPost, Path: path + client.Path(c.Args[0]) + ":cancel", Body: c.Given("reason")})
		}),
	}
	cmd.Flags().String("reason", "", "why, for the journal")
	return cmd
}

// wait waits for the end of a turn, and prints it. The exit code is that of a chat.
func wait(c *command.Call) error {
	for {
		var t sessionsv1.Turn
		raw, err := c.Do(client.Request{Path: path + client.Path(c.Args[0]), Query: url.Values{"wait": {"60s"}}}, &t)
		if err != nil {
			return err
		}
		switch t.GetStatus() {
		case turnv1.TurnStatus_TURN_STATUS_COMPLETED, turnv1.TurnStatus_TURN_STATUS_FAILED, turnv1.TurnStatus_TURN_STATUS_CANCELLED:
			if err := Noun().Print(c, raw); err != nil {
				return err
			}
			return follow.Result(t.GetId(), &turnv1.TurnEnded{Status: t.GetStatus(), Error: t.GetError(), LimitReached: t.GetLimitReached()})
		}
	}
}
