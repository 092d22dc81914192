package outbox

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// TestTriggersComeAtTheirTimes: each TriggerAfter has the outbox read at its time, in whatever order they were asked for.
func TestTriggersComeAtTheirTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(Config{MaxStarting: 1}, nil, nil, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var loop sync.WaitGroup
		loop.Go(func() { o.alarm(ctx) })
		begin := time.Now()
		for _, d := range []time.Duration{2 * time.Hour, time.Millisecond, time.Second, time.Second} {
			o.TriggerAfter(d)
		}
		for _, want := range []time.Duration{time.Millisecond, time.Second, 2 * time.Hour} {
			<-o.now
			if got := time.Since(begin); got != want {
				t.Errorf("read after %s, want %s", got, want)
			}
		}
		cancel()
		loop.Wait()
	})
}

// TestNothingBlocksWithoutRun: callers do not wait for an outbox that does not run, however much they ask of it.
func TestNothingBlocksWithoutRun(t *testing.T) {
	o := New(Config{MaxStarting: 1}, nil, nil, nil)
	for range 2 * maxJobs {
		o.Trigger()
		o.TriggerAfter(time.Second)
		o.Cancel("trn_1")
	}
}
