package cache_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/windlass-dev/windlass/libs/metrics"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/sealedresult"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/testpoll"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/cache"
)

// busKey is the secret that the replicas share.
var busKey = []byte("the key of the replicas of a test")

// server starts a server of the bus at an address until the test ends or the returned function is called.
func server(t *testing.T, addr string) (s *bus.Server, stop func()) {
	t.Helper()
	s, err := bus.StartServer(t.Context(), bus.ServerConfig{Listen: addr, Key: busKey})
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return s, stop
}

// replica is a cache with a bus connection and a clock of its own.
type replica struct {
	*cache.Cache
	t      *testing.T
	reader *metric.ManualReader

	mu  sync.Mutex
	now time.Time
}

func (r *replica) time() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *replica) advance(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

func start(t *testing.T, url string) *replica { t.Helper(); return startWith(t, url, "k") }

// startWith starts a replica that seals results with a key of its own.
func startWith(t *testing.T, url, key string) *replica {
	t.Helper()
	results, err := sealedresult.New(secret.New(strings.Repeat(key, 32)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := bus.Open(t.Context(), bus.Config{URL: url, Key: busKey})
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{t: t, reader: metric.NewManualReader(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	r.Cache, err = cache.New(cache.Config{MaxResultBytes: 128 << 10, MemoryResults: 100, MaxBytes: 8 << 20}, cache.Deps{
		Bus: b, Now: r.time, Results: results, Log: slog.New(slog.DiscardHandler),
		Meter: metrics.With(metric.NewMeterProvider(metric.WithReader(r.reader)).Meter("test")),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	r.await()
	return r
}

func (r *replica) await() {
	r.t.Helper()
	testpoll.Until(r.t, "the cache is available", func() bool { return r.Stats(r.t.Context()).Available })
}

func key(tool string) cache.Key { return cache.NewKey("tenant", "notes", tool, "arguments") }

func result(text string) *turnv1.ToolResult {
	return &turnv1.ToolResult{Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}}}
}

// get returns the result of a key; without one it leaves a call that fills it with text. Empty text leaves no result.
func (r *replica) get(k cache.Key, text string) (got string, hit bool) {
	r.t.Helper()
	have, fill := r.Get(r.t.Context(), k, time.Minute)
	if have != nil {
		return have.GetContent()[0].GetText(), true
	}
	if text == "" {
		fill.Done(r.t.Context(), nil)
	} else {
		fill.Done(r.t.Context(), result(text))
		if err := r.Wait(r.t.Context()); err != nil { // until other replicas find it
			r.t.Error(err)
		}
	}
	return text, false
}

func (r *replica) want(what string, k cache.Key, text, want string, wantHit bool) {
	r.t.Helper()
	if got, hit := r.get(k, text); got != want || hit != wantHit {
		r.t.Errorf("%s: got %.20q, hit %v; want %.20q, hit %v", what, got, hit, want, wantHit)
	}
}

func (r *replica) operations() map[string]int64 {
	r.t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.reader.Collect(r.t.Context(), &all); err != nil {
		r.t.Fatal(err)
	}
	out := map[string]int64{}
	for _, p := range all.ScopeMetrics[0].Metrics[0].Data.(metricdata.Sum[int64]).DataPoints {
		operation, _ := p.Attributes.Value("operation")
		out[operation.AsString()] += p.Value
	}
	return out
}

func TestResultsAreShared(t *testing.T) {
	s, _ := server(t, "127.0.0.1:0")
	a, b := start(t, s.URL()), start(t, s.URL())
	large := strings.Repeat("x", 100<<10)
	a.want("first", key("read"), "1", "1", false)
	a.want("again", key("read"), "2", "1", true)
	b.want("at the other replica", key("read"), "2", "1", true)
	a.want("a result too large for memory", key("large"), large, large, false)
	a.want("the same again", key("large"), "2", large, true)
	a.want("a result above the limit", key("huge"), large+large, large+large, false)
	a.want("the same again", key("huge"), "2", "2", false)
	a.want("a call without a result", key("none"), "", "", false)
	a.want("the same again", key("none"), "3", "3", false)
	for i, other := range []cache.Key{
		cache.NewKey("tenant", "notes", "read", "other arguments"), cache.NewKey("tenant", "notes", "read", "argu", "ments"),
		cache.NewKey("other tenant", "notes", "read", "arguments"), cache.NewKey("tenant", "other", "read", "arguments"),
	} {
		a.want(fmt.Sprintf("other key %d", i), other, "4", "4", false)
	}
	if n := a.operations(); n["hit"] != 2 || n["miss"] != 10 || n["store"] != 8 || n["error"] != 0 {
		t.Errorf("operations: %v", n)
	}
	if got := a.Stats(t.Context()); got.Results != 8 || got.Bytes == 0 || got.Failures != 0 {
		t.Errorf("stats: %+v", got)
	}
}

// TestResultsAreSealedOnTheBus: who reads the bucket learns nothing, and a replica with another key makes the call itself.
func TestResultsAreSealedOnTheBus(t *testing.T) {
	s, _ := server(t, "127.0.0.1:0")
	a, b := start(t, s.URL()), startWith(t, s.URL(), "other")
	reader, err := bus.Open(t.Context(), bus.Config{URL: s.URL(), Key: busKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := reader.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	stored, err := reader.Subscribe("$KV.windlass-tool-results.>", 100)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stored.Close)
	if err := reader.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	const number = "4111 1111 1111 1111"
	a.want("first", key("read"), number, number, false)
	for m := range stored.C() {
		if strings.Contains(string(m.Data), "1111") {
			t.Fatalf("%s has %q", m.Subject, m.Data)
		}
		if strings.Contains(m.Subject, ".read.") {
			break
		}
	}
	b.want("with another key", key("read"), "2", "2", false)
	a.want("the first replica", key("read"), "3", number, true)
}

func TestResultsExpire(t *testing.T) {
	s, _ := server(t, "127.0.0.1:0")
	a, b := start(t, s.URL()), start(t, s.URL())
	a.want("first", key("read"), "1", "1", false)
	a.advance(time.Minute - time.Microsecond)
	a.want("just before it expires", key("read"), "2", "1", true)
	b.advance(time.Minute)
	b.want("expired in the bucket", key("read"), "3", "3", false)
	a.advance(time.Microsecond)
	a.want("expired in memory: the newer result in the bucket", key("read"), "4", "3", true)
}

// TestChangesInvalidate changes a source before, during and after a call.
func TestChangesInvalidate(t *testing.T) {
	s, _ := server(t, "127.0.0.1:0")
	a, b := start(t, s.URL()), start(t, s.URL())
	other := cache.NewKey("tenant", "other", "read", "arguments")
	a.want("first", key("read"), "1", "1", false)
	a.want("of another source", other, "1", "1", false)
	b.want("in the memory of the other replica", key("read"), "", "1", true)
	a.Changed(t.Context(), "tenant", "notes")
	a.want("after a change", key("read"), "2", "2", false)
	a.want("of another source", other, "", "1", true)
	testpoll.Until(t, "the other replica drops the result", func() bool {
		got, _ := b.get(key("read"), "")
		return got == "2"
	})

	_, fill := a.Get(t.Context(), key("slow"), time.Minute)
	a.Changed(t.Context(), "tenant", "notes")
	fill.Done(t.Context(), result("from before the change"))
	a.want("a call during which this replica changed the source", key("slow"), "3", "3", false)

	_, late := b.Get(t.Context(), key("late"), time.Minute)
	a.Changed(t.Context(), "tenant", "notes")
	late.Done(t.Context(), result("from before the change"))
	a.want("a call during which another replica changed the source", key("late"), "4", "4", false)
}

func TestClear(t *testing.T) {
	s, _ := server(t, "127.0.0.1:0")
	a, b := start(t, s.URL()), start(t, s.URL())
	keys := []cache.Key{
		key("read"), key("list"), cache.NewKey("tenant", "other", "read"), cache.NewKey("other tenant", "notes", "read"),
	}
	for _, row := range []struct {
		what         string
		source, tool string
		left         []bool
	}{
		{"a tool", "notes", "read", []bool{false, true, true, true}},
		{"a source", "notes", "", []bool{false, false, true, true}},
		{"all of the tenant", "", "", []bool{false, false, false, true}},
	} {
		for _, k := range keys {
			a.get(k, "1")
		}
		_, during := b.Get(t.Context(), key("during"), time.Minute)
		if err := a.Clear(t.Context(), "tenant", row.source, row.tool); err != nil {
			t.Fatal(err)
		}
		for i, k := range keys {
			if _, hit := a.get(k, ""); hit != row.left[i] {
				t.Errorf("%s cleared: result %d: hit %v", row.what, i, hit)
			}
		}
		during.Done(t.Context(), result("late"))
		if err := b.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if _, hit := a.get(key("during"), ""); hit != (row.tool != "") {
			t.Errorf("%s cleared: the result of a call that was under way at another replica: hit %v", row.what, hit)
		}
	}
	if n := a.operations(); n["clear"] != 3 {
		t.Errorf("operations: %v", n)
	}
}

func TestOneFlight(t *testing.T) {
	s, _ := server(t, "127.0.0.1:0")
	a := start(t, s.URL())
	_, first := a.Get(t.Context(), key("read"), time.Minute)
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() { a.want("a call that waited", key("read"), "2", "1", true) })
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	got, fill := a.Get(cancelled, key("read"), time.Minute)
	if got != nil || fill == nil {
		t.Errorf("a caller that left got %v, %v", got, fill)
	}
	fill.Done(cancelled, nil)
	first.Done(t.Context(), result("1"))
	wg.Wait()
	_, failing := a.Get(t.Context(), key("fails"), time.Minute)
	wg.Go(func() { a.want("a call after one without a result", key("fails"), "3", "3", false) })
	failing.Done(t.Context(), nil)
	wg.Wait()
}

// TestBusAway stops the server of the bus, and starts another in its place.
func TestBusAway(t *testing.T) {
	s, stop := server(t, "127.0.0.1:0")
	addr := s.Addr()
	a := start(t, s.URL())
	a.want("first", key("read"), "1", "1", false)
	_, fill := a.Get(t.Context(), key("during"), time.Minute)
	stop()
	testpoll.Until(t, "the bus is missed", func() bool { return !a.Stats(t.Context()).Available })
	fill.Done(t.Context(), result("1"))
	a.want("without the bus", key("read"), "2", "2", false)
	a.want("without the bus, again", key("read"), "3", "3", false)
	a.Changed(t.Context(), "tenant", "notes")
	if err := a.Clear(t.Context(), "tenant", "", ""); err == nil {
		t.Error("Clear succeeded")
	}
	if a.Stats(t.Context()).Failures == 0 || a.operations()["error"] == 0 {
		t.Errorf("no failure is counted: %v", a.operations())
	}
	server(t, addr)
	a.await()
	testpoll.Until(t, "results are kept again", func() bool {
		_, hit := a.get(key("read"), "4")
		return hit
	})
}

// TestRemovedMarker has the bus remove the marker of a source, as it does when it is full.
func TestRemovedMarker(t *testing.T) {
	s, _ := server(t, "127.0.0.1:0")
	a, b := start(t, s.URL()), start(t, s.URL())
	_, late := b.Get(t.Context(), key("read"), time.Minute)
	if err := a.Clear(t.Context(), "tenant", "", ""); err != nil { // which removes it
		t.Fatal(err)
	}
	late.Done(t.Context(), result("from before"))
	a.want("a result that names the removed marker", key("read"), "2", "2", false)
}
