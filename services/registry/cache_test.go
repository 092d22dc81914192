package registry_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/testpoll"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry"
)

// cached is a world whose replicas keep results, each with its own connection to one server of the bus.
type cached struct {
	*world
	url string
	n   int // calls so far, for their keys
}

// busKey is the secret that the replicas share.
var busKey = []byte("the key of the replicas of a test")

func newCached(t testing.TB, w *world) *cached {
	t.Helper()
	s, err := bus.StartServer(t.Context(), bus.ServerConfig{Listen: "127.0.0.1:0", Key: busKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &cached{world: w, url: s.URL()}
}

func (c *cached) replica() *replica {
	c.t.Helper()
	b, err := bus.Open(c.t.Context(), bus.Config{URL: c.url, Key: busKey})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			c.t.Error(err)
		}
	})
	c.bus = b
	r := c.start(caching())
	awaitCache(r)
	return r
}

func caching() registry.Config {
	cfg := config()
	cfg.Cache.Disabled = false
	return cfg
}

func awaitCache(r *replica) {
	r.w.t.Helper()
	testpoll.Until(r.w.t, "the cache is available", func() bool { return r.stats().GetAvailable() })
}

func (r *replica) stats() *registryv1.ToolCacheStats {
	r.w.t.Helper()
	got, err := r.cache.GetToolCacheStats(r.w.t.Context(), &registryv1.GetToolCacheStatsRequest{})
	if err != nil {
		r.w.t.Fatal(err)
	}
	return got
}

// count makes the server answer with the number of the call.
func (c *cached) count() {
	n := 0
	var mu sync.Mutex
	c.bridge.set(func() {
		c.bridge.call = func(context.Context, *mcpbridgev1.CallToolRequest, func(float64, float64, string)) (*mcpbridgev1.CallToolResult, error) {
			mu.Lock()
			defer mu.Unlock()
			n++
			return answer(fmt.Sprint(n)), nil
		}
	})
}

// ask calls a tool in a turn of its own, after changes to the request.
func (c *cached) ask(r *replica, tool string, change ...func(*registryv1.CallToolRequest)) (text string, hit bool) {
	c.t.Helper()
	c.n++
	req := r.request(tool, fmt.Sprintf("key %d", c.n))
	req.SessionId, req.TurnId = fmt.Sprintf("ses_%d", c.n), fmt.Sprintf("trn_%d", c.n)
	for _, f := range change {
		f(req)
	}
	s := r.call(c.t.Context(), req)
	if s.err != nil || s.completed == nil {
		c.t.Fatalf("%s: %+v", tool, s)
	}
	if hit := s.completed.GetCached(); hit == (s.executing != nil) || s.completed.GetExecutionId() == "" {
		c.t.Errorf("cached %v, executing %v, execution %q", hit, s.executing, s.completed.GetExecutionId())
	}
	return s.text(), s.completed.GetCached()
}

func as(subject string) func(*registryv1.CallToolRequest) {
	return func(r *registryv1.CallToolRequest) { r.Principal = authn.User(subject, "user") }
}

func (c *cached) expect(what, wantText string, wantHit bool, text string, hit bool) {
	c.t.Helper()
	if text != wantText || hit != wantHit {
		c.t.Errorf("%s: got %s, cached %v; want %s, cached %v", what, text, hit, wantText, wantHit)
	}
}

