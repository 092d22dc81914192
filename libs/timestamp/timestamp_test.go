package timestamp_test

import (
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/timestamp"
)

func TestOf(t *testing.T) {
	if got := timestamp.Of(time.Time{}); got != nil {
		t.Errorf("no time: %v", got)
	}
	for _, at := range []time.Time{time.Unix(0, 0), time.Unix(-1, 5), time.Date(2026, 2, 3, 4, 5, 6, 7, time.FixedZone("", 3600))} {
		if got := timestamp.Of(at); !got.AsTime().Equal(at) {
			t.Errorf("%v: %v", at, got)
		}
	}
}

func TestOfMicros(t *testing.T) {
	if got := timestamp.OfMicros(0); got != nil {
		t.Errorf("no time: %v", got)
	}
	for _, us := range []int64{1, -1, 1795171200123456} {
		if got := timestamp.OfMicros(us); got.AsTime().UnixMicro() != us {
			t.Errorf("%d: %v", us, got)
		}
	}
}
