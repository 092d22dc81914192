package tool

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func TestEventsOfASlowCallAreWrittenWhileItRuns(t *testing.T) {
	for name, row := range map[string]struct {
		runs          time.Duration
		err           error
		written, left int
	}{
		"a quick call":                 {runs: time.Millisecond, left: 2},
		"a slow call":                  {runs: time.Second, written: 1, left: 1},
		"a journal that cannot be had": {runs: time.Second, err: errors.New("away"), written: 1, left: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				written := 0
				l := &eventLog{write: func(events []*turnv1.Event) error {
					written += len(events)
					return row.err
				}}
				l.add(&turnv1.Event{})
				l.writeAfter(50 * time.Millisecond)
				l.writeAfter(time.Hour) // there is one timer
				time.Sleep(row.runs)
				synctest.Wait()
				l.add(&turnv1.Event{})
				if got := len(l.take()); got != row.left {
					t.Errorf("%d events are left, want %d", got, row.left)
				}
				l.take() // a second time, as when the call panics
				l.writeAfter(time.Millisecond)
				time.Sleep(time.Hour)
				if written != row.written {
					t.Errorf("%d events were written, want %d", written, row.written)
				}
			})
		})
	}
}
