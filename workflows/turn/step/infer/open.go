package infer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/stack"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/plan"
)

// opened is a model call that is made while its step is being claimed. What the model says is kept until the step is held.
type opened struct {
	cancel context.CancelFunc
	// ready is closed when prompt and asked are set; prompt is nil if the model is not asked. done is closed when end and err are.
	ready, done chan struct{}
	prompt      *prompt
	asked       time.Time
	end         *inferencev1.Finished
	err         error

	mu   sync.Mutex
	said []*inferencev1.GenerateResponse
	add  func(*inferencev1.GenerateResponse) // nil until the step is held
}

// Open implements step.Opener: it asks the model. The rounds of executors and of routed and planned turns are not begun early.
func (i *infer) Open(ctx context.Context) (drop func()) {
	if contract.Hosted(i.Loaded.GetAgent()) || plan.Routes(i.Work) || i.Ref.GetPlan() != nil || i.Memory == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	o := &opened{cancel: cancel, ready: make(chan struct{}), done: make(chan struct{})}
	i.opened = o
	go func() {
		stack.Grow()
		defer close(o.done)
		defer func() {
			if p := recover(); p != nil {
				o.err = &step.RetryError{Err: fmt.Errorf("panic: %v", p)}
			}
		}()
		if i.ready(ctx, o) {
			o.end, o.err = i.answerer()(ctx, i.Work, o.prompt.request, o.take)
		}
	}()
	return func() {
		cancel()
		<-o.done
	}
}

// ready makes the prompt of a call. It fails if the runner does not have the conversation: the journal lacks what is being committed. Then,
// and after an error, Do makes the prompt.
func (i *infer) ready(ctx context.Context, o *opened) bool {
	defer close(o.ready)
	history := i.Memory.Recall(i.Ref.GetKey())
	if history == nil || awaitsFiles(history.GetMessages()) {
		return false
	}
	p, err := i.newPrompt(ctx, history)
	if err != nil {
		return false
	}
	faultpoint.Hit(faultpoint.InferOpened)
	o.prompt, o.asked = &p, time.Now()
	return true
}

// awaitsFiles reports whether a conversation ends with results that have files: they are stored with the step that may be being committed.
func awaitsFiles(messages []*turnv1.Message) bool {
	for _, m := range slices.Backward(messages) {
		switch {
		case m.GetToolResult() == nil:
			return false
		case slices.ContainsFunc(m.GetToolResult().GetContent(), isFile):
			return true
		}
	}
	return false
}

// take keeps what the model says, or passes it on.
func (o *opened) take(m *inferencev1.GenerateResponse) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.add != nil {
		o.add(m)
		return
	}
	o.said = append(o.said, m)
}

// made waits until the model is asked, and reports whether it is. The end of ctx breaks that off.
func (o *opened) made(ctx context.Context) bool {
	select {
	case <-o.ready:
	case <-ctx.Done():
		o.cancel()
		<-o.ready
	}
	return o.prompt != nil
}

// follow is the model.Ask that continues the call.
func (o *opened) follow(
	ctx context.Context, _ *step.Work, _ *inferencev1.GenerateRequest, add func(*inferencev1.GenerateResponse),
) (*inferencev1.Finished, error) {
	o.mu.Lock()
	for _, m := range o.said {
		add(m)
	}
	o.said, o.add = nil, add
	o.mu.Unlock()
	select {
	case <-o.done:
	case <-ctx.Done():
		o.cancel()
		<-o.done
	}
	return o.end, o.err
}