// both runs a test on both databases.
func both(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) { f(t, newWorld(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { f(t, newWorldOn(t, tables.Postgres(t))) })
}

func TestCachedResults(t *testing.T) { both(t, cachedResults) }

func cachedResults(t *testing.T, w *world) {
	c := newCached(t, w)
	a, b := c.replica(), c.replica()
	a.notes()
	c.count()
	expect := func(what, wantText string, wantHit bool, r *replica, tool string, change ...func(*registryv1.CallToolRequest)) {
		t.Helper()
		text, hit := c.ask(r, tool, change...)
		c.expect(what, wantText, wantHit, text, hit)
	}
	expect("the first call", "1", false, a, "notes__read")
	expect("the same call", "1", true, a, "notes__read")
	testpoll.Until(t, "the result is shared", func() bool { return a.stats().GetResults() > 0 })
	expect("the same call at the other replica", "1", true, b, "notes__read")
	expect("another user", "2", false, a, "notes__read", as("bob"))
	expect("other arguments", "3", false, a, "notes__read", func(r *registryv1.CallToolRequest) { r.ArgumentsJson = `{"text":"ho"}` })
	expect("the same arguments, written differently", "1", true, a, "notes__read", func(r *registryv1.CallToolRequest) {
		r.ArgumentsJson = ` { "text" : "hi" } `
	})
	expect("an idempotent call", "4", false, a, "notes__put")
	expect("a read after a write", "5", false, a, "notes__read")
	testpoll.Until(t, "the other replica knows of the write", func() bool {
		text, _ := c.ask(b, "notes__read")
		return text != "1"
	})
	if text, hit := c.ask(a, "notes__send"); hit || text == "" {
		t.Errorf("a once call: %s, cached %v", text, hit)
	}
	same := func(r *registryv1.CallToolRequest) { r.TurnId = "trn_same" }
	first, _ := c.ask(a, "notes__read", same)
	if again, hit := c.ask(a, "notes__read", same); hit || again == first {
		t.Errorf("a turn that asks again got %s after %s, cached %v", again, first, hit)
	}
	if s := a.stats(); s.GetHits() < 3 || s.GetMisses() < 4 || s.GetHitRate() <= 0 || s.GetHitRate() >= 1 || s.GetFailures() != 0 {
		t.Errorf("stats: %v", s)
	}
}

// TestWhatIsNotKept has calls repeated whose results must not be kept.
func TestWhatIsNotKept(t *testing.T) {
	c := newCached(t, newWorld(t))
	r := c.replica()
	r.notes()
	c.bridge.set(func() {
		c.bridge.tools["notes"] = append(c.bridge.tools["notes"], tool("health_check", "read"), tool("fail", "read"), tool("large", "read"))
	})
	if _, err := r.sources.SyncSource(t.Context(), &registryv1.SyncSourceRequest{SourceId: "notes"}); err != nil {
		t.Fatal(err)
	}
	c.bridge.set(func() {
		c.bridge.call = func(_ context.Context, req *mcpbridgev1.CallToolRequest, _ func(float64, float64, string)) (*mcpbridgev1.CallToolResult,
			error,
		) {
			out := answer("ok")
			if req.GetTool() == "large" {
				out = answer(string(make([]byte, 300<<10)))
			}
			out.IsError = req.GetTool() == "fail"
			return out, nil
		}
	})
	for _, name := range []string{"notes__health_check", "notes__fail", "notes__large", "notes__put"} {
		for range 2 {
			if _, hit := c.ask(r, name); hit {
				t.Errorf("%s came from the cache", name)
			}
		}
	}
	r.meshTools()
	if _, hit := c.ask(r, "mesh__current_time", func(r *registryv1.CallToolRequest) { r.ArgumentsJson = "{}" }); hit {
		t.Error("the time came from the cache")
	}
}

// TestCacheOfASource changes what a source says about its results.
func TestCacheOfASource(t *testing.T) {
	c := newCached(t, newWorld(t))
	r := c.replica()
	src := r.notes()
	update := func(settings *registryv1.ResultCache) {
		t.Helper()
		src.Cache = settings
		src.Revision = 0 // whatever it is
		got, err := r.sources.UpdateSource(t.Context(), &registryv1.UpdateSourceRequest{
			Source: src, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"cache"}},
		})
		if err != nil || !proto.Equal(got.GetCache(), settings) {
			t.Fatalf("got %v, %v", got.GetCache(), err)
		}
	}
	for _, row := range []struct {
		what     string
		settings *registryv1.ResultCache
		as       string
		hit      bool
	}{
		{"as by default", nil, "local", true},
		{"disabled", &registryv1.ResultCache{Disabled: true}, "local", false},
		{"not this tool", &registryv1.ResultCache{ToolTtlSeconds: map[string]uint32{"read": 0}}, "local", false},
		{"only this tool", &registryv1.ResultCache{TtlSeconds: 1, ToolTtlSeconds: map[string]uint32{"read": 600}}, "local", true},
		{"of another user", &registryv1.ResultCache{}, "bob", false},
		{"shared", &registryv1.ResultCache{Shared: true}, "bob", true},
	} {
		update(row.settings)
		c.ask(r, "notes__read", as("local"))
		if _, hit := c.ask(r, "notes__read", as(row.as)); hit != row.hit {
			t.Errorf("%s: cached %v", row.what, hit)
		}
	}
}

// TestDirectCallsUseTheCache calls through the public API.
func TestDirectCallsUseTheCache(t *testing.T) {
	c := newCached(t, newWorld(t))
	r := c.replica()
	r.notes()
	invoke := func(fresh bool) bool {
		t.Helper()
		got, err := r.tools.InvokeTool(t.Context(), &registryv1.InvokeToolRequest{
			Name: "notes__read", Arguments: args(t, map[string]any{"text": "x"}), Fresh: fresh,
		})
		if err != nil {
			t.Fatal(err)
		}
		return got.GetCached()
	}
	if invoke(false) || !invoke(false) || invoke(true) || !invoke(false) {
		t.Error("want a miss, a hit, a fresh call and a hit")
	}
	for _, row := range []struct {
		req  *registryv1.ClearToolCacheRequest
		hit  bool
		code codes.Code
	}{
		{&registryv1.ClearToolCacheRequest{Tool: "notes__put"}, true, codes.OK},
		{&registryv1.ClearToolCacheRequest{Tool: "notes__read"}, false, codes.OK},
		{&registryv1.ClearToolCacheRequest{Source: "notes"}, false, codes.OK},
		{&registryv1.ClearToolCacheRequest{}, false, codes.OK},
		{&registryv1.ClearToolCacheRequest{Tool: "notes__no"}, true, codes.NotFound},
		{&registryv1.ClearToolCacheRequest{Source: "no"}, true, codes.NotFound},
		{&registryv1.ClearToolCacheRequest{Source: "no", Tool: "notes__read"}, true, codes.InvalidArgument},
	} {
		if _, err := r.cache.ClearToolCache(t.Context(), row.req); status.Code(err) != row.code {
			t.Errorf("clear %v: %v", row.req, err)
		}
		if hit := invoke(false); hit != row.hit {
			t.Errorf("after clearing %v: cached %v", row.req, hit)
		}
	}
}

