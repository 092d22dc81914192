package dispatch

import (
	"errors"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"go.temporal.io/api/taskqueue/v1"

	"github.com/windlass-dev/windlass/libs/fault"
)

func TestCheckWorkers(t *testing.T) {
	now := time.Date(2026, 5, 15, 12, 0, 0, 0, time.UTC)
	poll := func(at time.Time) []*taskqueue.PollerInfo {
		return []*taskqueue.PollerInfo{{Identity: "w", LastAccessTime: timestamppb.New(at)}}
	}
	type look struct {
		after   time.Duration // since the look before
		pollers []*taskqueue.PollerInfo
		alive   bool
	}
	for _, row := range []struct {
		name  string
		looks []look
	}{
		{"none", []look{{0, nil, false}}},
		{"one", []look{{0, poll(now.Add(-time.Minute)), true}}},
		{"one that is gone", []look{{0, poll(now.Add(-2 * time.Minute)), false}}},
		{"one that ends", []look{{0, poll(now), true}, {time.Minute, poll(now), true}, {time.Minute, poll(now), false}}},
		{"one that comes back", []look{{0, poll(now.Add(-time.Hour)), false}, {time.Minute, poll(now), true}}},
		{"Temporal's clock is behind", []look{
			{0, poll(now.Add(-time.Hour)), false}, // taken for one that is gone, until it polls again
			{time.Minute, poll(now.Add(-59 * time.Minute)), true},
			{2 * time.Minute, poll(now.Add(-59 * time.Minute)), false},
		}},
		{"Temporal's clock is ahead", []look{
			{0, poll(now.Add(time.Hour)), true},
			{2 * time.Minute, poll(now.Add(time.Hour)), false},
			{time.Minute, poll(now.Add(63 * time.Minute)), true},
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := &engine{}
			clock := now
			d := &Temporal{client: e, now: func() time.Time { return clock }}
			for i, l := range row.looks {
				clock = clock.Add(l.after)
				e.pollers = l.pollers
				if err := d.CheckWorkers(t.Context()); (err == nil) != l.alive || err != nil && fault.As(err) == nil {
					t.Errorf("look %d: %v, want alive = %v", i, err, l.alive)
				}
			}
		})
	}
	if err := (&Temporal{client: &engine{err: errors.New("down")}, now: time.Now}).CheckWorkers(t.Context()); fault.As(err) == nil {
		t.Errorf("an engine that is away: %v", err)
	}
}
