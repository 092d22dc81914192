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

func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fairness.New(16, 4, 5*time.Second)
		good, fresh := named("good"), named("fresh")
		s.Acquire(good)
		if allowed(s, good) {
			t.Error("a receiver of which nothing is known is sent two at once")
		}
		s.Release(good, true, true)
		var dead []webhookdb.Receiver
		for i := range 40 {
			dead = append(dead, named(fmt.Sprint("dead-", i)))
		}
		begin := func() (n int) {
			for _, r := range dead {
				if allowed(s, r) {
					s.Acquire(r)
					n++
				}
			}
			return n
		}
		if n := begin(); n != 12 || allowed(s, fresh) || !allowed(s, good) {
			t.Errorf("receivers of which nothing is known take %d of 16 slots, want 12", n)
		}
		for range 4 {
			s.Acquire(good)
		}
		if allowed(s, good) {
			t.Error("a 17th slot")
		}
		for range 4 {
			s.Release(good, true, true)
		}
		for _, r := range dead[:12] {
			s.Release(r, true, false)
		}
		if allowed(s, dead[0]) || !allowed(s, fresh) {
			t.Error("one that did not answer is not left alone, or one of which nothing is known is not tried")
		}
		time.Sleep(5 * time.Second)
		dead = dead[:12]
		if n := begin(); n != 8 || !allowed(s, fresh) || !allowed(s, good) {
			t.Errorf("those that do not answer take %d of 16 slots, want 8", n)
		}
		s.Release(dead[0], true, true)
		if !allowed(s, dead[0]) {
			t.Error("one that answers again is not sent more")
		}
		s.Acquire(fresh)
		s.Release(fresh, false, false) // interrupted
		if !allowed(s, fresh) {
			t.Error("an attempt of which nothing is known counts")
		}
	})
}
