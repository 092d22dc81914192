package share_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/bus/bustest"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/services/inference/health"
	"github.com/windlass-dev/windlass/services/inference/health/share"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var key = health.Subject{Kind: health.Key, Name: "a/main", Mark: "1"}

// clock is a time that the test sets, for all replicas.
type clock struct{ past atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.past.Load())) }

func (c *clock) pass(d time.Duration) { c.past.Add(int64(d)) }

// replica is a table that is shared.
type replica struct {
	*health.Table
	bus  *bus.Bus
	stop func()
}

func newReplica(t *testing.T, url string, c *clock) *replica {
	t.Helper()
	b, err := bus.Open(t.Context(), bus.Config{URL: url, Key: []byte("the key of this mesh"), Credentials: bus.NoCredentials})
	if err != nil {
		t.Fatal(err)
	}
	s := share.New(b, slog.New(slog.DiscardHandler))
	r := &replica{Table: health.New(c.now, s), bus: b}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx, r.Table); err != nil {
			t.Error(err)
		}
	})
	r.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

// pair returns two replicas that share what they know.
func pair(t *testing.T, c *clock) (url string, one, two *replica) {
	t.Helper()
	url = bustest.Foreign(t)
	one, two = newReplica(t, url, c), newReplica(t, url, c)
	for i, r := range []*replica{one, two} {
		probe := health.Subject{Kind: health.Target, Name: "probe/" + string(rune('0'+i))}
		r.Refused(probe, "probe", 0)
		other := []*replica{two, one}[i]
		testpoll.Until(t, "the replicas are connected", func() bool { return other.State(probe).Status == health.Dead })
	}
	return url, one, two
}

func admitted(r *replica) bool {
	ok, _ := r.Admit(key)
	return ok
}

func status(r *replica) health.Status { return r.State(key).Status }

func TestReplicasShareStates(t *testing.T) {
	t.Parallel()
	c := &clock{}
	url, one, two := pair(t, c)
	one.Refused(key, "revoked", 0)
	testpoll.Until(t, "the other replica knows it", func() bool { return status(two) == health.Dead })
	if s := two.State(key); s.Reason != "revoked" || s.Failures != 1 {
		t.Errorf("got %v", s)
	}
	three := newReplica(t, url, c)
	testpoll.Until(t, "one that starts later knows it", func() bool { return status(three) == health.Dead })
	if !three.Reset(key.Name) {
		t.Error("nothing to reset")
	}
	testpoll.Until(t, "the reset is shared", func() bool { return status(one) == health.Healthy && status(two) == health.Healthy })
	if !admitted(one) || !admitted(two) {
		t.Error("a healthy key is not called")
	}
}

func TestOneCallIsMadeAfterCooling(t *testing.T) {
	t.Parallel()
	c := &clock{}
	_, one, two := pair(t, c)
	for round := range 5 {
		one.Failed(key, "slowly", time.Minute)
		testpoll.Until(t, "the other replica knows it", func() bool { return two.State(key).Failures == one.State(key).Failures })
		if admitted(one) || admitted(two) {
			t.Fatal("called while it cools down")
		}
		c.pass(time.Minute)
		var calls atomic.Int32
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				if admitted([]*replica{one, two}[i%2]) {
					calls.Add(1)
				}
			})
		}
		all.Wait()
		if n := calls.Load(); n != 1 {
			t.Fatalf("round %d: %d calls after cooling", round, n)
		}
	}
}

func TestWhatIsNotedWithoutTheBusIsSharedLater(t *testing.T) {
	t.Parallel()
	c := &clock{}
	url, one, two := pair(t, c)
	two.stop() // its bus is away
	two.Failed(key, "slowly", time.Minute)
	if admitted(two) || !admitted(one) {
		t.Error("without the bus, each replica knows what it has seen itself")
	}
	c.pass(time.Minute)
	if !admitted(two) || admitted(two) {
		t.Error("without the bus, one call of the replica is made after cooling")
	}
	again := newReplica(t, url, c)
	again.Refused(key, "revoked", 0) // perhaps before it is connected
	testpoll.Until(t, "the first replica knows it", func() bool { return status(one) == health.Dead })
}
