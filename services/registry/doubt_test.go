package registry_test

import (
	"context"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/enum"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
)

// TestDoubtStays: a call that may have run stays in doubt if a later attempt could not be sent.
func TestDoubtStays(t *testing.T) {
	w := newWorld(t)
	cfg := config()
	cfg.BreakerFailures = 1000
	r := w.start(cfg)
	r.notes()
	sent := 0
	w.bridge.set(func() {
		w.bridge.call = func(context.Context, *mcpbridgev1.CallToolRequest, func(float64, float64, string)) (*mcpbridgev1.CallToolResult, error) {
			if sent++; sent == 1 {
				return nil, outcomeUnknown()
			}
			return nil, unreachable()
		}
	})
	for _, when := range []string{"at once", "asked for again"} {
		s := r.call(t.Context(), r.request("notes__put", "k"))
		if s.completed.GetCode() != "tool_unavailable" || strings.Contains(s.text(), "was not called") || s.completed.GetUnresolved() {
			t.Errorf("%s: %+v %q", when, s, s.text())
		}
		if row := r.row("k"); enum.Name(row.GetState()) != "unresolved" {
			t.Errorf("%s: row %v", when, row)
		}
	}
	if s := r.call(t.Context(), r.request("notes__put", "another")); !strings.Contains(s.text(), "was not called") ||
		enum.Name(r.row("another").GetState()) != "failed" {
		t.Errorf("one that was never sent: %q, %v", s.text(), r.row("another"))
	}
	w.bridge.set(func() { w.bridge.call = newBridge().call })
	if s := r.call(t.Context(), r.request("notes__put", "k")); s.text() != "ok" || enum.Name(r.row("k").GetState()) != "done" {
		t.Errorf("when it is back: %+v, %v", s, r.row("k"))
	}
}
