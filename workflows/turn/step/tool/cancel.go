package tool

import (
	"context"
	"fmt"
	"time"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// recordTimeout bounds what is still done for a call of a cancelled turn: its result is shielded, or the registry records what a person
// said of it.
const recordTimeout = 5 * time.Second

// usage is what a round counts for. A call counts once, in the round that may have sent it first.
func usage(w *step.Work, sent bool) *turnv1.Usage {
	if !sent || contract.Sent(w.Ref.GetWait().GetKind()) {
		return &turnv1.Usage{}
	}
	return &turnv1.Usage{ToolCalls: 1}
}

// endCancelled ends the call of a turn that is cancelled, and sends nothing. What the client, a sub-agent or a person said of the call
// before the cancel was seen stands.
func (t *tool) endCancelled(ctx context.Context) (*step.Commit, error) {
	if t.Ref.GetWait() == nil {
		return t.GiveUp(nil), nil
	}
	wait, err := t.Sessions.GetWait(ctx, &executionv1.GetWaitRequest{TurnId: t.Turn.TurnID, WaitId: t.Ref.GetWait().GetId()})
	if err != nil {
		return nil, fmt.Errorf("read wait: %w", err)
	}
	r, err := t.after(wait)
	if err != nil {
		return nil, err
	}
	// ctx ends when the lease is renewed, with the cancel that is known here
	record, stop := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer stop()
	switch {
	case r.completed != nil:
		return t.concluded(record, r.completed, r.events)
	case recordsOnly(r.ask):
		return t.send(record, r.ask)
	}
	return t.GiveUp(nil), nil
}

// recordsOnly reports whether the registry only takes down what a person said of a call whose outcome was unknown.
func recordsOnly(ask *registryv1.CallToolRequest) bool {
	switch ask.GetResolution().GetVerdict() {
	case turnv1.Verdict_VERDICT_ANSWERED, turnv1.Verdict_VERDICT_GIVEN_UP:
		return true
	}
	return false
}

// unsent says what is known of a call that this attempt does not send: an earlier attempt or round may have sent it.
func unsent(w *step.Work) string {
	switch {
	case w.Ref.GetWait().GetKind() == turnv1.WaitKind_WAIT_KIND_RESOLUTION:
		return "The call was not run again"
	case w.Lease.GetAttempt() > 1, contract.Sent(w.Ref.GetWait().GetKind()):
		return "The call was not finished, and may have taken effect"
	}
	return "The call was not run"
}
