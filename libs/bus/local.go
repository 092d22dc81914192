package bus

import (
	"fmt"
	"slices"
	"sync"

	"github.com/nats-io/nats-server/v2/server/gsl"
)

// memberBacklog is how many messages may wait for a worker in this process; what comes then is lost.
const memberBacklog = 1 << 12

// local hands messages around in this process: nobody else can reach an embedded server that does not listen, so what it would pass on to
// subscribers goes to them directly, in the order of publishing, and the server gets only what it is to keep. That spares some goroutines
// between a token, or the end of a turn, and whoever waits for it.
type local struct {
	receivers *gsl.GenericSublist[receiver]
	kept      *gsl.SimpleSublist

	mu      sync.Mutex
	members map[*member]struct{}
	closed  bool
}

// receiver gets messages. It must not block.
type receiver interface{ deliver(m Msg) }

func newLocal() *local {
	return &local{receivers: gsl.NewSublist[receiver](), kept: gsl.NewSimpleSublist(), members: map[*member]struct{}{}}
}

// keep has the messages of a subject go to the server too.
func (l *local) keep(subject string) error {
	if err := l.kept.Insert(subject, struct{}{}); err != nil {
		return fmt.Errorf("keep %s: %w", subject, err)
	}
	return nil
}

// publish gives a message to all that want it, of each queue group to one member.
func (l *local) publish(m Msg) {
	var room [8]receiver
	to := room[:0]
	l.receivers.Match(m.Subject, func(r receiver) { // in random order; who receives may leave, which Match does not allow
		w, grouped := r.(*member)
		if grouped = grouped && w.queue != ""; !grouped || !slices.ContainsFunc(to, w.sharesWith) {
			to = append(to, r)
		}
	})
	for _, r := range to {
		r.deliver(m)
	}
}

// enter has r get the messages of a subject from now on, until leave is called.
func (l *local) enter(subject string, r receiver) (leave func(), err error) {
	if err := l.receivers.Insert(subject, r); err != nil {
		return nil, err
	}
	return func() { _ = l.receivers.Remove(subject, r) }, nil // fails only if it is out already
}

// member calls a handler for its messages, one after the other, in a goroutine of its own. Without a queue it gets every message.
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

// join makes a member, until leave is called.
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

// close ends all members. A handler that runs just then goes on.
func (l *local) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for w := range l.members {
		w.stop()
	}
}
