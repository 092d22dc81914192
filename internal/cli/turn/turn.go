// Package turn has the commands for turns.
package turn

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/follow"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Noun returns "windlass turn".
func Noun() command.Noun {
	return command.Noun{
		Name: "turn", Plural: "turns", Short: "Turns: one input until its answer", Wait: wait, More: commands,
		List: &sessionsv1.ListTurnsRequest{}, Get: &sessionsv1.GetTurnRequest{},
		Filters: append([]command.Filter{
			{Name: "session", Query: "session_id", Usage: "only turns of this session"},
			{Name: "agent", Query: "agent_id", Usage: "only turns of this agent"},
			{Name: "label", Usage: "only turns of sessions with this label, as key=value or key"},
			{
				Name: "status", Usage: "only turns that are queued, running, waiting, completed, failed or cancelled",
				Enum: turnv1.TurnStatus(0).Descriptor(),
			},
			{Name: "search", Query: "q", Usage: "only turns with all of these words in their messages"},
			{
				Name: "order", Query: "order_by",
				Usage: "cost, duration or create_time, each with \" desc\" behind it for the highest first; without it the newest first",
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
		rerunCommand(r), compareCommand(r), contextCommand(r), journalCommand(r),
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
	cmd.Flags().String("model", "", "model of this turn, as provider/model, instead of the agent's and its fallbacks")
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

// limits returns the limits of a turn that flags set, nil if there are none.
func limits(c *command.Call) (*sessionsv1.Limits, error) {
	l := &sessionsv1.Limits{}
	changed, err := c.Changed(l, "max-steps", "max-tokens", "max-tool-calls", "max-cost", "turn-seconds")
	if len(changed.GetPaths()) == 0 {
		return nil, err
	}
	return l, err
}

// start starts a turn, and prints it, or its events with --watch.
func start(c *command.Call, req proto.Message) error {
	var t sessionsv1.Turn
	raw, err := c.Do(req, &t)
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
	req := &sessionsv1.CreateTurnRequest{
		SessionId: c.Args[0], Input: input, Mode: c.Flag("mode"), WebhookUrl: c.Flag("webhook-url"), IdempotencyKey: c.Flag("key"),
		Model: c.Flag("model"),
	}
	if req.Limits, err = limits(c); err != nil {
		return err
	}
	return start(c, req)
}

func cancelCommand(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "cancel ID", Short: "Request the cancellation of a turn", Args: cobra.ExactArgs(1), RunE: r.Run(func(c *command.Call) error {
			return Noun().Send(c, &sessionsv1.CancelTurnRequest{TurnId: c.Args[0], Reason: c.Flag("reason")})
		}),
	}
	cmd.Flags().String("reason", "", "why, for the journal")
	return cmd
}

// wait waits for the end of a turn, and prints it. The exit code is that of a chat.
func wait(c *command.Call) error {
	for {
		var t sessionsv1.Turn
		raw, err := c.Do(&sessionsv1.GetTurnRequest{TurnId: c.Args[0], Wait: durationpb.New(time.Minute)}, &t)
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
