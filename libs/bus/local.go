package bus

import (
	"fmt"
	"slices"
	"sync"

	"github.com/nats-io/nats-server/v2/server/gsl"
)

// memberBacklog is the number of messages queued per worker in this process; further ones are lost.
const memberBacklog = 1 << 12

// local delivers messages within this process. If no other process can reach the embedded server, messages go directly to subscribers in
// publishing order, and the server gets only those to keep. That saves goroutine switches between a token, or the end of a turn, and its
// reader.
type local struct {
	receivers *gsl.GenericSublist[receiver]
	kept      *gsl.SimpleSublist

	mu      sync.Mutex
	members map[*member]struct{}
	closed  bool
}

// receiver gets messages. deliver must not block.
type receiver interface{ deliver(m Msg) }

func newLocal() *local {
	return &local{receivers: gsl.NewSublist[receiver](), kept: gsl.NewSimpleSublist(), members: map[*member]struct{}{}}
}

// keep sends the messages of a subject to the server too.
func (l *local) keep(subject string) error {
	if err := l.kept.Insert(subject, struct{}{}); err != nil {
		return fmt.Errorf("keep %s: %w", subject, err)
	}
	return nil
}

// publish delivers a message to all matching receivers, and to one member of each queue group.
func (l *local) publish(m Msg) {
	var room [8]receiver
	to := room[:0]
	l.receivers.Match(m.Subject, func(r receiver) { // in random order; a receiver may unsubscribe, which Match does not allow
		w, grouped := r.(*member)
		if grouped = grouped && w.queue != ""; !grouped || !slices.ContainsFunc(to, w.sharesWith) {
			to = append(to, r)
		}
	})
	for _, r := range to {
		r.deliver(m)
	}
}

// enter delivers the messages of a subject to r until leave is called.
func (l *local) enter(subject string, r receiver) (leave func(), err error) {
	if err := l.receivers.Insert(subject, r); err != nil {
		return nil, err
	}
	return func() { _ = l.receivers.Remove(subject, r) }, nil // fails only if it is already removed
}

// member calls a handler for its messages one at a time, in its own goroutine. Without a queue it gets every message.
type member struct {
	subject, queue string
	messages       chan Msg
	gone           chan struct{}
	once           sync.Once
}

func (w *member) sharesWith(r receiver) bool {
	other, ok := r.(*member)
	return ok && other.queue == w.queue && other.subject == w.subject
}

func (w *member) deliver(m Msg) {
	select {
	case w.messages <- m:
	default: // a bus may lose messages
	}
}

func (w *member) stop() { w.once.Do(func() { close(w.gone) }) }

func (w *member) left() bool {
	select {
	case <-w.gone:
		return true
	default:
		return false
	}
}

func (w *member) work(handler func(Msg)) {
	for {
		select {
		case <-w.gone:
			return
		case m := <-w.messages:
			if w.left() { // both may be ready
				return
			}
			handler(m)
		}
	}
}

// join creates a member, which gets messages until leave is called.
func (l *local) join(subject, queue string, handler func(Msg)) (leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	w := &member{subject: subject, queue: queue, messages: make(chan Msg, memberBacklog), gone: make(chan struct{})}
	out, err := l.enter(subject, w)
	if err != nil {
		return nil, err
	}
	l.members[w] = struct{}{}
	go w.work(handler)
	return func() {
		out()
		w.stop()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.members, w)
	}, nil
}

// close ends all members. Handlers that are running finish.
func (l *local) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for w := range l.members {
		w.stop()
	}
}
