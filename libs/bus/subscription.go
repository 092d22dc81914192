package bus

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

var (
	// ErrOverflow ended a subscription because its reader was too slow.
	ErrOverflow = errors.New("reader too slow: messages were lost")
	// ErrGap ended a subscription because the connection was interrupted.
	ErrGap = errors.New("connection interrupted: messages may be lost")
)

// Msg is one message.
type Msg struct {
	// Subject is where it was published.
	Subject string
	// Data is the payload. It must not be changed: other receivers may have the same.
	Data []byte
	// Seq is the number in the kept stream, increasing but not contiguous per subject; 0 for live messages.
	Seq uint64
	// Time is when it was kept; zero for live messages.
	Time time.Time
}

// Subscription is a stream of live messages for one reader.
type Subscription struct {
	bus *Bus
	c   chan Msg

	mu    sync.Mutex
	leave func() // nil until it is known
	err   error
}

// Subscribe delivers what is published to subject (wildcards * and > allowed) from now on; buf messages may wait for the reader, at
// least one. While the bus is away it succeeds and takes effect once it is back. The server knows of it after Flush.
// To miss nothing: subscribe, Flush, catch up from the truth, then read the channel and drop what was seen; with a cluster catch up once more after Spread.
func (b *Bus) Subscribe(subject string, buf int) (*Subscription, error) {
	s := &Subscription{bus: b, c: make(chan Msg, max(buf, 1))}
	if !b.register(s) { // first: a reconnect or a close in between must find it
		return nil, fmt.Errorf("subscribe %s: %w", subject, ErrClosed)
	}
	leave, err := b.enter(subject, s)
	if err != nil {
		s.end(err)
		return nil, fmt.Errorf("subscribe %s: %w", subject, classify(err))
	}
	s.mu.Lock()
	s.leave = leave
	ended := s.err != nil
	s.mu.Unlock()
	if ended { // before it knew how to leave
		leave()
	}
	return s, nil
}

// register adds a subscription to those that end with the bus; false when it is over already.
func (b *Bus) register(s *Subscription) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing {
		return false
	}
	b.subs[s] = struct{}{}
	return true
}

// enter has a subscription get the messages of a subject until leave is called.
func (b *Bus) enter(subject string, s *Subscription) (leave func(), err error) {
	if b.local != nil && !b.nc.IsClosed() {
		return b.local.enter(subject, s)
	}
	sub, err := b.nc.Subscribe(subject, func(m *nats.Msg) {
		if b.genuine(m.Subject, m) {
			s.deliver(Msg{Subject: m.Subject, Data: m.Data})
		}
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = sub.Unsubscribe() }, nil // fails only if the connection is gone, and with it the subscription
}

// C returns the channel of messages. It is closed when the subscription ends, after which Err says why. After ErrOverflow and ErrGap the
// reader subscribes again and catches up.
func (s *Subscription) C() <-chan Msg { return s.c }

// Err says why the subscription ended: ErrOverflow, ErrGap or ErrClosed; nil while it lives.
func (s *Subscription) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Overflowed tells whether messages were lost because the reader was too slow.
func (s *Subscription) Overflowed() bool { return errors.Is(s.Err(), ErrOverflow) }

// Close ends the subscription and closes its channel. It is safe to call more than once and from any goroutine.
func (s *Subscription) Close() { s.end(ErrClosed) }

// deliver runs in a publisher's goroutine, or in the client library's, and must never block it.
func (s *Subscription) deliver(m Msg) {
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return
	}
	select {
	case s.c <- m:
		s.mu.Unlock()
	default:
		s.mu.Unlock()
		s.end(ErrOverflow)
	}
}

func (s *Subscription) end(reason error) {
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return
	}
	s.err = reason
	close(s.c) // senders hold the lock and look at err first
	leave := s.leave
	s.mu.Unlock()
	if leave != nil {
		leave()
	}
	s.bus.mu.Lock()
	delete(s.bus.subs, s)
	s.bus.mu.Unlock()
}

// Worker is a member of a queue group.
type Worker struct{ leave func() }

// QueueSubscribe has handler called for the messages of subject that this member of the queue group gets: each message goes to one member.
// Calls come one after the other, so a handler hands long work on. It survives reconnects; messages sent meanwhile are lost.
func (b *Bus) QueueSubscribe(subject, queue string, handler func(Msg)) (*Worker, error) {
	if b.local != nil {
		leave, err := b.local.join(subject, queue, handler)
		if err != nil {
			return nil, fmt.Errorf("subscribe %s as %s: %w", subject, queue, err)
		}
		return &Worker{leave}, nil
	}
	sub, err := b.nc.QueueSubscribe(subject, queue, func(m *nats.Msg) {
		if b.genuine(m.Subject, m) {
			handler(Msg{Subject: m.Subject, Data: m.Data})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe %s as %s: %w", subject, queue, classify(err))
	}
	return &Worker{func() { _ = sub.Unsubscribe() }}, nil // fails only if the connection is gone, and with it the membership
}

// Close leaves the group. A call of the handler that is under way goes on.
func (w *Worker) Close() { w.leave() }
