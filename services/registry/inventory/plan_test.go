package inventory

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/services/registry/store"
)

// due reports whether the source is taken now.
func due(p *plan) bool { return len(p.take(time.Now())) == 1 }

func TestPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlan(Config{Every: 30 * time.Second, FirstRetry: time.Second})
		s := store.Source{ID: "src_1", Tenant: "default"}
		sync := func(err error) {
			p.begin(s)
			p.end(s, err)
		}
		p.know([]store.Source{s, {ID: "src_2", Disabled: true}})
		if !due(p) || due(p) {
			t.Error("a new source is taken once")
		}

		away := errors.New("away")
		for i, wait := range []int{1, 2, 4, 8, 16, 30, 30} { // doubles, up to the interval
			sync(away)
			time.Sleep(time.Duration(wait)*time.Second - 1)
			if due(p) {
				t.Errorf("failure %d: tried again too early", i)
			}
			time.Sleep(time.Nanosecond)
			if !due(p) {
				t.Errorf("failure %d: not tried again after %d s", i, wait)
			}
		}

		sync(nil)
		p.know([]store.Source{s})
		time.Sleep(30*time.Second - 1)
		if due(p) {
			t.Error("synced again before the interval is over")
		}
		time.Sleep(time.Nanosecond)
		if !due(p) {
			t.Error("not synced again after the interval")
		}

		sync(away)
		p.soon(s.ID, false)
		if due(p) {
			t.Error("a call that failed hurries a source that waits for its retry")
		}
		p.soon(s.ID, true)
		if !due(p) {
			t.Error("the server's own word counts at once")
		}

		sync(nil)
		p.connected(s.ID)
		if due(p) {
			t.Error("our own connection is no news")
		}
		time.Sleep(quiet)
		p.connected(s.ID)
		if !due(p) {
			t.Error("a connection that we did not make is news")
		}

		p.begin(s)
		p.soon(s.ID, true)
		if due(p) {
			t.Error("two syncs at once")
		}
		p.end(s, nil)
		if !due(p) {
			t.Error("the list changed during the look: look again")
		}

		p.postpone(s.ID, time.Now())
		if !due(p) {
			t.Error("postponed, and forgotten")
		}
		p.know(nil)
		if due(p) {
			t.Error("a deleted source is looked at")
		}
		p.soon(s.ID, true) // unknown source: no effect
		p.connected(s.ID)
	})
}