// TestOneCallForMany has many callers ask the same at once.
func TestOneCallForMany(t *testing.T) {
	c := newCached(t, newWorld(t))
	r := c.replica()
	r.notes()
	release := make(chan struct{})
	c.bridge.set(func() { c.bridge.call = hang(release) })
	var wg sync.WaitGroup
	for i := range 8 {
		req := r.request("notes__read", fmt.Sprintf("many %d", i))
		req.TurnId = fmt.Sprintf("trn_many_%d", i)
		wg.Go(func() {
			if s := r.call(t.Context(), req); s.err != nil || s.text() != "late" {
				t.Errorf("call %d: %+v", i, s)
			}
		})
	}
	testpoll.Until(t, "one call is sent", func() bool { return len(c.bridge.seen()) == 1 })
	testpoll.Until(t, "all are decided", func() bool { return len(c.policy.requests()) == 8 })
	close(release)
	wg.Wait()
	if n := len(c.bridge.seen()); n != 1 {
		t.Errorf("%d calls were sent", n)
	}
}

// TestWriteOfADeadReplica stops a replica's heartbeat during a call that changes something. The replica that finds that out drops the
// results.
func TestWriteOfADeadReplica(t *testing.T) {
	c := newCached(t, newWorld(t))
	r := c.replica()
	r.notes()
	dead := c.asleep(config())
	release := make(chan struct{})
	c.bridge.set(func() { c.bridge.call = hang(release) })
	req := dead.request("notes__send", "of the dead")
	lost := dead.begin(t.Context(), req)
	c.count()
	c.ask(r, "notes__read")
	if s := r.call(t.Context(), req); !s.completed.GetUnresolved() {
		t.Fatalf("got %+v", s)
	}
	if _, hit := c.ask(r, "notes__read"); hit {
		t.Error("the result from before the call came from the cache")
	}
	close(release)
	<-lost
}

// TestCacheWithoutBus stops the server of the bus and starts it again.
func TestCacheWithoutBus(t *testing.T) {
	w := newWorld(t)
	first, err := bus.StartServer(t.Context(), bus.ServerConfig{Listen: "127.0.0.1:0", Key: busKey})
	if err != nil {
		t.Fatal(err)
	}
	addr := first.Addr()
	c := &cached{world: w, url: first.URL()}
	r := c.replica()
	r.notes()
	c.count()
	c.ask(r, "notes__read")
	if _, hit := c.ask(r, "notes__read"); !hit {
		t.Fatal("no hit with the bus")
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	testpoll.Until(t, "the bus is missed", func() bool { return !r.stats().GetAvailable() })
	for _, name := range []string{"notes__read", "notes__send", "notes__read"} {
		if _, hit := c.ask(r, name); hit {
			t.Errorf("%s came from the cache without the bus", name)
		}
	}
	if _, err := r.cache.ClearToolCache(t.Context(), &registryv1.ClearToolCacheRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("clear: %v", err)
	}
	if r.stats().GetFailures() == 0 {
		t.Error("no failure is counted")
	}
	second, err := bus.StartServer(t.Context(), bus.ServerConfig{Listen: addr, Key: busKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := second.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	awaitCache(r)
	c.ask(r, "notes__read")
	testpoll.Until(t, "results are kept again", func() bool {
		_, hit := c.ask(r, "notes__read")
		return hit
	})
}

// TestForgottenTurns deletes the results of the tools of a turn with it.
func TestForgottenTurns(t *testing.T) {
	c := newCached(t, newWorld(t))
	r := c.replica()
	r.notes()
	c.ask(r, "notes__read", func(req *registryv1.CallToolRequest) { req.TurnId = "trn_gone" })
	testpoll.Until(t, "the result is shared", func() bool { return r.stats().GetResults() > 0 })
	if _, err := r.calls.ForgetTurns(t.Context(), &registryv1.ForgetTurnsRequest{
		Tenant: authn.Local().GetTenant(), TurnIds: []string{"trn_gone"},
	}); err != nil {
		t.Fatal(err)
	}
	if n := r.stats().GetResults(); n != 0 {
		t.Errorf("%d results are left", n)
	}
	if _, hit := c.ask(r, "notes__read"); hit {
		t.Error("the result came from the cache")
	}
}
