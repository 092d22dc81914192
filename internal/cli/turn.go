package cli

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/asked"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/show"
	"github.com/windlass-dev/windlass/libs/ids"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func turnCommands(a *app.App) []*cobra.Command {
	create := &cobra.Command{
		Use: "create SESSION INPUT", Short: "Send input to a session; INPUT - reads standard input", Args: cobra.MinimumNArgs(2),
		RunE: run(a, createTurn),
	}
	create.Flags().Bool("watch", false, "watch its events until it ends")
	create.Flags().String("mode", "",
		"when the session has an active turn: enqueue (default), reject, interrupt (cancel it and run next), steer (give it to that turn) or "+
			"fork (run in a new session)")
	create.Flags().String("key", "", "idempotency key: the same key and input give the same turn")
	create.Flags().String("webhook-url", "", "tell this address when the turn ends; needs a webhook with --per-turn, which signs")
	turnLimitFlags(create)

	watch := &cobra.Command{
		Use: "watch ID", Short: "Follow the events of a turn until it ends",
		Long: "Follow the events of a turn, from its beginning, until it ends. A broken stream is resumed at its last event.\n" +
			"The exit code is 5 when the turn failed, was cancelled or was stopped by a limit.",
		Args: cobra.ExactArgs(1),
		RunE: run(a, func(c *call) error { return watchTurn(c, c.args[0], flag(c.cmd, "after"), false) }),
	}
	watch.Flags().String("after", "", "start after this cursor")
	watch.Flags().Bool("children", false, "show what the agents do that the turn calls, too")
	for _, cmd := range []*cobra.Command{create, watch} {
		cmd.Flags().Bool("deltas", false, "show the pieces of messages too, as they come")
	}

	cancel := &cobra.Command{Use: "cancel ID", Short: "Request the cancellation of a turn", Args: cobra.ExactArgs(1), RunE: run(a, cancelTurn)}
	cancel.Flags().String("reason", "", "why, for the journal")
	return []*cobra.Command{
		create, watch, cancel, steerCommand(a), resolveCommand(a), treeCommand(a), openCommand(a),
		rerunCommand(a), compareCommand(a),
	}
}

func createTurn(c *call) error {
	input := strings.Join(c.args[1:], " ")
	if input == "-" {
		raw, err := c.ReadIn()
		if err != nil {
			return err
		}
		input = string(raw)
	}
	body := map[string]any{"input": input}
	if m := flag(c.cmd, "mode"); m != "" {
		body["mode"] = m
	}
	if u := flag(c.cmd, "webhook-url"); u != "" {
		body["webhook_url"] = u
	}
	if limits := turnLimits(c); len(limits) > 0 {
		body["limits"] = limits
	}
	var t sessionsv1.Turn
	raw, err := c.client.Do(c.ctx, client.Request{
		Method: http.MethodPost, Path: "/v1/sessions" + client.Path(c.args[0], "turns"), Body: body, Key: flag(c.cmd, "key"),
	}, &t)
	if err != nil {
		return err
	}
	if flag(c.cmd, "watch") == "true" {
		return watchTurn(c, t.GetId(), "", true)
	}
	return turns().printOne(c, raw)
}

// sendInput creates a turn for a chat. It retries once if the connection fails, which the key makes safe.
func sendInput(c *call, session, input string) (*sessionsv1.Turn, error) {
	req := client.Request{
		Method: http.MethodPost, Path: "/v1/sessions" + client.Path(session, "turns"), Body: map[string]any{"input": input},
		Key: ids.New(ids.Event),
	}
	var t sessionsv1.Turn
	_, err := c.client.Do(c.ctx, req, &t)
	if unreachable(err) && c.ctx.Err() == nil {
		_, err = c.client.Do(c.ctx, req, &t)
	}
	return &t, err
}

func cancelTurn(c *call) error {
	raw, err := requestCancel(c, c.args[0], flag(c.cmd, "reason"))
	if err != nil {
		return err
	}
	return turns().printOne(c, raw)
}

func requestCancel(c *call, turn, reason string) ([]byte, error) {
	body := map[string]any{}
	if reason != "" {
		body["reason"] = reason
	}
	return c.client.Do(c.ctx, client.Request{Method: http.MethodPost, Path: "/v1/turns" + client.Path(turn) + ":cancel", Body: body}, nil)
}

// watchTurn prints events until the turn ends.
func watchTurn(c *call, turn, after string, known bool) error {
	if c.format != output.Table && c.format != output.JSON {
		return app.Usage("events are printed as lines, or as JSON lines with -o json; not %q", c.format)
	}
	deltas := flag(c.cmd, "deltas") == "true" || c.format == output.JSON
	var end *turnv1.TurnEnded
	err := follow(c, turn, after, known, flag(c.cmd, "children") == "true", func(ev client.Event) error {
		if e := ev.GetTurnEnded(); e != nil && len(ev.GetAgentPath()) < 2 { // not the end of an agent that it called
			end = e
		}
		if isDelta(ev.Event) && !deltas {
			return nil
		}
		if c.format == output.JSON {
			_, err := fmt.Fprintf(c.Out, "%s\n", ev.JSON)
			return err
		}
		_, err := fmt.Fprintln(c.Out, show.EventLine(ev.Event))
		return err
	})
	if c.ctx.Err() != nil {
		c.note("The turn goes on without you. Watch it again with: %s turn watch %s", c.Self, turn)
	}
	if err != nil {
		return err
	}
	return turnResult(turn, end)
}

// follow watches a turn's events, and remembers what it asks for; known means that the server answered a moment ago.
func follow(c *call, turn, after string, known, children bool, handle func(client.Event) error) error {
	path := "/v1/turns" + client.Path(turn, "events")
	if children {
		path += "?include=children"
	}
	return c.client.Watch(c.ctx, client.Watch{
		Path: path, After: after, Known: known, Notice: c.streamBroke,
	}, func(ev client.Event) error {
		if q, ok := asked.By(ev.Event); ok {
			c.state.Remember(map[string]string{"approval": q.ID, "turn": turn})
		}
		return handle(ev)
	})
}

func (c *call) streamBroke(err error) {
	why, _, _ := strings.Cut(app.Explain(err), "\n")
	if c.Terminal {
		c.note("") // the cursor may be in the middle of a line
	}
	c.note("the stream broke (%s), connecting again…", why)
}

// turnResult returns an error for a turn that failed, was cancelled or was stopped by a limit. A nil end, of a turn that had already ended,
// is not an error.
func turnResult(turn string, end *turnv1.TurnEnded) error {
	switch end.GetStatus() {
	case turnv1.TurnStatus_TURN_STATUS_FAILED:
		return &app.TurnError{Turn: turn, Status: "failed", Problem: end.GetError().GetMessage()}
	case turnv1.TurnStatus_TURN_STATUS_CANCELLED:
		return &app.TurnError{Turn: turn, Status: "cancelled"}
	}
	if l := end.GetLimitReached(); l != nil {
		return &app.TurnError{Turn: turn, Status: "reached a limit", Problem: l.GetMessage() + "\n  " + l.GetHint()}
	}
	return nil
}

func isDelta(ev *turnv1.Event) bool {
	switch ev.GetType() {
	case "message.delta", "reasoning.delta", "tool_call.arguments.delta", "tool_call.progress":
		return true
	}
	return false
}
