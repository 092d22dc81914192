package registry_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/testpoll"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// hang is a server that answers "late" when released, and otherwise hangs until the call is cancelled.
func hang(release <-chan struct{}) callFunc {
	return func(ctx context.Context, _ *mcpbridgev1.CallToolRequest, _ func(float64, float64, string)) (*mcpbridgev1.CallToolResult, error) {
		select {
		case <-release:
			return answer("late"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// TestCrashInMidCall stops a registry's heartbeat during a call, and sends the same call to another registry.
func TestCrashInMidCall(t *testing.T) {
	for _, row := range []struct {
		tool, text, state string
		sends             int
		unresolved        bool
	}{
		{"notes__send", "not known", "unresolved", 1, true},
		{"notes__put", "ok", "done", 2, false},
		{"notes__read", "ok", "done", 2, false},
	} {
		t.Run(row.tool, func(t *testing.T) { crash(t, newWorld(t), row.tool, row.text, row.state, row.sends, row.unresolved) })
	}
	t.Run("on PostgreSQL", func(t *testing.T) {
		crash(t, newWorldOn(t, tables.Postgres(t)), "notes__send", "not known", "unresolved", 1, true)
	})
}

func crash(t *testing.T, w *world, tool, text, state string, sends int, isUnresolved bool) {
	dead := w.asleep(config())
	dead.notes()
	release := make(chan struct{})
	w.bridge.set(func() { w.bridge.call = hang(release) })
	req := dead.request(tool, "k")
	lost := dead.begin(t.Context(), req)

	w.bridge.set(func() { w.bridge.call = newBridge().call })
	alive := w.start(config())
	s := alive.call(t.Context(), req)
	if s.err != nil || !strings.Contains(s.text(), text) || s.completed.GetUnresolved() != isUnresolved {
		t.Errorf("the other registry: %+v", s)
	}
	if n := len(w.bridge.seen()); n != sends {
		t.Errorf("sent %d times, want %d", n, sends)
	}
	// The row of a read may follow its answer, and then says nothing of what the other registry sent.
	follows := tool == "notes__read"
	if follows {
		testpoll.Until(w.t, "the read is recorded", func() bool { return enum.Name(alive.row("k").GetState()) == state })
	}
	if got := alive.row("k"); enum.Name(got.GetState()) != state || int(got.GetAttempts()) != sends && !follows {
		t.Errorf("row %v", got)
	}

	close(release) // the replica was not dead after all
	if s := <-lost; s.text() != "late" {
		t.Errorf("its own caller: %+v", s)
	}
	want := "ok"
	if isUnresolved {
		want = "late" // the call was not repeated, so its late answer counts
	}
	if s := alive.call(t.Context(), req); s.text() != want || !s.completed.GetCached() {
		t.Errorf("asked at last: %+v", s)
	}
}

// TestLivingReplicaIsWaitedFor sends a call to one registry while another runs it for longer than a lease.
func TestLivingReplicaIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	cfg := config()
	cfg.LeaseTTL = 2 * time.Second // more than a busy machine delays a heartbeat
	one, two := w.start(cfg), w.start(cfg)
	one.notes()
	release := make(chan struct{})
	w.bridge.set(func() { w.bridge.call = hang(release) })
	req := one.request("notes__send", "k")
	first := one.begin(t.Context(), req)
	opened := one.row("k").GetCreateTime().AsTime()
	second := make(chan story, 1)
	go func() { second <- two.call(t.Context(), req) }()
	decided := len(w.policy.requests())
	// Two leases expire; the heartbeat keeps the row.
	testpoll.Until(w.t, "several leases are over", func() bool { return time.Since(opened) > 2*cfg.LeaseTTL })
	if got := two.row("k"); enum.Name(got.GetState()) != "open" || got.GetAttempts() != 1 {
		t.Errorf("row %v", got)
	}
	close(release)
	for _, ch := range []<-chan story{first, second} {
		if s := <-ch; s.text() != "late" {
			t.Errorf("story %+v", s)
		}
	}
	if n := len(w.bridge.seen()); n != 1 {
		t.Errorf("sent %d times", n)
	}
	for _, d := range w.policy.requests()[decided:] {
		if d.GetTool() == "notes__send" {
			t.Error("policy was asked for a call that another replica made")
		}
	}
}

// TestOrphansAreFound kills a registry during a call that is never requested again.
func TestOrphansAreFound(t *testing.T) {
	w := newWorld(t)
	dead := w.asleep(config())
	dead.notes()
	w.bridge.set(func() { w.bridge.call = hang(nil) })
	ctx, cancel := context.WithCancel(t.Context())
	gone := dead.begin(ctx, dead.request("notes__read", "k"))
	testpoll.Until(w.t, "a registry that starts marks it", func() bool {
		next := w.start(config())
		defer next.stop()
		return enum.Name(next.row("k").GetState()) == "unresolved"
	})
	cancel()
	<-gone
}

// TestStopInMidCall stops a registry while calls run that do not finish in time.
func TestStopInMidCall(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	r.notes()
	w.bridge.set(func() { w.bridge.call = hang(nil) })
	once := r.begin(t.Context(), r.request("notes__send", "once"))
	read := r.begin(t.Context(), r.request("notes__read", "read"))
	r.stop()
	if s := <-once; !s.completed.GetUnresolved() {
		t.Errorf("once: %+v", s)
	}
	if s := <-read; s.err == nil || !strings.Contains(s.err.Error(), "stopping") {
		t.Errorf("read: %+v", s)
	}
	if s := r.call(t.Context(), r.request("notes__read", "after")); s.err == nil {
		t.Errorf("a stopped registry took a call: %+v", s)
	}
	next := w.start(config())
	w.bridge.set(func() { w.bridge.call = newBridge().call })
	if s := next.call(t.Context(), next.request("notes__read", "read")); s.text() != "ok" {
		t.Errorf("read, after the restart: %+v", s)
	}
	if s := next.call(t.Context(), next.request("notes__send", "once")); !s.completed.GetUnresolved() {
		t.Errorf("once, after the restart: %+v", s)
	}
}

// TestStopWaitsForCalls stops a registry while a call runs that finishes in time.
func TestStopWaitsForCalls(t *testing.T) {
	w := newWorld(t)
	cfg := config()
	cfg.DrainTimeout = 1 << 40
	r := w.start(cfg)
	r.notes()
	release := make(chan struct{})
	w.bridge.set(func() { w.bridge.call = hang(release) })
	call := r.begin(t.Context(), r.request("notes__send", "k"))
	stopped := make(chan struct{})
	go func() { defer close(stopped); r.stop() }()
	probe := &registryv1.CallToolRequest{Principal: authn.Local(), Tool: "none", Key: "probe"}
	testpoll.Until(w.t, "new calls are refused", func() bool { return r.call(t.Context(), probe).err != nil })
	close(release)
	if s := <-call; s.text() != "late" {
		t.Errorf("story %+v", s)
	}
	<-stopped
}
