package runner

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/workflows/turn/step"
)

func TestPauseAfter(t *testing.T) {
	again := func(delay time.Duration) error { return &step.RetryError{Err: errors.New("busy"), Delay: delay} }
	for _, tc := range []struct {
		err     error
		attempt uint32
		want    time.Duration
	}{
		{again(0), 0, 200 * time.Millisecond},
		{again(0), 1, 200 * time.Millisecond},
		{again(0), 2, 400 * time.Millisecond},
		{again(0), 5, 3200 * time.Millisecond},
		{again(0), 6, 5 * time.Second},
		{again(0), math.MaxUint32, 5 * time.Second},
		{again(time.Minute), 9, time.Minute},
		{again(2 * time.Hour), 1, time.Hour},
		{nil, 3, 0},
		{errors.New("final"), 3, 0},
	} {
		if got := pauseAfter(tc.err, tc.attempt); got != tc.want {
			t.Errorf("attempt %d after %v: %s, want %s", tc.attempt, tc.err, got, tc.want)
		}
	}
}
