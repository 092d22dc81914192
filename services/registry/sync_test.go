package registry_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testpoll"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// has reports whether there is a tool of this name.
func (r *replica) has(name string) bool {
	_, err := r.tools.GetTool(r.w.t.Context(), &registryv1.GetToolRequest{Name: name})
	return err == nil
}

func (r *replica) state(source string) string {
	src, err := r.sources.GetSource(r.w.t.Context(), &registryv1.GetSourceRequest{SourceId: source})
	if err != nil {
		return err.Error()
	}
	return enum.Name(src.GetState())
}

func TestUnreachableSource(t *testing.T) {
	w := newWorld(t)
	w.bridge.discover = unreachable()
	w.bridge.tools["late"] = []*mcpbridgev1.Tool{tool("a", "read")}
	r := w.start(config())
	src, err := r.sources.CreateSource(t.Context(),
		&registryv1.CreateSourceRequest{Source: &registryv1.Source{Name: "late", Kind: "mcp", Url: "http://x/"}})
	if err != nil || enum.Name(src.GetState()) != "unreachable" || src.GetLastError() != "connection refused" || src.GetSyncTime() != nil {
		t.Fatalf("created: %v, %v", src, err)
	}
	_, err = r.sources.SyncSource(t.Context(), &registryv1.SyncSourceRequest{SourceId: "late"})
	if f := fault.From(err); f.Code != codes.Unavailable || fault.CodeOf(err) != "tool_unavailable" {
		t.Errorf("sync: %v", err)
	}
	all, err := r.tools.RefreshTools(t.Context(), &registryv1.RefreshToolsRequest{})
	if err != nil || len(all.GetFailed()) != 1 || all.GetFailed()[0] != "late: connection refused" {
		t.Errorf("refresh: %v, %v", all, err)
	}
	w.bridge.set(func() { w.bridge.discover = nil })
	testpoll.Until(w.t, "it is tried again by itself", func() bool { return r.state("late") == "ready" && r.has("late__a") })

	w.bridge.set(func() { w.bridge.discover = outcomeUnknown() })
	if _, err = r.sources.SyncSource(t.Context(), &registryv1.SyncSourceRequest{SourceId: "late"}); fault.CodeOf(err) != "tool_unavailable" {
		t.Errorf("a strange failure: %v", err)
	}
	got, err := r.tools.GetTool(t.Context(), &registryv1.GetToolRequest{Name: "late__a"})
	if err != nil || got.GetAvailable() {
		t.Errorf("its tools stay, and say that they cannot be reached: %v, %v", got, err)
	}
}

func TestCallFindsSourceAway(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	r.notes()
	w.bridge.set(func() {
		w.bridge.discover = unreachable()
		w.bridge.call = func(context.Context, *mcpbridgev1.CallToolRequest, func(float64, float64, string)) (*mcpbridgev1.CallToolResult, error) {
			return nil, unreachable()
		}
	})
	if s := r.call(t.Context(), r.request("notes__read", "k")); s.completed.GetCode() != "tool_unavailable" ||
		!strings.Contains(s.text(), "connection refused") {
		t.Errorf("story %+v", s)
	}
	testpoll.Until(w.t, "the source is known to be away", func() bool { return r.state("notes") == "unreachable" })
}

func TestServerTellsOfChanges(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	src := r.notes()
	w.bridge.set(func() { w.bridge.tools["notes"] = []*mcpbridgev1.Tool{tool("new", "read")} })
	w.bridge.events <- &mcpbridgev1.WatchResponse{ServerId: "src_unknown", Change: mcpbridgev1.ServerChange_SERVER_CHANGE_TOOLS_CHANGED}
	w.bridge.events <- &mcpbridgev1.WatchResponse{ServerId: src.GetId(), Change: mcpbridgev1.ServerChange_SERVER_CHANGE_LOST}
	w.bridge.events <- &mcpbridgev1.WatchResponse{ServerId: src.GetId(), Change: mcpbridgev1.ServerChange_SERVER_CHANGE_TOOLS_CHANGED}
	testpoll.Until(w.t, "the new tool is there", func() bool { return r.has("notes__new") && !r.has("notes__send") })
}

func TestSourcesAreLookedAtNowAndThen(t *testing.T) {
	w := newWorld(t)
	cfg := config()
	cfg.SyncEvery = 10 * time.Millisecond
	r := w.start(cfg)
	r.notes()
	before := w.bridge.discovered()
	w.bridge.set(func() { w.bridge.tools["notes"] = []*mcpbridgev1.Tool{tool("new", "read")} })
	testpoll.Until(w.t, "the new tool is there", func() bool { return r.has("notes__new") })
	testpoll.Until(w.t, "it goes on", func() bool { return w.bridge.discovered() > before+3 })
}

