package fairness_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/services/sessions/store/webhookdb"
	"github.com/windlass-dev/windlass/services/sessions/webhook/fairness"
)

func named(name string) webhookdb.Receiver {
	return webhookdb.Receiver{Tenant: "default", WebhookID: name}
}

// allowed reports whether a receiver may be sent a delivery now.
func allowed(s *fairness.Slots, r webhookdb.Receiver) bool {
	filter, ok := s.Next()
	if filter.OnlyListed {
		return ok && slices.Contains(filter.Listed, r)
	}
	return ok && !slices.Contains(filter.Excluded, r)
}

// taken are the slots of a test.
type taken struct {
	*fairness.Slots

	of map[webhookdb.Receiver][]*fairness.Slot
}

func slots(total, perReceiver int) taken {
	return taken{fairness.New(total, perReceiver, 5*time.Second), map[webhookdb.Receiver][]*fairness.Slot{}}
}

func (s taken) acquire(r webhookdb.Receiver) { s.of[r] = append(s.of[r], s.Acquire(r)) }

func (s taken) release(r webhookdb.Receiver, attempted, answered bool) {
	s.Release(s.of[r][0], attempted, answered)
	s.of[r] = s.of[r][1:]
}

// begin takes slots for those of the receivers that may be sent a delivery, one after the other, and returns how many they are.
func (s taken) begin(receivers []webhookdb.Receiver) (n int) {
	for _, r := range receivers {
		if allowed(s.Slots, r) {
			s.acquire(r)
			n++
		}
	}
	return n
}

func several(name string, n int) (out []webhookdb.Receiver) {
	for i := range n {
		out = append(out, named(fmt.Sprint(name, "-", i)))
	}
	return out
}

func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slots(16, 4)
		good, fresh := named("good"), named("fresh")
		s.acquire(good)
		if allowed(s.Slots, good) {
			t.Error("a receiver of which nothing is known is sent two at once")
		}
		s.release(good, true, true)
		dead := several("dead", 40)
		if n := s.begin(dead); n != 12 || allowed(s.Slots, fresh) || !allowed(s.Slots, good) {
			t.Errorf("receivers of which nothing is known take %d of 16 slots, want 12", n)
		}
		for range 4 {
			s.acquire(good)
		}
		if allowed(s.Slots, good) {
			t.Error("a 17th slot")
		}
		for range 4 {
			s.release(good, true, true)
		}
		for _, r := range dead[:12] {
			s.release(r, true, false)
		}
		if allowed(s.Slots, dead[0]) || !allowed(s.Slots, fresh) {
			t.Error("one that did not answer is not left alone, or one of which nothing is known is not tried")
		}
		time.Sleep(5 * time.Second)
		dead = dead[:12]
		if n := s.begin(dead); n != 8 || !allowed(s.Slots, fresh) || !allowed(s.Slots, good) {
			t.Errorf("those that do not answer take %d of 16 slots, want 8", n)
		}
		s.release(dead[0], true, true)
		if !allowed(s.Slots, dead[0]) {
			t.Error("one that answers again is not sent more")
		}
		s.acquire(fresh)
		s.release(fresh, false, false) // interrupted
		if !allowed(s.Slots, fresh) {
			t.Error("an attempt of which nothing is known counts")
		}
	})
}

// TestAReceiverThatWasNeverTriedIsSentItsFirstDeliveryWhileOthersHang: of forty, none of which ever answered.
func TestAReceiverThatWasNeverTriedIsSentItsFirstDeliveryWhileOthersHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slots(32, 4)
		dead, fresh := several("dead", 40), named("fresh")
		if n := s.begin(dead); n != 24 || allowed(s.Slots, fresh) {
			t.Errorf("%d begin", n)
		}
		time.Sleep(fairness.Patience)
		if n := s.begin(dead); n != 16 || !allowed(s.Slots, fresh) {
			t.Errorf("%d more begin", n)
		}
	})
}

// TestReceiversThatStopToAnswerLeaveSlotsToOthers: forty that answered until now and have many deliveries.
func TestReceiversThatStopToAnswerLeaveSlotsToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slots(32, 4)
		dead, good := several("dead", 40), named("good")
		for _, r := range append(dead, good) {
			s.acquire(r)
			s.release(r, true, true)
		}
		for i := range 30 { // while they hang
			for s.begin(dead) > 0 {
			}
			time.Sleep(fairness.Patience)
			if !allowed(s.Slots, good) {
				t.Fatalf("the good one is sent nothing at round %d", i)
			}
			s.acquire(good)
			s.release(good, true, true)
		}
		total := 0
		for _, slots := range s.of {
			total += len(slots)
		}
		if total > 5*32 {
			t.Errorf("%d attempts are in flight", total)
		}
	})
}

func TestAttemptsThatHangAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slots(8, 4)
		fresh, total := several("fresh", 1000), 0
		for range 30 {
			for _, r := range fresh {
				if len(s.of[r]) == 0 && allowed(s.Slots, r) {
					s.acquire(r)
					total++
				}
			}
			time.Sleep(fairness.Patience)
		}
		if total < 4*8 || total > 5*8 {
			t.Errorf("%d attempts are in flight", total)
		}
		good := named("good")
		s.acquire(good)
		s.release(good, true, true)
		if !allowed(s.Slots, good) {
			t.Error("one that answers is sent nothing")
		}
	})
}
