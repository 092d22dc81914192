package lane_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/libs/lane"
)

func TestWorkThatHangsMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var free atomic.Int64
		l := lane.New(lane.Config{Size: 2, Beside: 3, Patience: time.Second, Free: func() { free.Add(1) }})
		over := make(chan struct{})
		start := func() (n int) {
			for l.TryGo(func() { <-over }) {
				n++
			}
			return n
		}
		// Two are young; then two are old, beside which two begin; then one of four old ones counts, then two of five.
		for i, want := range []int{2, 2, 1, 0} {
			if n := start(); n != want {
				t.Errorf("after %d s %d begin, want %d", i, n, want)
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if n := free.Load(); n != 5 {
			t.Errorf("told %d times that there is room", n)
		}
		close(over)
		l.Wait()
		synctest.Wait()
		if n := free.Load(); n != 10 {
			t.Errorf("told %d times that there is room", n)
		}
		if n := start(); n != 2 {
			t.Errorf("at the end %d begin", n)
		}
		l.Wait()
	})
}

func TestWorkThatIsOverInTimeNeverCountsAsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lane.New(lane.Config{Size: 1, Beside: 0, Patience: time.Second, Free: func() {}})
		for range 5 {
			if !l.TryGo(func() { time.Sleep(time.Second / 2) }) {
				t.Error("there is no room")
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
	})
}
