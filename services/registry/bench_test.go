package registry_test

import (
	"fmt"
	"testing"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// BenchmarkCallTool is the overhead of one call: policy, validation, two ledger commits, and three gRPC hops in memory.
func BenchmarkCallTool(b *testing.B) {
	w := newWorld(b)
	cfg := config()
	cfg.LeaseTTL = 5e9
	r := w.start(cfg)
	r.notes()
	req := r.request("notes__send", "")
	i := 0
	for b.Loop() {
		i++
		req.Key = fmt.Sprint("k", i)
		if s := r.call(b.Context(), req); s.text() != "ok" {
			b.Fatal(s)
		}
	}
}

// BenchmarkInvokeCached answers from the ledger.
func BenchmarkInvokeCached(b *testing.B) {
	w := newWorld(b)
	r := w.start(config())
	r.notes()
	req := &registryv1.InvokeToolRequest{Name: "notes__send", Arguments: args(b, map[string]any{"text": "x"}), IdempotencyKey: "k"}
	for b.Loop() {
		if _, err := r.tools.InvokeTool(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}