// TestSlowServer: a server that hangs delays neither the start nor other servers.
func TestSlowServer(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	r.notes()
	r.stop()
	hold := make(chan struct{})
	w.bridge.set(func() { w.bridge.hold, w.bridge.discovers = hold, 0 })
	next := w.start(config())
	if s := next.call(t.Context(), next.request("notes__read", "k")); s.text() != "ok" {
		t.Errorf("a call while the server is looked at: %+v", s)
	}
	done := make(chan error, 5)
	for range cap(done) {
		go func() {
			_, err := next.sources.SyncSource(t.Context(), &registryv1.SyncSourceRequest{SourceId: "notes"})
			done <- err
		}()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := next.sources.SyncSource(ctx,
		&registryv1.SyncSourceRequest{SourceId: "notes"}); fault.From(err).Code != codes.DeadlineExceeded {
		t.Errorf("an impatient caller: %v", err)
	}
	close(hold)
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestSourceIsDeletedDuringASync: the sync's result comes too late and changes nothing.
func TestSourceIsDeletedDuringASync(t *testing.T) {
	w := newWorld(t)
	r := w.asleep(config())
	r.notes()
	hold := make(chan struct{})
	w.bridge.set(func() { w.bridge.hold, w.bridge.discovers = hold, 0 })
	done := make(chan error, 1)
	go func() {
		_, err := r.sources.SyncSource(t.Context(), &registryv1.SyncSourceRequest{SourceId: "notes"})
		done <- err
	}()
	testpoll.Until(w.t, "the look has begun", func() bool { return w.bridge.discovered() == 1 })
	if _, err := r.sources.DeleteSource(t.Context(), &registryv1.DeleteSourceRequest{SourceId: "notes"}); err != nil {
		t.Fatal(err)
	}
	close(hold)
	if err := <-done; fault.CodeOf(err) != "conflict" {
		t.Errorf("sync: %v", err)
	}
	if r.has("notes__send") {
		t.Error("the tools are back")
	}
}

// Sources that accept connections and do not answer are waited for concurrently.
func TestSourcesThatDoNotAnswerAreRefreshedTogether(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	const sources = 20
	for i := range sources {
		if _, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{
			Source: &registryv1.Source{Name: fmt.Sprintf("silent-%d", i), Kind: "mcp", Url: "http://x/"},
		}); err != nil {
			t.Fatal(err)
		}
	}
	hold := make(chan struct{})
	w.bridge.set(func() { w.bridge.hold = hold })
	before := w.bridge.discovered()
	done := make(chan error, 1)
	go func() {
		_, err := r.tools.RefreshTools(t.Context(), &registryv1.RefreshToolsRequest{})
		done <- err
	}()
	testpoll.Until(w.t, "all are asked before one has answered", func() bool { return w.bridge.discovered() == before+sources })
	close(hold)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestExcludedTools: tools that the owner switched off are neither offered nor called, whatever the kind of source.
func TestExcludedTools(t *testing.T) {
	w, api := newWorld(t), newPetAPI(t)
	r := w.start(config())
	src := r.notes()
	call := r.request("notes__send", "k1")
	pets := r.createAPI(&registryv1.Source{Name: "pets", Url: api.URL + "/openapi.json", Exclude: []string{"add*"}})
	if pets.GetToolCount() != 2 {
		t.Errorf("created: %v", pets)
	}
	exclude := func(id string, globs ...string) *registryv1.Source {
		t.Helper()
		got, err := r.sources.UpdateSource(t.Context(), &registryv1.UpdateSourceRequest{
			Source: &registryv1.Source{Id: id, Exclude: globs}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"exclude"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := exclude(pets.GetId()); got.GetToolCount() != 3 {
		t.Errorf("an API with all tools: %v", got)
	}
	if got := exclude(src.GetId(), "send", "p*"); got.GetToolCount() != 1 || len(got.GetExclude()) != 2 {
		t.Errorf("excluded: %v", got)
	}
	if s := r.call(t.Context(), call); s.completed.GetCode() != "not_found" {
		t.Errorf("called: %s %s", s.completed.GetCode(), s.text())
	}
	if got := exclude(src.GetId()); got.GetToolCount() != 3 {
		t.Errorf("not excluded any more: %v", got)
	}
	if s := r.call(t.Context(), call); s.completed.GetCode() != "" {
		t.Errorf("called: %s %s", s.completed.GetCode(), s.text())
	}
}
