package child

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// TestWaitingForAChildIsBounded takes every slot: another file is not refused, but for now.
func TestWaitingForAChildIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Work{}, 2)
		var releases []func()
		for range cap(r.slots) {
			release, err := r.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			releases = append(releases, release)
		}
		began := time.Now()
		if _, err := r.Acquire(t.Context()); fault.ReasonOf(err) != faultv1.Reason_REASON_UNAVAILABLE || time.Since(began) != maxWait {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		releases[0]()
		if _, err := r.Acquire(t.Context()); err != nil {
			t.Errorf("after another file: %v", err)
		}
	})
}
