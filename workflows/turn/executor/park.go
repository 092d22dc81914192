package executor

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	executorv1 "github.com/windlass-dev/windlass/proto/gen/windlass/executor/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// errStale means that no executor waits for the round, or that the one that did is gone.
var errStale = errors.New("no executor waits")

// parked is an executor that waits for the results of its calls.
type parked struct {
	link  link
	calls []*turnv1.ToolCall
	hash  string // of the executor
	since time.Time
	timer *time.Timer
}

// park keeps an executor until the next round of its turn. One that waits longer than the idle time is ended; the next round then starts
// a new one.
func (h *Host) park(r Round, l link, answer *Answer) {
	if f, ok := l.(*fresh); ok {
		l = f.link
	}
	turn := r.Invocation.GetTurnId()
	p := &parked{link: l, calls: answer.Calls, hash: identity(r), since: time.Now()}
	h.mu.Lock()
	old := h.parked[turn] // none: a turn has one round at a time
	if h.closed || h.waiting > 0 {
		old = p
	} else {
		h.parked[turn] = p
		p.timer = time.AfterFunc(h.cfg.IdleTimeout, func() {
			if h.take(turn, p) {
				h.drop(p)
			}
		})
	}
	h.mu.Unlock()
	if old != nil {
		h.drop(old)
	}
}

func identity(r Round) string {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(r.Executor)
	if err != nil { // it came from a message
		return ""
	}
	return string(raw)
}

// take takes an executor out of those that wait, and reports whether it was there. A nil p stands for whichever waits.
func (h *Host) take(turn string, p *parked) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.parked[turn] != p {
		return false
	}
	delete(h.parked, turn)
	if p.timer != nil {
		p.timer.Stop()
	}
	return true
}

// Forget ends an executor that waits for a round of a turn that will not come.
func (h *Host) Forget(turn string) {
	h.mu.Lock()
	p := h.parked[turn]
	h.mu.Unlock()
	if p != nil && h.take(turn, p) {
		h.drop(p)
	}
}

// drop ends an executor that was taken, without blocking the caller.
func (h *Host) drop(p *parked) {
	if p.timer != nil {
		p.timer.Stop()
	}
	h.ending.Go(func() {
		p.link.finish()
		h.leave()
	})
}

// dropOldest makes room for one that works.
func (h *Host) dropOldest() {
	h.mu.Lock()
	turn, oldest := "", (*parked)(nil)
	for t, p := range h.parked {
		if oldest == nil || p.since.Before(oldest.since) {
			turn, oldest = t, p
		}
	}
	h.mu.Unlock()
	if oldest != nil && h.take(turn, oldest) {
		h.drop(oldest)
	}
}

// resume continues with an executor that waits for exactly these results. An executor that another worker's round has overtaken is ended.
func (h *Host) resume(ctx context.Context, r Round, sink Sink) (*Answer, error) {
	turn := r.Invocation.GetTurnId()
	h.mu.Lock()
	p := h.parked[turn]
	h.mu.Unlock()
	if p == nil || !h.take(turn, p) {
		return nil, errStale
	}
	same := func(a, b *turnv1.ToolCall) bool {
		asked := proto.CloneOf(b)
		asked.Tainted = a.GetTainted() // our mark, which the executor does not know
		return proto.Equal(a, asked)
	}
	if !slices.EqualFunc(p.calls, r.Asked, same) || p.hash != identity(r) || r.Invocation.GetAttempt() > 1 {
		p.link.cut()
		h.leave()
		return nil, errStale
	}
	waiting := &fresh{link: p.link}
	if waiting.tell(r.Invocation) != nil {
		p.link.cut()
		h.leave()
		return nil, errStale
	}
	answer, err := h.run(ctx, waiting, r, sink)
	if err != nil && !waiting.heard && ctx.Err() == nil { // it was gone already, or went without a word
		return nil, errStale
	}
	return answer, err
}

// fresh is a link on which nothing was received yet in this round.
type fresh struct {
	link
	heard bool
}

// tell sends what a new invocation would have contained.
func (f *fresh) tell(in *executorv1.Invocation) error {
	var all []*executorv1.RunRequest
	for _, r := range in.GetToolResults() {
		all = append(all, &executorv1.RunRequest{Request: &executorv1.RunRequest_ToolResult{ToolResult: r}})
	}
	for _, m := range in.GetInput() {
		all = append(all, &executorv1.RunRequest{Request: &executorv1.RunRequest_Input{Input: m}})
	}
	all = append(all, &executorv1.RunRequest{Request: &executorv1.RunRequest_Continue{
		Continue: &executorv1.Continue{InvocationId: in.GetInvocationId(), Attempt: in.GetAttempt()},
	}})
	for _, req := range all {
		if err := f.send(req); err != nil {
			return err
		}
	}
	return nil
}

func (f *fresh) recv() (*executorv1.RunResponse, error) {
	e, err := f.link.recv()
	f.heard = f.heard || err == nil
	if errors.Is(err, io.EOF) && !f.heard {
		return nil, errStale
	}
	return e, err
}
