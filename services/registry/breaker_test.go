package registry_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/enum"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// TestARestartIsWaitedFor: a call of any class that was not sent is tried until its source is back, and the breaker stays closed.
func TestARestartIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	cfg := config()
	cfg.BreakerFailures, cfg.RestartPatience = 3, time.Minute
	r := w.start(cfg)
	r.notes()
	for _, tool := range []string{"notes__send", "notes__read"} {
		var attempts atomic.Int32
		w.bridge.set(func() {
			w.bridge.call = func(ctx context.Context, req *mcpbridgev1.CallToolRequest, on func(float64, float64, string),
			) (*mcpbridgev1.CallToolResult, error) {
				if attempts.Add(1) < 8 {
					return nil, unreachable()
				}
				return newBridge().call(ctx, req, on)
			}
		})
		if s := r.call(t.Context(), r.request(tool, tool)); s.text() != "ok" || attempts.Load() != 8 {
			t.Errorf("%s: %+v %q after %d attempts", tool, s, s.text(), attempts.Load())
		}
		if row := r.row(tool); enum.Name(row.GetState()) != "done" || row.GetAttempts() != 1 {
			t.Errorf("row %v", row)
		}
	}
	src, err := r.sources.GetSource(t.Context(), &registryv1.GetSourceRequest{SourceId: "notes"})
	if err != nil || src.GetBreaker() != "closed" {
		t.Errorf("the breaker is %s, %v", src.GetBreaker(), err)
	}
}

// TestASourceThatIsAwayFailsFast: an unreachable source fails at once until a sync reaches it.
func TestASourceThatIsAwayFailsFast(t *testing.T) {
	w := newWorld(t)
	cfg := config()
	cfg.BreakerFailures = 3
	r := w.start(cfg)
	r.notes()
	w.bridge.set(func() {
		w.bridge.discover = unreachable()
		w.bridge.call = func(context.Context, *mcpbridgev1.CallToolRequest, func(float64, float64, string)) (*mcpbridgev1.CallToolResult, error) {
			return nil, unreachable()
		}
	})
	breaker := func() string {
		t.Helper()
		src, err := r.sources.GetSource(t.Context(), &registryv1.GetSourceRequest{SourceId: "notes"})
		if err != nil {
			t.Fatal(err)
		}
		return src.GetBreaker()
	}
	if got := breaker(); got != "closed" {
		t.Errorf("at first the breaker is %s", got)
	}
	if s := r.call(t.Context(), r.request("notes__send", "one")); s.completed.GetCode() != "tool_unavailable" || len(w.bridge.seen()) != 3 {
		t.Errorf("the first call: %+v after %d attempts", s, len(w.bridge.seen()))
	}
	for _, key := range []string{"two", "one"} {
		s := r.call(t.Context(), r.request("notes__send", key))
		if s.completed.GetCode() != "tool_unavailable" || !strings.Contains(s.text(), `could not be reached 3 times in a row`) ||
			s.completed.GetUnresolved() {
			t.Errorf("while it is away: %+v %q", s, s.text())
		}
		if row := r.row(key); enum.Name(row.GetState()) != "failed" {
			t.Errorf("row %v", row)
		}
	}
	if n := len(w.bridge.seen()); n != 3 || breaker() != "open" {
		t.Errorf("%d attempts, the breaker is %s", n, breaker())
	}
	w.bridge.set(func() { w.bridge.discover, w.bridge.call = nil, newBridge().call })
	sync := func() error {
		_, err := r.sources.SyncSource(t.Context(), &registryv1.SyncSourceRequest{SourceId: "notes"})
		return err
	}
	if sync() != nil { // it joined an earlier sync; the next one is new
		if err := sync(); err != nil {
			t.Fatal(err)
		}
	}
	if s := r.call(t.Context(), r.request("notes__send", "two")); s.text() != "ok" || breaker() != "closed" {
		t.Errorf("when it is back: %+v, the breaker is %s", s, breaker())
	}
}
