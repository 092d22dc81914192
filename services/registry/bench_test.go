package registry_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

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

// BenchmarkCacheHit answers from the cache, which writes a row of the ledger.
func BenchmarkCacheHit(b *testing.B) {
	w := newWorld(b)
	r := newCached(b, w).replica()
	r.notes()
	req := &registryv1.InvokeToolRequest{Name: "notes__read", Arguments: args(b, map[string]any{"text": "x"})}
	if _, err := r.tools.InvokeTool(b.Context(), req); err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		got, err := r.tools.InvokeTool(b.Context(), req)
		took = append(took, time.Since(begin))
		if err != nil || !got.GetCached() {
			b.Fatal(got, err)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
}

// BenchmarkManyTools lists and searches 10,000 tools.
func BenchmarkManyTools(b *testing.B) {
	w := newWorld(b)
	r := w.start(config())
	w.bridge.set(func() {
		for i := range 10_000 {
			t := tool(fmt.Sprintf("operation_%d", i), "read")
			t.Description = fmt.Sprintf("Reads the %d-th kind of thing from the archive of department %d, and says how old it is.", i, i%97)
			w.bridge.tools["many"] = append(w.bridge.tools["many"], t)
		}
	})
	if _, err := r.sources.CreateSource(b.Context(), &registryv1.CreateSourceRequest{Source: &registryv1.Source{
		Name: "many", Kind: "mcp", Url: "http://127.0.0.1:9/mcp",
	}}); err != nil {
		b.Fatal(err)
	}
	page, err := r.tools.ListTools(b.Context(), &registryv1.ListToolsRequest{PageSize: 100})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			next := &registryv1.ListToolsRequest{PageSize: 100, PageToken: page.GetNextPageToken()}
			if _, err := r.tools.ListTools(b.Context(), next); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("search", func(b *testing.B) {
		for b.Loop() {
			found, err := r.tools.SearchTools(b.Context(), &registryv1.SearchToolsRequest{Query: "archive of department 42"})
			if err != nil || len(found.GetTools()) != 10 {
				b.Fatal(found, err)
			}
		}
	})
}
