package registry_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/testpoll"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// TestStopCallOfAnotherReplica asks one registry to stop a call that another one runs.
func TestStopCallOfAnotherReplica(t *testing.T) {
	t.Run("on SQLite", func(t *testing.T) { stopElsewhere(t, newWorld(t)) })
	t.Run("on PostgreSQL", func(t *testing.T) { stopElsewhere(t, newWorldOn(t, tables.Postgres(t))) })
}

func stopElsewhere(t *testing.T, w *world) {
	cfg := config()
	cfg.LeaseTTL = 2 * time.Second // more than a busy machine delays a heartbeat
	one, two := w.start(cfg), w.start(cfg)
	one.notes()
	told := make(chan error, 1)
	w.bridge.set(func() {
		w.bridge.call = func(ctx context.Context, _ *mcpbridgev1.CallToolRequest, _ func(float64, float64, string)) (*mcpbridgev1.CallToolResult,
			error,
		) {
			<-ctx.Done()
			told <- ctx.Err()
			return nil, ctx.Err()
		}
	})
	ctx, leave := context.WithCancel(t.Context())
	gone := one.begin(ctx, one.request("notes__send", "k"))
	leave() // its caller goes away, as a cancelled step does: the call continues
	<-gone
	resp, err := two.calls.StopCall(t.Context(), &registryv1.StopCallRequest{Key: "k"})
	if err != nil || !resp.GetStopped() {
		t.Fatalf("the other replica: %v, %v", resp, err)
	}
	if err := <-told; err == nil {
		t.Error("the tool was not told")
	}
	testpoll.Until(w.t, "the ledger says that nobody knows", func() bool { return enum.Name(two.row("k").GetState()) == "unresolved" })
	if resp, err := two.calls.StopCall(t.Context(), &registryv1.StopCallRequest{Key: "k"}); err != nil || resp.GetStopped() {
		t.Errorf("a call that is over: %v, %v", resp, err)
	}
}

// TestStopCall stops calls that continue when their caller goes away.
func TestStopCall(t *testing.T) {
	for _, tool := range []string{"notes__send", "notes__put", "notes__read"} {
		t.Run(tool, func(t *testing.T) {
			w := newWorld(t)
			r := w.start(config())
			r.notes()
			reached, told := make(chan struct{}), make(chan error, 1)
			w.bridge.set(func() {
				w.bridge.call = func(ctx context.Context, _ *mcpbridgev1.CallToolRequest,
					_ func(float64, float64, string),
				) (*mcpbridgev1.CallToolResult, error) {
					close(reached)
					<-ctx.Done()
					told <- ctx.Err()
					return nil, ctx.Err()
				}
			})
			ctx, leave := context.WithCancel(t.Context())
			req := r.request(tool, "k")
			gone := r.begin(ctx, req)
			<-reached
			stop := func(key string) bool {
				resp, err := r.calls.StopCall(t.Context(), &registryv1.StopCallRequest{Key: key})
				if err != nil {
					t.Fatal(err)
				}
				return resp.GetStopped()
			}
			if stop("another") || !stop("k") {
				t.Error("what runs was not found, or what does not was")
			}
			if err := <-told; err == nil {
				t.Error("the tool was not told")
			}
			s := <-gone
			leave()
			testpoll.Until(w.t, "the ledger says that nobody knows", func() bool { return enum.Name(r.row("k").GetState()) == "unresolved" })
			if once := tool == "notes__send"; once != s.completed.GetUnresolved() || !once && s.err == nil {
				t.Errorf("its caller: %+v", s)
			}
			if stop("k") {
				t.Error("a call that is over was stopped")
			}
			w.bridge.set(func() { w.bridge.call = newBridge().call })
			again := r.call(t.Context(), req)
			want := map[bool]string{true: "not known", false: "ok"}[tool == "notes__send"]
			if again.err != nil || !strings.Contains(again.text(), want) {
				t.Errorf("asked again: %+v", again)
			}
		})
	}
}
