package infer

import (
	"sync"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// chunk is one piece of what a model says.
type chunk struct {
	what   chunkKind
	callID string // of arguments
	tool   string // of arguments
	text   string
}

type chunkKind int

const (
	textChunk chunkKind = iota
	reasoningChunk
	argumentsChunk
)

// deltas publishes a message's deltas, numbered from 1: the first at once, then what came within each pause as one per kind. So the
// reader sees the first token without delay, and a fast model does not flood the bus.
type deltas struct {
	publish   func(*turnv1.Event)
	messageID string
	pause     time.Duration

	mu      sync.Mutex
	n       uint32
	first   time.Time
	last    time.Time
	pending []chunk
	timer   *time.Timer    // runs while something is pending
	fired   sync.WaitGroup // functions of timers that may still run
}

// add takes a piece. It never blocks on a reader.
func (d *deltas) add(c chunk) {
	if c.text == "" && c.what != argumentsChunk {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.first.IsZero() {
		d.first = time.Now()
	}
	if n := len(d.pending); n > 0 && d.pending[n-1].what == c.what && d.pending[n-1].callID == c.callID {
		d.pending[n-1].text += c.text
	} else {
		d.pending = append(d.pending, c)
	}
	switch wait := d.pause - time.Since(d.last); {
	case d.timer != nil:
	case wait <= 0:
		d.flush()
	default:
		d.fired.Add(1)
		d.timer = time.AfterFunc(wait, func() {
			defer d.fired.Done()
			d.mu.Lock()
			defer d.mu.Unlock()
			d.flush()
		})
	}
}

// close publishes what is pending and returns how many deltas there were, and when the first came (zero: never). Nothing is published
// afterwards.
func (d *deltas) close() (uint32, time.Time) {
	d.mu.Lock()
	d.flush()
	d.mu.Unlock()
	d.fired.Wait()
	return d.n, d.first
}

// flush publishes what is pending. The caller holds the lock.
func (d *deltas) flush() {
	if d.timer != nil && d.timer.Stop() {
		d.fired.Done()
	}
	d.timer = nil
	if len(d.pending) == 0 {
		return
	}
	for _, c := range d.pending {
		d.n++
		e := d.event(c)
		e.Delta = d.n
		d.publish(e)
	}
	d.pending, d.last = d.pending[:0], time.Now()
}

func (d *deltas) event(c chunk) *turnv1.Event {
	e := &turnv1.Event{}
	switch c.what {
	case reasoningChunk:
		e.Type = "reasoning.delta"
		e.Data = &turnv1.Event_ReasoningDelta{ReasoningDelta: &turnv1.ReasoningDelta{MessageId: d.messageID, Text: c.text}}
	case argumentsChunk:
		e.Type = "tool_call.arguments.delta"
		e.Data = &turnv1.Event_ToolCallArgumentsDelta{ToolCallArgumentsDelta: &turnv1.ToolCallArgumentsDelta{
			MessageId: d.messageID, CallId: c.callID, Tool: c.tool, Text: c.text,
		}}
	default:
		e.Type = "message.delta"
		e.Data = &turnv1.Event_MessageDelta{MessageDelta: &turnv1.MessageDelta{MessageId: d.messageID, Text: c.text}}
	}
	return e
}
