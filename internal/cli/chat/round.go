package chat

import (
	"context"
	"errors"
	"fmt"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/follow"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/question"
	"github.com/windlass-dev/windlass/internal/cli/show"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// round is one turn of a chat while it is shown.
type round struct {
	ch   *chat
	turn string
	view *show.View
	// prompts is nil where nobody can be asked; waits is the approval that was asked for last.
	prompts *prompts
	waits   string
	end     *turnv1.TurnEnded
}

// errUnread means that a question was asked and nothing more can be read.
var errUnread = errors.New("nothing more can be read")

// follow shows the turn until it ends, or until it waits for a person who cannot be asked.
func (r *round) follow() error {
	c := *r.ch.Call
	ctx, stop := context.WithCancelCause(c.Ctx)
	defer stop(nil)
	c.Ctx = ctx
	if r.ch.Interactive && r.ch.lines != nil && c.Format == output.Table {
		r.prompts = r.ch.newPrompts(func() { stop(errUnread) })
		defer r.prompts.close()
	}
	err := follow.Turn(&c, follow.Options{Turn: r.turn, Known: true, Children: true}, r.event)
	if errors.Is(context.Cause(ctx), errUnread) {
		err = r.cannotAsk()
	}
	if _, waits := errors.AsType[*app.WaitingError](err); err != nil && !waits {
		if r.ch.Ctx.Err() != nil {
			c.Note("Turn %s goes on without you. Watch it again with: %s turn watch %s", r.turn, c.Self, r.turn)
		}
		return err
	}
	if c.Format != output.Table {
		err = errors.Join(c.Noun("turn").Show(r.ch.Call, r.turn), err)
	}
	return err
}

func (r *round) event(ev client.Event) error {
	q, asks := question.By(ev.Event)
	if asks {
		r.waits = q.ID
	}
	own := len(ev.GetAgentPath()) < 2
	if e := ev.GetTurnEnded(); e != nil && own {
		r.end = e
	}
	// Of the agents that the turn calls only what they ask for is shown.
	if r.ch.Format == output.Table && (own || asks || question.Ended(ev.Event) != "") {
		if err := r.view.Event(ev.Event); err != nil {
			return err
		}
	}
	switch {
	case r.prompts != nil:
		r.prompts.event(ev.Event)
	case ev.GetTurnPaused() != nil && ev.GetTurnPaused().GetWaitingFor() != turnv1.WaitKind_WAIT_KIND_CHILD:
		return r.cannotAsk()
	}
	return nil
}

// cannotAsk returns the error for a turn that waits for a person where nobody can be question.
func (r *round) cannotAsk() error {
	return &app.WaitingError{Turn: r.turn, Problem: fmt.Sprintf(
		"nobody can be asked here.\n  Answer with: %s decide %s ANSWER\n  and go on with: %s turn watch %s",
		r.ch.Self, r.waits, r.ch.Self, r.turn)}
}
