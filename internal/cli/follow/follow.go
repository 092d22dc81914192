// Package follow follows the events of a turn, and says how it ended.
package follow

import (
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/question"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Options say what is followed.
type Options struct {
	// Turn is the id of the turn. After is a cursor; events that follow it are read, all if it is empty.
	Turn, After string
	// Known means that the server answered a moment ago: the first connection is retried too.
	Known bool
	// Children adds the events of the agents that the turn calls.
	Children bool
}

// Turn calls handle with the events of a turn until it ends, and remembers what the turn asks for. A broken stream is resumed.
func Turn(c *command.Call, o Options, handle func(client.Event) error) error {
	path := client.TurnEvents(o.Turn)
	if o.Children {
		path += "?include=children"
	}
	return c.Client.Watch(c.Ctx, client.Watch{
		Path: path, After: o.After, Known: o.Known, Notice: c.StreamBroke,
	}, func(ev client.Event) error {
		if q, ok := question.By(ev.Event); ok {
			c.State.Remember(map[string]string{"approval": q.ID, "turn": o.Turn})
		}
		return handle(ev)
	})
}

// Result returns an error for a turn that failed, was cancelled or was stopped by a limit. A nil end, of a turn that had already ended,
// is not an error.
func Result(turn string, end *turnv1.TurnEnded) error {
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
