package infer

import (
	"context"
	"strings"
	"sync"
	"time"
)

// settle returns the parts of the beginnings of a text and of its reasoning that no continuation changes, as shields leave them.
type settle func(ctx context.Context, text, reasoning string) (string, string, error)

// held holds back what a model says until shields have settled it, and passes on the settled part. It never makes the model wait.
type held struct {
	out    *deltas
	settle settle          // nil: nothing settles before the end
	end    func()          // ends a check under way
	under  sync.WaitGroup  // the loop
	ctx    context.Context // of the checks, which are made beside the stream

	mu                      sync.Mutex
	text, reasoning         strings.Builder
	checked                 int // bytes of both that a check has seen
	running, closed         bool
	sentText, sentReasoning string
}

// newHeld returns one that publishes to out. A nil settle holds everything back until the end.
func newHeld(ctx context.Context, out *deltas, s settle) *held {
	h := &held{out: out, settle: s}
	h.ctx, h.end = context.WithCancel(ctx)
	return h
}

// add takes a piece. Arguments of calls are not published: the message may be withheld with its calls.
func (h *held) add(c chunk) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch c.what {
	case textChunk:
		h.text.WriteString(c.text)
	case reasoningChunk:
		h.reasoning.WriteString(c.text)
	default:
		return
	}
	if h.settle != nil && !h.running && !h.closed {
		h.running = true
		h.under.Go(h.loop)
	}
}

// share is how many times as long as a check takes the loop rests, so that long answers do not cost more and more.
const share = 3

// loop checks as long as there is something new.
func (h *held) loop() {
	for {
		h.mu.Lock()
		if n := h.text.Len() + h.reasoning.Len(); n == h.checked || h.closed {
			h.running = false
			h.mu.Unlock()
			return
		}
		text, reasoning := h.text.String(), h.reasoning.String()
		h.checked = len(text) + len(reasoning)
		h.mu.Unlock()
		began := time.Now()
		text, reasoning, err := h.settle(h.ctx, text, reasoning)
		if err == nil { // else the whole is checked at the end
			h.publish(text, reasoning)
		}
		rest := time.NewTimer(max(h.out.pause, share*time.Since(began)))
		select {
		case <-h.ctx.Done():
		case <-rest.C:
		}
		rest.Stop()
	}
}

// publish passes on what of the texts was not passed on before. It passes on nothing that does not go on from there.
func (h *held) publish(text, reasoning string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if more, ok := strings.CutPrefix(reasoning, h.sentReasoning); ok {
		h.out.add(chunk{what: reasoningChunk, text: more})
		h.sentReasoning = reasoning
	}
	if more, ok := strings.CutPrefix(text, h.sentText); ok {
		h.out.add(chunk{what: textChunk, text: more})
		h.sentText = text
	}
}

// stop ends the checks. Nothing is published afterwards, except by publish.
func (h *held) stop() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.end()
	h.under.Wait()
}
