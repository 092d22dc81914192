package inventory

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/services/registry/store"
)

// due reports whether the source is taken now, in a full round or not.
func due(p *plan, all bool) bool { return len(p.take(time.Now(), all)) == 1 }

func TestPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlan(Config{Every: 30 * time.Second, FirstRetry: time.Second})
		s := store.Source{ID: "src_1", Tenant: "default"}
		sync := func(err error) {
			p.begin(s)
			p.end(s, err)
		}
		p.know([]store.Source{s, {ID: "src_2", Disabled: true}})
		if due(p, false) || !due(p, true) {
			t.Error("a new source belongs to the round")
		}

		away := errors.New("away")
		for i, wait := range []int{1, 2, 4, 8, 16, 30, 30} { // doubles, up to the round's time
			sync(away)
			time.Sleep(time.Duration(wait)*time.Second - 1)
			if due(p, true) {
				t.Errorf("failure %d: tried again too early", i)
			}
			time.Sleep(time.Nanosecond)
			if !due(p, false) {
				t.Errorf("failure %d: not tried again after %d s", i, wait)
			}
		}

		sync(away)
		p.soon(s.ID, false)
		if due(p, false) {
			t.Error("a call that failed hurries a source that waits for its retry")
		}
		p.soon(s.ID, true)
		if !due(p, false) {
			t.Error("the server's own word counts at once")
		}

		sync(nil)
		p.connected(s.ID)
		if due(p, false) {
			t.Error("our own connection is no news")
		}
		time.Sleep(quiet)
		p.connected(s.ID)
		if !due(p, false) {
			t.Error("a connection that we did not make is news")
		}

		p.begin(s)
		p.soon(s.ID, true)
		if due(p, true) {
			t.Error("two syncs at once")
		}
		p.end(s, nil)
		if !due(p, false) {
			t.Error("the list changed during the look: look again")
		}

		p.postpone(s.ID, time.Now())
		if !due(p, false) {
			t.Error("postponed, and forgotten")
		}
		p.know(nil)
		if due(p, true) {
			t.Error("a deleted source is looked at")
		}
		p.soon(s.ID, true) // unknown source: no effect
		p.connected(s.ID)
	})
}
