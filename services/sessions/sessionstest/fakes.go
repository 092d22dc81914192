package sessionstest

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"google.golang.org/grpc"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/outbox"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Engine keeps the workflows of turns in memory; it implements outbox.Engine and turn.Engine.
type Engine struct {
	mu      sync.Mutex
	states  map[string]outbox.WorkflowState
	starts  []outbox.Turn
	wakes   []string
	cancels []string
	fail    error
	workers error
	changed chan struct{}
}

// NewEngine returns an engine without workflows.
func NewEngine() *Engine {
	return &Engine{states: map[string]outbox.WorkflowState{}, changed: make(chan struct{})}
}

// Start implements outbox.Engine.
func (e *Engine) Start(_ context.Context, t outbox.Turn) error {
	return e.call(func() {
		e.starts = append(e.starts, t)
		if e.states[t.TurnID] != outbox.WorkflowClosed || t.Again {
			e.states[t.TurnID] = outbox.WorkflowOpen
		}
	})
}

// Cancel implements outbox.Engine.
func (e *Engine) Cancel(_ context.Context, turnID string) error {
	return e.call(func() { e.cancels = append(e.cancels, turnID) })
}

// Wake implements outbox.Engine.
func (e *Engine) Wake(_ context.Context, t outbox.Turn) (open bool, err error) {
	err = e.call(func() {
		e.wakes = append(e.wakes, t.TurnID)
		if e.states[t.TurnID] == 0 {
			e.states[t.TurnID] = outbox.WorkflowOpen
		}
		open = e.states[t.TurnID] == outbox.WorkflowOpen
	})
	return open, err
}

// CheckWorkers implements turn.Engine.
func (e *Engine) CheckWorkers(context.Context) (err error) {
	failed := e.call(func() { err = e.workers })
	return cmp.Or(failed, err)
}

// Lose has CheckWorkers return an error.
func (e *Engine) Lose(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.workers = err
}

// State implements turn.Engine.
func (e *Engine) State(_ context.Context, turnID string) (state outbox.WorkflowState, err error) {
	err = e.call(func() {
		if state = e.states[turnID]; state == 0 {
			state = outbox.WorkflowMissing
		}
	})
	return state, err
}

// Set changes what became of a turn's workflow.
func (e *Engine) Set(turnID string, state outbox.WorkflowState) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.states[turnID] = state
}

// Fail has all calls fail from now on; nil has them succeed again.
func (e *Engine) Fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fail = err
}

// Started returns the workflows that were started, in order.
func (e *Engine) Started() []outbox.Turn {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.starts)
}

// Woken returns the turns whose workflows were woken, in order.
func (e *Engine) Woken() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.wakes)
}

// Cancelled returns the turns whose workflows were cancelled, in order.
func (e *Engine) Cancelled() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.cancels)
}

// Changed returns a channel that is closed with the next call.
func (e *Engine) Changed() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.changed
}

func (e *Engine) call(f func()) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	close(e.changed)
	e.changed = make(chan struct{})
	if e.fail != nil {
		return e.fail
	}
	f()
	return nil
}

// Bus remembers what was published.
type Bus struct {
	mu   sync.Mutex
	said map[string][][]byte
	fail error
}

// Publish implements the bus.
func (b *Bus) Publish(subject string, data []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return b.fail
	}
	if b.said == nil {
		b.said = map[string][][]byte{}
	}
	b.said[subject] = append(b.said[subject], data)
	return nil
}

// Fail has all calls fail from now on; nil has them succeed again.
func (b *Bus) Fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = err
}

// Said returns what was published on a subject.
func (b *Bus) Said(subject string) [][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.said[subject])
}

// Notifier records the ends and waits that webhooks would be notified of; it implements turn.Notifier, turn.Webhooks and wait.Notifier.
type Notifier struct {
	mu    sync.Mutex
	ended []store.Turn
	waits []store.Wait
	// Err is what all calls return.
	Err error
}

// TurnEnded implements turn.Notifier.
func (n *Notifier) TurnEnded(tx *journal.Tx, t store.Turn) error {
	tx.After(func(context.Context) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.ended = append(n.ended, t)
	})
	return n.Err
}

// WaitStarted implements wait.Notifier.
func (n *Notifier) WaitStarted(tx *journal.Tx, _ store.Turn, w store.Wait) error {
	tx.After(func(context.Context) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.waits = append(n.waits, w)
	})
	return n.Err
}

// CheckTurnAddress implements turn.Webhooks.
func (n *Notifier) CheckTurnAddress(context.Context, string, string) error { return n.Err }

// Ended returns the turns whose end was notified.
func (n *Notifier) Ended() []store.Turn {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.ended)
}

// Waits returns the waits whose start was notified.
func (n *Notifier) Waits() []store.Wait {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.waits)
}

// rules accepts all approval rules; it implements agent.ApprovalChecker.
type rules struct{}

func (rules) CheckApprovalRules(
	context.Context, *policyv1.CheckApprovalRulesRequest, ...grpc.CallOption,
) (*policyv1.CheckApprovalRulesResponse, error) {
	return &policyv1.CheckApprovalRulesResponse{}, nil
}
