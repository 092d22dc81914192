// Package fairness divides the slots for deliveries among receivers, so that receivers which do not answer never occupy all of them.
package fairness

import (
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/services/sessions/store/webhookdb"
)

const (
	// maxBackoff bounds how long a receiver that did not answer is skipped.
	maxBackoff = 30 * time.Second
	// maxTracked bounds the receivers that are remembered without an attempt in flight.
	maxTracked = 10_000
)

// Slots decides who is eligible for the next delivery. A receiver that answered its last one may have as many attempts in flight
// as perReceiver; an unproven one, which did not answer or was never sent anything, a single one. Those that did not answer get
// at most half of the slots together, and all that are unproven at most three quarters: the rest is for receivers that answer.
// Safe for concurrent use.
type Slots struct {
	total, perReceiver int
	backoff            backoff.Policy
	now                func() time.Time

	mu        sync.Mutex
	receivers map[webhookdb.Receiver]*state
}

// state is what is known of a receiver.
type state struct {
	inFlight int
	answers  bool // it answered its last delivery
	failures int  // in a row
	until    time.Time
}

// New divides total slots, of which no receiver gets more than perReceiver. firstBackoff is how long a receiver is skipped after its
// first failure; it triples with each further one.
func New(total, perReceiver int, firstBackoff time.Duration) *Slots {
	skipped := backoff.Policy{First: firstBackoff, Max: maxBackoff, Factor: 3}
	return &Slots{total: total, perReceiver: perReceiver, backoff: skipped, now: time.Now, receivers: map[webhookdb.Receiver]*state{}}
}

// Next returns who is eligible for the next delivery; false when all slots are taken.
func (s *Slots) Next() (webhookdb.ReceiverFilter, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	used, failing, unproven := 0, 0, 0
	for _, r := range s.receivers {
		used += r.inFlight
		if !r.answers {
			unproven += r.inFlight
		}
		if r.failures > 0 {
			failing += r.inFlight
		}
	}
	if used >= s.total {
		return webhookdb.ReceiverFilter{}, false
	}
	filter := webhookdb.ReceiverFilter{OnlyListed: unproven >= max(s.total*3/4, 1)}
	now := s.now()
	for receiver, r := range s.receivers {
		free := r.inFlight < s.perReceiver
		if !r.answers {
			free = r.inFlight == 0 && !now.Before(r.until) && (r.failures == 0 || failing < max(s.total/2, 1))
		}
		switch {
		case filter.OnlyListed && free && r.answers && len(filter.Listed) < webhookdb.MaxListed:
			filter.Listed = append(filter.Listed, receiver)
		case !filter.OnlyListed && !free:
			filter.Excluded = append(filter.Excluded, receiver)
		}
	}
	return filter, true
}

// Acquire takes a slot for a delivery.
func (s *Slots) Acquire(receiver webhookdb.Receiver) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.receivers[receiver]
	if r == nil {
		s.evict()
		r = &state{}
		s.receivers[receiver] = r
	}
	r.inFlight++
}

// Release returns a slot. attempted reports whether the outcome says something about the receiver, and answered what.
func (s *Slots) Release(receiver webhookdb.Receiver, attempted, answered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.receivers[receiver]
	r.inFlight--
	switch {
	case attempted && answered:
		*r = state{inFlight: r.inFlight, answers: true}
	case attempted:
		r.answers, r.failures = false, r.failures+1
		r.until = s.now().Add(s.backoff.After(r.failures))
	case r.inFlight == 0 && !r.answers && r.failures == 0:
		delete(s.receivers, receiver)
	}
}

// evict makes room for another receiver. The caller holds mu.
func (s *Slots) evict() {
	if len(s.receivers) < maxTracked {
		return
	}
	for receiver, r := range s.receivers {
		if r.inFlight == 0 {
			delete(s.receivers, receiver)
		}
	}
}
