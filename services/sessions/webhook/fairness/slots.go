// Package fairness divides the slots for deliveries among receivers, so that receivers which do not answer never occupy all of them.
package fairness

import (
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/services/sessions/store/webhookdb"
)

const (
	// Patience is how long an attempt occupies a slot. One that takes longer runs beside the slots.
	Patience = 250 * time.Millisecond
	// beside is how many attempts may run beside the slots, as a multiple of their number. Those beyond it occupy slots again.
	beside = 4
	// maxBackoff bounds how long a receiver that did not answer is skipped.
	maxBackoff = 30 * time.Second
	// maxTracked bounds the receivers that are remembered without an attempt in flight.
	maxTracked = 10_000
)

// Slots decides who is eligible for the next delivery. A receiver that answered its last one may have as many attempts in flight
// as perReceiver; an unproven one, which did not answer or was never sent anything, a single one. Those that did not answer get
// at most half of the slots together, and all that are unproven at most three quarters: the rest is for receivers that answer.
// While many attempts take longer than Patience, no receiver gets more than one, and those that did not answer before get none.
// Safe for concurrent use.
type Slots struct {
	total, perReceiver int
	backoff            backoff.Policy
	now                func() time.Time

	mu        sync.Mutex
	receivers map[webhookdb.Receiver]*state
	taken     map[*Slot]struct{}
}

// Slot is that of one attempt.
type Slot struct {
	receiver webhookdb.Receiver
	begun    time.Time
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
	return &Slots{
		total: total, perReceiver: perReceiver, backoff: skipped, now: time.Now, receivers: map[webhookdb.Receiver]*state{},
		taken: map[*Slot]struct{}{},
	}
}

// use is how the slots are used.
type use struct {
	used, failing, unproven int
	// crowded: many attempts run beside the slots.
	crowded bool
}

// use counts. The caller holds mu.
func (s *Slots) use(now time.Time) use {
	var u use
	slow := 0
	for slot := range s.taken {
		if now.Sub(slot.begun) >= Patience {
			slow++
			continue
		}
		u.used++
		r := s.receivers[slot.receiver]
		if !r.answers {
			u.unproven++
		}
		if r.failures > 0 {
			u.failing++
		}
	}
	over := max(slow-beside*s.total, 0)
	u.used, u.unproven = u.used+over, u.unproven+over
	u.crowded = slow >= beside*s.total/2
	return u
}

// Next returns who is eligible for the next delivery; false when all slots are taken.
func (s *Slots) Next() (webhookdb.ReceiverFilter, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	u := s.use(now)
	if u.used >= s.total {
		return webhookdb.ReceiverFilter{}, false
	}
	filter := webhookdb.ReceiverFilter{OnlyListed: u.unproven >= max(s.total*3/4, 1)}
	most := s.perReceiver
	if u.crowded {
		most = 1
	}
	for receiver, r := range s.receivers {
		free := r.inFlight < most
		if !r.answers {
			free = r.inFlight == 0 && !now.Before(r.until) && (r.failures == 0 || u.failing < max(s.total/2, 1) && !u.crowded)
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

// Acquire takes a slot for a delivery. Next may say more once Patience has passed.
func (s *Slots) Acquire(receiver webhookdb.Receiver) *Slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.receivers[receiver]
	if r == nil {
		s.evict()
		r = &state{}
		s.receivers[receiver] = r
	}
	r.inFlight++
	slot := &Slot{receiver, s.now()}
	s.taken[slot] = struct{}{}
	return slot
}

// Release returns a slot. attempted reports whether the outcome says something about the receiver, and answered what.
func (s *Slots) Release(slot *Slot, attempted, answered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.taken, slot)
	r := s.receivers[slot.receiver]
	r.inFlight--
	switch {
	case attempted && answered:
		*r = state{inFlight: r.inFlight, answers: true}
	case attempted:
		r.answers, r.failures = false, r.failures+1
		r.until = s.now().Add(s.backoff.After(r.failures))
	case r.inFlight == 0 && !r.answers && r.failures == 0:
		delete(s.receivers, slot.receiver)
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
