package bus

import (
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"
)

var (
	// ErrOverflow means that the subscription ended because its reader was too slow.
	ErrOverflow = errors.New("reader too slow: messages were lost")
	// ErrGap means that the subscription ended because the connection was interrupted.
	ErrGap = errors.New("connection interrupted: messages may be lost")
)

// Msg is one message.
type Msg struct {
	// Subject is where it was published.
	Subject string
	// Data is the payload. It must not be modified: other receivers may share it.
	Data []byte
}

// Subscription is a stream of live messages for one reader.
type Subscription struct {
	bus *Bus
	c   chan Msg

	mu    sync.Mutex
	leave func() // nil until subscribed
	err   error
}

// Subscribe delivers what is published to subject (wildcards * and > allowed) from now on. buf is the number of messages that may wait for
// the reader, at least one. While the bus is unreachable, Subscribe succeeds and takes effect on reconnect. The server knows of the
// subscription after Flush.
//
// To miss nothing: subscribe, Flush, catch up from the database, then read the channel and drop what was already seen; with a cluster,
// catch up once more after Spread.
func (b *Bus) Subscribe(subject string, buf int) (*Subscription, error) {
	s := &Subscription{bus: b, c: make(chan Msg, max(buf, 1))}
	if !b.register(s) { // first, so that a concurrent reconnect or Close finds it
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
	if ended { // it ended before leave was set
		leave()
	}
	return s, nil
}

// register adds a subscription to those that end with the bus. It returns false if the bus is closing.
func (b *Bus) register(s *Subscription) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing {
		return false
	}
	b.subs[s] = struct{}{}
	return true
}

// enter delivers the messages of a subject to s until leave is called.
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
	return func() { _ = sub.Unsubscribe() }, nil // fails only if the connection is gone, and the subscription with it
}

// C returns the channel of messages. It is closed when the subscription ends; Err then returns the cause. After ErrOverflow or ErrGap the
// reader should subscribe again and catch up.
func (s *Subscription) C() <-chan Msg { return s.c }

// Err returns why the subscription ended: ErrOverflow, ErrGap or ErrClosed; nil while it is active.
func (s *Subscription) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Overflowed reports whether messages were lost because the reader was too slow.
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
	close(s.c) // senders hold the lock and check err first
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

// QueueSubscribe calls handler for the messages that this member of the queue group gets; each message goes to one member. Calls are
// sequential, so a handler should hand off long work. The membership survives reconnects; messages sent in between are lost.
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
	return &Worker{func() { _ = sub.Unsubscribe() }}, nil // fails only if the connection is gone, and the membership with it
}

// Close leaves the group. A handler call in progress finishes.
func (w *Worker) Close() { w.leave() }
