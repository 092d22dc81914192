package refclock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/libs/refclock"
)

// reference is a clock that is an hour behind the local one.
func reference() time.Time { return time.Now().Add(-time.Hour) }

// observe reads the reference in the middle of a round trip.
func observe(c *refclock.Clock, there, back time.Duration) {
	before := c.Local()
	time.Sleep(there)
	at := reference()
	time.Sleep(back)
	c.Observe(at, before, c.Local())
}

// off returns the distance of the clock from the reference.
func off(c *refclock.Clock) time.Duration { return c.Now().Sub(reference()).Abs() }

func TestItTellsTheTimeOfTheReference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := refclock.New(nil)
		if !c.Stale(time.Hour) || !c.Now().Equal(time.Now().UTC()) {
			t.Errorf("without an observation: stale %t, %v", c.Stale(time.Hour), c.Now())
		}
		observe(c, 300*time.Millisecond, 100*time.Millisecond)
		if off(c) > c.Error() || c.Error() > 200*time.Millisecond {
			t.Errorf("off by %v, said at most %v", off(c), c.Error())
		}
		time.Sleep(time.Second)
		observe(c, time.Millisecond, time.Millisecond)
		if narrow := c.Error(); off(c) > narrow || narrow > 2*time.Millisecond {
			t.Errorf("after a short round trip: off by %v, said at most %v", off(c), narrow)
		}
		time.Sleep(time.Second)
		observe(c, 10*time.Second, 0) // a slow reading does not widen the estimate
		if off(c) > 20*time.Millisecond {
			t.Errorf("after a long round trip: off by %v", off(c))
		}
		if c.Stale(time.Second) {
			t.Error("stale right after an observation")
		}
		if time.Sleep(2 * time.Second); !c.Stale(time.Second) {
			t.Error("not stale after two seconds")
		}
	})
}

// TestALocalClockThatIsSet: the next observation counts, whichever way the local clock was set.
func TestALocalClockThatIsSet(t *testing.T) {
	for name, step := range map[string]time.Duration{"forward": 48 * time.Hour, "back": -48 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wrong := time.Duration(0)
				c := refclock.New(func() time.Time { return time.Now().Add(wrong).Round(0) })
				observe(c, time.Millisecond, time.Millisecond)
				if wrong = step; !c.Stale(time.Hour * 24) {
					t.Error("not stale after the clock was set")
				}
				observe(c, time.Millisecond, time.Millisecond)
				if off(c) > 2*time.Millisecond {
					t.Errorf("off by %v", off(c))
				}
			})
		})
	}
}
