package turn

import (
	"go.temporal.io/sdk/workflow"

	"github.com/windlass-dev/windlass/workflows/contract"
)

// signals counts the signals and cancels of a workflow.
type signals struct {
	received  int // all of them
	wakes     int // those that announce something new in the journal
	handled   int // of wakes, those that the newest read of the journal covers
	cancelled bool
}

// receiveSignals receives the signals of ctx, and its cancel, until the workflow ends.
func receiveSignals(ctx, detached workflow.Context) *signals {
	s := &signals{}
	cancels := workflow.GetSignalChannelWithOptions(ctx, contract.SignalCancel, workflow.SignalChannelOptions{
		Description: "Stop the turn gracefully: the output so far is kept.",
	})
	wakes := workflow.GetSignalChannelWithOptions(ctx, contract.SignalWake, workflow.SignalChannelOptions{
		Description: "Read the journal: a wait was answered, or the turn was given more input. " +
			"A parked turn receives it by signal-with-start only.",
	})
	workflow.GoNamed(detached, "signals", func(waiting workflow.Context) {
		for {
			next := workflow.NewSelector(waiting).AddReceive(wakes, func(c workflow.ReceiveChannel, _ bool) {
				c.Receive(waiting, nil)
				s.wakes++
			})
			if !s.cancelled {
				next.AddReceive(cancels, func(c workflow.ReceiveChannel, _ bool) {
					c.Receive(waiting, nil)
					s.cancelled = true
				}).AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) { s.cancelled = true })
			}
			next.Select(waiting)
			s.received++
		}
	})
	return s
}

// pending reports whether the journal has to be read because of a wake.
func (s *signals) pending() bool { return s.wakes > s.handled }

// handle notes that the journal is read now.
func (s *signals) handle() { s.handled = s.wakes }

// drain receives the signals of the current workflow task. After it, a signal that arrives later makes the server reject the end of this
// run, so that none is lost.
func (s *signals) drain(ctx workflow.Context) error {
	drained := false
	// A coroutine that is started now runs after the one that receives signals.
	workflow.GoNamed(ctx, "drain", func(workflow.Context) { drained = true })
	return workflow.Await(ctx, func() bool { return drained })
}
