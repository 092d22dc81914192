// Package receivers shares the slots for deliveries among those who receive them, so that receivers which do not answer never take all.
package receivers

import (
	"sync"
	"time"

	"github.com/windlass-dev/windlass/services/sessions/store"
)

const (
	// maxRest bounds how long a receiver that did not answer is left alone.
	maxRest = 30 * time.Second
	// maxKept bounds what is remembered of receivers to which nothing is under way.
	maxKept = 10_000
)

// Shares decides who is sent the next delivery. A receiver that answered its last one may be sent as many at once as each may; one of which nothing
// is known, or that did not answer, a single one. Those that did not answer get at most half of the slots together, and with those of which
// nothing is known at most three quarters: the rest is for receivers that answer. Safe for concurrent use.
type Shares struct {
	slots, each int
	rest        time.Duration // after the first failure; each further one is three times as long
	now         func() time.Time

	mu sync.Mutex
	of map[store.Receiver]*share
}

// share is what is known of a receiver.
type share struct {
	sending  int
	answers  bool // it answered its last delivery
	failures int  // in a row
	until    time.Time
}

// New shares slots, of which no receiver gets more than each. rest is how long a receiver that did not answer is left alone at first.
func New(slots, each int, rest time.Duration) *Shares {
	return &Shares{slots: slots, each: each, rest: rest, now: time.Now, of: map[store.Receiver]*share{}}
}

// Next says who may be sent the next delivery; false when all slots are taken.
func (s *Shares) Next() (store.Choice, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	total, failing, unproven := 0, 0, 0
	for _, r := range s.of {
		total += r.sending
		if !r.answers {
			unproven += r.sending
		}
		if r.failures > 0 {
			failing += r.sending
		}
	}
	if total >= s.slots {
		return store.Choice{}, false
	}
	choice := store.Choice{OnlyThese: unproven >= max(s.slots*3/4, 1)}
	now := s.now()
	for receiver, r := range s.of {
		free := r.sending < s.each
		if !r.answers {
			free = r.sending == 0 && !now.Before(r.until) && (r.failures == 0 || failing < max(s.slots/2, 1))
		}
		switch {
		case choice.OnlyThese && free && r.answers && len(choice.These) < store.MaxChoice:
			choice.These = append(choice.These, receiver)
		case !choice.OnlyThese && !free:
			choice.Not = append(choice.Not, receiver)
		}
	}
	return choice, true
}

// Begin takes a slot for a delivery.
func (s *Shares) Begin(receiver store.Receiver) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.of[receiver]
	if r == nil {
		s.forgetSome()
		r = &share{}
		s.of[receiver] = r
	}
	r.sending++
}

// End gives a slot back. known says whether the attempt says something about the receiver, answered what.
func (s *Shares) End(receiver store.Receiver, known, answered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.of[receiver]
	r.sending--
	switch {
	case known && answered:
		*r = share{sending: r.sending, answers: true}
	case known:
		rest := s.rest
		for range min(r.failures, 20) {
			rest = min(3*rest, maxRest)
		}
		r.answers, r.failures, r.until = false, r.failures+1, s.now().Add(min(rest, maxRest))
	case r.sending == 0 && !r.answers && r.failures == 0:
		delete(s.of, receiver)
	}
}

// forgetSome makes room. The caller holds mu.
func (s *Shares) forgetSome() {
	if len(s.of) < maxKept {
		return
	}
	for receiver, r := range s.of {
		if r.sending == 0 {
			delete(s.of, receiver)
		}
	}
}
