package backoff_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
)

func TestAfter(t *testing.T) {
	const s = time.Second
	for _, row := range []struct {
		name   string
		policy backoff.Policy
		want   map[int]time.Duration
	}{
		{
			"doubles up to the longest",
			backoff.Policy{First: s, Max: 10 * s},
			map[int]time.Duration{-1: s, 0: s, 1: s, 2: 2 * s, 3: 4 * s, 4: 8 * s, 5: 10 * s, 6: 10 * s, 1 << 40: 10 * s},
		},
		{
			"triples",
			backoff.Policy{First: 5 * s, Max: time.Hour, Factor: 3},
			map[int]time.Duration{1: 5 * s, 2: 15 * s, 3: 45 * s, 6: 1215 * s, 7: time.Hour, 100: time.Hour},
		},
		{"one pause", backoff.Policy{First: s, Max: s}, map[int]time.Duration{1: s, 9: s}},
		{"the first is longer than the longest", backoff.Policy{First: 2 * s, Max: s}, map[int]time.Duration{1: s, 9: s}},
		{"the longest that there is", backoff.Policy{First: 1, Max: 1<<63 - 1}, map[int]time.Duration{1: 1, 11: 1024, 1 << 40: 1<<63 - 1}},
		{"none", backoff.Policy{}, map[int]time.Duration{1: 0, 9: 0}},
	} {
		for failures, want := range row.want {
			if got := row.policy.After(failures); got != want {
				t.Errorf("%s: after %d failures: %s, want %s", row.name, failures, got, want)
			}
		}
	}
}

func TestJitter(t *testing.T) {
	p := backoff.Policy{First: time.Second, Max: 5 * time.Minute, Jitter: 0.2}
	for failures, want := range map[int]time.Duration{1: time.Second, 5: 16 * time.Second, 10: 5 * time.Minute} {
		seen := map[time.Duration]bool{}
		for range 50 {
			got := p.After(failures)
			if got < want*4/5 || got > want*6/5+1 {
				t.Fatalf("after %d failures: %s, want about %s", failures, got, want)
			}
			seen[got] = true
		}
		if len(seen) == 1 {
			t.Errorf("after %d failures: always the same", failures)
		}
	}
}

func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		p := backoff.Policy{First: time.Second, Max: 4 * time.Second}.Start()
		for _, want := range []int{1, 3, 7, 11} {
			if err := p.Wait(t.Context()); err != nil || time.Since(begin) != time.Duration(want)*time.Second {
				t.Fatalf("after %s: %v, want %d s", time.Since(begin), err, want)
			}
		}
		p.Reset()
		if got := p.Next(); got != time.Second {
			t.Errorf("after a reset: %s", got)
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second/2, errors.New("enough"))
		defer cancel()
		if err := p.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 11*time.Second+time.Second/2 {
			t.Errorf("cut after %s: %v", time.Since(begin), err)
		}
		if err := backoff.Sleep(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("sleep without a context: %v", err)
		}
		if err := backoff.Sleep(t.Context(), 0); err != nil {
			t.Errorf("sleep for no time: %v", err)
		}
	})
}
