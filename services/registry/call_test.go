package registry_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/libs/testwant"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func TestCallOfATurn(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	r.notes()
	w.bridge.set(func() {
		w.bridge.call = func(_ context.Context, _ *mcpbridgev1.CallToolRequest, send func(float64, float64, string)) (*mcpbridgev1.CallToolResult,
			error,
		) {
			send(1, 2, "half")
			res := answer("sent")
			res.StructuredContent = structpb.NewStringValue("x")
			return res, nil
		}
	})
	s := r.call(t.Context(), r.request("notes__send", "trn_1/tool-1.0"))
	if s.err != nil {
		t.Fatal(s.err)
	}
	if !s.decided.GetAllowed() || s.decided.GetDecisionId() == "" || s.executing.GetExecutionId() == "" || s.text() != "sent" {
		t.Errorf("story %+v", s)
	}
	c := s.completed
	testwant.Equal(t, "completed: Result.CallId", c.GetResult().GetCallId(), "call_1")
	testwant.Equal(t, "completed: Result.Tool", c.GetResult().GetTool(), "notes__send")
	testwant.Equal(t, "completed: Result.StructuredContent.StringValue", c.GetResult().GetStructuredContent().GetStringValue(), "x")
	testwant.Equal(t, "completed: Cached", c.GetCached(), false)
	testwant.Equal(t, "completed: Unresolved", c.GetUnresolved(), false)
	testwant.Equal(t, "completed: Code", c.GetCode(), "")
	testwant.Equal(t, "completed: ExecutionId", c.GetExecutionId(), s.executing.GetExecutionId())
	sent := w.bridge.seen()[0]
	if sent.GetTool() != "send" || string(sent.GetArgumentsJson()) != `{"text":"hi"}` || sent.GetServer().GetName() != "notes" {
		t.Errorf("sent %v", sent)
	}
	m := sent.GetMeta()
	testwant.Equal(t, `meta: ["windlass/idempotency_key"]`, m["windlass/idempotency_key"], "trn_1/tool-1.0")
	testwant.Equal(t, `meta: ["windlass/turn_id"]`, m["windlass/turn_id"], "trn_1")
	testwant.Equal(t, `meta: ["windlass/session_id"]`, m["windlass/session_id"], "ses_1")
	testwant.Equal(t, `meta: ["windlass/call_id"]`, m["windlass/call_id"], "call_1")
	row := r.row("trn_1/tool-1.0")
	if enum.Name(row.GetState()) != "done" || row.GetAttempts() != 1 || row.GetSubject() != "local" || row.GetArgumentsHash() == "" ||
		row.GetEndTime() == nil {
		t.Errorf("row %v", row)
	}
	asked := w.policy.requests()[0]
	testwant.Equal(t, "policy was asked: Tool", asked.GetTool(), "notes__send")
	testwant.Equal(t, "policy was asked: Source", asked.GetSource(), "notes")
	testwant.Equal(t, "policy was asked: Effect", asked.GetEffect(), turnv1.EffectClass_EFFECT_CLASS_ONCE)
	testwant.Equal(t, "policy was asked: ArgumentsHash", asked.GetArgumentsHash(), row.GetArgumentsHash())
	testwant.Equal(t, "policy was asked: TurnId", asked.GetTurnId(), "trn_1")
	testwant.Equal(t, "policy was asked: Principal.Subject", asked.GetPrincipal().GetSubject(), "local")

	again := r.call(t.Context(), r.request("notes__send", "trn_1/tool-1.0"))
	testwant.Equal(t, "the key again: completed.Cached", again.completed.GetCached(), true)
	testwant.Equal(t, "the key again: text", again.text(), "sent")
	testwant.Equal(t, "the key again: completed.ExecutionId", again.completed.GetExecutionId(), c.GetExecutionId())
	testwant.Len(t, "the key again: bridge.seen", w.bridge.seen(), 1)
	if again.decided.GetDecisionId() != s.decided.GetDecisionId() {
		t.Errorf("the decision of then: %v", again.decided)
	}
	other := r.request("notes__send", "trn_1/tool-1.0")
	other.ArgumentsJson = `{"text":"other"}`
	if s := r.call(t.Context(), other); fault.CodeOf(s.err) != "idempotency_conflict" {
		t.Errorf("the key for another call: %+v", s)
	}
}

// TestWhatTheModelIsTold covers failures before a call is sent.
func TestWhatTheModelIsTold(t *testing.T) {
	w := newWorld(t)
	w.policy.allow = []string{"notes__*", "mesh__*"}
	r := w.start(config())
	r.notes()
	if _, err := r.sources.CreateSource(t.Context(),
		&registryv1.CreateSourceRequest{Source: &registryv1.Source{Name: "off", Kind: "mcp", Url: "http://x/"}}); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, tool, args, code string
		change                 func(*registryv1.CallToolRequest)
		want                   []string
	}{
		{
			name: "a wrong type", tool: "notes__send", args: `{"text":7}`, code: "invalid_tool_arguments",
			want: []string{"arguments/text", "want string", "not called", "call it again"},
		},
		{
			name: "a missing argument", tool: "notes__send", args: `{}`, code: "invalid_tool_arguments",
			want: []string{"arguments/text: is required"},
		},
		{name: "broken JSON", tool: "notes__send", args: `{"text":`, code: "invalid_tool_arguments", want: []string{"ends too early"}},
		{name: "no object", tool: "notes__send", args: `[]`, code: "invalid_tool_arguments", want: []string{"an array"}},
		{
			name: "far too long", tool: "notes__send", args: `{"text":"` + strings.Repeat("x", 1<<20) + `"}`, code: "invalid_tool_arguments",
			want: []string{"longer than"},
		},
		{name: "a misspelt name", tool: "notes__sent", args: `{}`, code: "not_found", want: []string{"notes__sent", "Did you mean notes__send"}},
		{name: "a name without source", tool: "send", args: `{}`, code: "not_found", want: []string{"Did you mean notes__send"}},
		{name: "nothing like it", tool: "weather", args: `{}`, code: "not_found", want: []string{"from the list"}},
		{
			name: "outside the surface", tool: "notes__send", args: `{"text":"x"}`, code: "not_found", want: []string{"no tool"},
			change: func(r *registryv1.CallToolRequest) { r.DefinitionHash = "" },
		},
	} {
		req := &registryv1.CallToolRequest{
			Principal: authn.Local(), Tool: row.tool, DefinitionHash: r.pinned("notes__send").GetDefinitionHash(), ArgumentsJson: row.args,
			Key: row.name,
		}
		if row.change != nil {
			row.change(req)
		}
		s := r.call(t.Context(), req)
		if s.err != nil || s.completed.GetCode() != row.code || !s.completed.GetResult().GetIsError() || s.completed.GetExecutionId() != "" {
			t.Errorf("%s: %+v", row.name, s)
		}
		for _, part := range row.want {
			if !strings.Contains(s.text(), part) {
				t.Errorf("%s: %q lacks %q", row.name, s.text(), part)
			}
		}
	}
	w.policy.set(func() { w.policy.allow = []string{"notes__send"} })
	req := r.request("notes__send", "denied")
	w.policy.set(func() { w.policy.allow = nil })
	s := r.call(t.Context(), req)
	if s.decided == nil || s.decided.GetAllowed() || s.completed.GetCode() != "permission_denied" ||
		!strings.Contains(s.text(), "may not use") {
		t.Errorf("denied: %+v", s)
	}
	if n := len(w.bridge.seen()); n != 0 {
		t.Errorf("%d calls were sent", n)
	}
	if row := r.row("denied"); row != nil {
		t.Errorf("a call that was denied is in the ledger: %v", row)
	}
	w.policy.set(func() { w.policy.away = true })
	if s := r.call(t.Context(), req); fault.From(s.err).Code != codes.Unavailable {
		t.Errorf("without policy nothing is decided: %+v", s)
	}
}

// TestWhenTheServerFails covers failures in transit, by effect class.
func TestWhenTheServerFails(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	r.notes()
	for _, row := range []struct {
		name, tool string
		fail       func() error
		times      int // fails this often, then answers
		code       string
		state      string
		sends      int
		unresolved bool
		tries      int // attempts to reach the server, if different
	}{
		{"unreachable", "notes__send", unreachable, 9, "tool_unavailable", "failed", 1, false, 3},
		{"unreachable, then well", "notes__send", unreachable, 2, "", "done", 1, false, 3},
		{"in doubt, once", "notes__send", outcomeUnknown, 9, "outcome_unknown", "unresolved", 1, true, 0},
		{"broken stream, once", "notes__send", func() error { return fault.Internal(nil) }, 9, "outcome_unknown", "unresolved", 1, true, 0},
		{
			"bridge died under way, once", "notes__send", func() error { return fault.Unavailable(0, "transport is closing") }, 9, "outcome_unknown",
			"unresolved", 1, true, 0,
		},
		{
			"refused by the bridge", "notes__send", func() error { return fault.Invalid("server.url", "bad") }, 9, "tool_unavailable", "failed", 1,
			false, 0,
		},
		{"in doubt, read, then well", "notes__read", outcomeUnknown, 2, "", "done", 3, false, 0},
		{"in doubt, put, then well", "notes__put", outcomeUnknown, 1, "", "done", 2, false, 0},
		{"in doubt, put, always", "notes__put", outcomeUnknown, 9, "tool_unavailable", "unresolved", 3, false, 0},
		{"unreachable, read", "notes__read", unreachable, 9, "tool_unavailable", "failed", 1, false, 3},
		{
			"timed out, read", "notes__read", func() error { return fault.New(codes.DeadlineExceeded, 18, "too slow") }, 9, "deadline_exceeded",
			"unresolved", 1, false, 0,
		},
		{
			"timed out, once", "notes__send", func() error { return fault.New(codes.DeadlineExceeded, 18, "too slow") }, 9, "outcome_unknown",
			"unresolved", 1, true, 0,
		},
		{
			"hung in the handshake, once", "notes__send",
			func() error {
				return fault.New(codes.DeadlineExceeded, faultv1.Reason_REASON_TOOL_UNAVAILABLE, "it did not answer in time")
			},
			9, "tool_unavailable", "failed", 1, false, 0,
		},
		{"ended without a result, once", "notes__send", func() error { return nil }, 9, "outcome_unknown", "unresolved", 1, true, 0},
	} {
		before := len(w.bridge.seen())
		failures := 0
		w.bridge.set(func() {
			w.bridge.call = func(context.Context, *mcpbridgev1.CallToolRequest, func(float64, float64, string)) (*mcpbridgev1.CallToolResult,
				error,
			) {
				w.bridge.mu.Lock()
				defer w.bridge.mu.Unlock()
				if failures++; failures <= row.times {
					return nil, row.fail()
				}
				return answer("well"), nil
			}
		})
		s := r.call(t.Context(), r.request(row.tool, row.name))
		if s.err != nil || s.completed.GetCode() != row.code || s.completed.GetUnresolved() != row.unresolved ||
			s.completed.GetResult().GetIsError() != (row.code != "") || s.executing == nil {
			t.Errorf("%s: %+v %q", row.name, s, s.text())
		}
		if got := r.row(row.name); enum.Name(got.GetState()) != row.state || int(got.GetAttempts()) != row.sends || got.GetCode() != row.code {
			t.Errorf("%s: row %v", row.name, got)
		}
		sent := w.bridge.seen()[before:]
		if len(sent) != max(row.sends, row.tries) {
			t.Errorf("%s: sent %d times", row.name, len(sent))
		}
		for _, call := range sent {
			if call.GetMeta()["windlass/idempotency_key"] != row.name {
				t.Errorf("%s: another key on the way: %v", row.name, call.GetMeta())
			}
		}
	}
	// On a second request, a call that did not run may run; one that may have run is repeated only if its class allows that.
	w.bridge.set(func() { w.bridge.call = newBridge().call })
	for key, want := range map[string]struct {
		tool, code string
		sent       bool
	}{
		"unreachable":           {"notes__send", "", true},
		"in doubt, once":        {"notes__send", "outcome_unknown", false},
		"in doubt, put, always": {"notes__put", "", true},
		"timed out, read":       {"notes__read", "", true},
	} {
		before := len(w.bridge.seen())
		s := r.call(t.Context(), r.request(want.tool, key))
		if s.completed.GetCode() != want.code || (len(w.bridge.seen()) > before) != want.sent || s.completed.GetUnresolved() == want.sent {
			t.Errorf("%s, again: %+v", key, s)
		}
	}
}

// TestSlowCalls: the bridge reports its timeout as a call in doubt. It is not retried: the time is up.
func TestSlowCalls(t *testing.T) {
	w := newWorld(t)
	cfg := config()
	cfg.CallTimeout = 30 * time.Millisecond
	r := w.start(cfg)
	r.notes()
	w.bridge.set(func() {
		w.bridge.call = func(ctx context.Context, req *mcpbridgev1.CallToolRequest,
			_ func(float64, float64, string),
		) (*mcpbridgev1.CallToolResult, error) {
			select {
			case <-time.After(req.GetServer().GetCallTimeout().AsDuration()):
				return nil, outcomeUnknown()
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	})
	for tool, code := range map[string]string{
		"notes__read": "deadline_exceeded", "notes__put": "deadline_exceeded",
		"notes__send": "outcome_unknown",
	} {
		s := r.call(t.Context(), r.request(tool, tool))
		if s.completed.GetCode() != code || !strings.Contains(s.text(), "did not answer within 30ms") ||
			s.completed.GetUnresolved() != (tool == "notes__send") {
			t.Errorf("%s: %+v", tool, s)
		}
	}
	if n := len(w.bridge.seen()); n != 3 {
		t.Errorf("%d calls were sent", n)
	}
}

func TestCallersShareAnExecution(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	r.notes()
	release := make(chan struct{})
	w.bridge.set(func() {
		w.bridge.call = func(ctx context.Context, _ *mcpbridgev1.CallToolRequest,
			send func(float64, float64, string),
		) (*mcpbridgev1.CallToolResult, error) {
			send(1, 10, "begun")
			select {
			case <-release:
				return answer("shared"), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	})
	req := r.request("notes__send", "k")
	first, leave := context.WithCancel(t.Context())
	gone := r.begin(first, req)
	var all sync.WaitGroup
	stories := make(chan story, 8)
	for range 8 {
		all.Go(func() { stories <- r.call(t.Context(), req) })
	}
	leave() // the first caller goes away: the call must not end
	if s := <-gone; fault.From(s.err).Code != codes.Canceled {
		t.Errorf("who left: %+v", s)
	}
	close(release)
	all.Wait()
	for range 8 {
		s := <-stories
		if s.text() != "shared" || s.decided == nil {
			t.Errorf("a caller who joined: %+v", s)
		}
	}
	if n := len(w.bridge.seen()); n != 1 {
		t.Errorf("sent %d times", n)
	}
}

func TestCallersWhoGoAway(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	r.notes()
	release := make(chan struct{})
	ended := make(chan error, 10)
	w.bridge.set(func() {
		w.bridge.call = func(ctx context.Context, _ *mcpbridgev1.CallToolRequest, _ func(float64, float64, string)) (*mcpbridgev1.CallToolResult,
			error,
		) {
			select {
			case <-release:
				ended <- nil
				return answer("done alone"), nil
			case <-ctx.Done():
				ended <- ctx.Err()
				return nil, ctx.Err()
			}
		}
	})
	read, leave := context.WithCancel(t.Context())
	gone := r.begin(read, r.request("notes__read", "read"))
	leave()
	<-gone
	if err := <-ended; err == nil {
		t.Error("a READ that nobody waits for was not cancelled")
	}
	once, leave := context.WithCancel(t.Context())
	gone = r.begin(once, r.request("notes__send", "once"))
	leave()
	<-gone
	close(release)
	if err := <-ended; err != nil {
		t.Error("a ONCE call was cancelled because its caller went away")
	}
	testpoll.Until(w.t, "its result is in the ledger", func() bool { return enum.Name(r.row("once").GetState()) == "done" })
	// The flight of the call may end a moment after its row: then the next caller joins it, and its result is not marked as cached.
	if s := r.call(t.Context(), r.request("notes__send", "once")); s.text() != "done alone" {
		t.Errorf("the next caller: %+v", s)
	}
	select {
	case err := <-ended:
		t.Errorf("the next caller made a ONCE call again: %v", err)
	default:
	}
	if s := r.call(t.Context(), r.request("notes__read", "read")); s.text() != "done alone" || s.completed.GetCached() {
		t.Errorf("the READ again: %+v", s)
	}
}

func TestLargeResults(t *testing.T) {
	w := newWorld(t)
	cfg := config()
	cfg.MaxTextBytes, cfg.MaxResultBytes = 100, 5000
	r := w.start(cfg)
	r.notes()
	reply := func(parts ...string) {
		w.bridge.set(func() {
			w.bridge.call = func(context.Context, *mcpbridgev1.CallToolRequest, func(float64, float64, string)) (*mcpbridgev1.CallToolResult,
				error,
			) {
				res := &mcpbridgev1.CallToolResult{}
				for _, p := range parts {
					res.Content = append(res.Content, answer(p).GetContent()...)
				}
				return res, nil
			}
		})
	}
	reply(strings.Repeat("a", 60), strings.Repeat("é", 40), "never shown")
	s := r.call(t.Context(), r.request("notes__read", "cut"))
	result, wholes := s.completed.GetResult(), s.completed.GetWholes()
	testwant.Equal(t, "cut: Truncated", result.GetTruncated(), true)
	testwant.Len(t, "cut: Content", result.GetContent(), 1)
	testwant.Len(t, "cut: wholes", wholes, 1)
	testwant.Len(t, "cut: ArtifactIds", result.GetArtifactIds(), 1)
	if want := strings.Repeat("a", 60) + "\n" + strings.Repeat("é", 40) + "\nnever shown"; string(wholes[0].GetData()) != want {
		t.Errorf("the whole is %q", wholes[0].GetData())
	}
	id := wholes[0].GetArtifactId()
	if id != "art_"+strings.TrimPrefix(s.completed.GetExecutionId(), "exe_") || wholes[0].GetName() != "notes__read.txt" ||
		result.GetArtifactIds()[0] != id {
		t.Errorf("artifact %s %s of execution %s", id, wholes[0].GetName(), s.completed.GetExecutionId())
	}
	if text := result.GetContent()[0].GetText(); text != strings.Repeat("a", 25)+
		"\n[cut: of 153 bytes the first 25 and the last 11 are shown. The whole is artifact "+id+"; read parts of it with "+
		"mesh__read_artifact.]\nnever shown" {
		t.Errorf("preview %q", text)
	}
	testwant.Len(t, "rows", r.executions(), 1) // it is written by then
	if again := r.call(t.Context(), r.request("notes__read", "cut")); again.completed.GetWholes()[0].GetArtifactId() != id ||
		!again.completed.GetCached() {
		t.Errorf("asked again: %v", again.completed)
	}
	direct, err := r.tools.InvokeTool(t.Context(),
		&registryv1.InvokeToolRequest{Name: "notes__read", Arguments: args(t, map[string]any{"text": "x"})})
	if err != nil || len(direct.GetContent()) != 3 || len(direct.GetContent()[1].GetText()) != 80 {
		t.Errorf("a direct caller gets it whole: %v, %v", direct, err)
	}
	reply(strings.Repeat("a", 6000))
	for range 2 { // the second one comes from the ledger
		s = r.call(t.Context(), r.request("notes__read", "huge"))
		if s.completed.GetCode() != "too_large" || !s.completed.GetResult().GetIsError() ||
			!strings.Contains(string(s.completed.GetWholes()[0].GetData()), "too large") {
			t.Errorf("huge: %+v", s)
		}
	}
	if row := r.row("huge"); enum.Name(row.GetState()) != "done" || !row.GetIsError() {
		t.Errorf("row %v", row)
	}
}

func TestPinnedDefinitions(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	src := r.notes()
	old := r.request("notes__send", "old")
	w.bridge.set(func() {
		changed := tool("send", "once")
		changed.InputSchemaJson = []byte(`{"type":"object","required":["other"]}`)
		changed.RawJson = []byte(`{"name":"send","v":2}`)
		w.bridge.tools["notes"] = []*mcpbridgev1.Tool{changed}
	})
	d, err := r.sources.SyncSource(t.Context(), &registryv1.SyncSourceRequest{SourceId: src.GetId()})
	if err != nil || fmt.Sprint(d.GetChanged(), d.GetRemoved(), d.GetAdded()) != "[notes__send] [notes__put notes__read] []" ||
		d.GetTotal() != 1 {
		t.Fatalf("sync: %v, %v", d, err)
	}
	if s := r.call(t.Context(), old); s.completed.GetCode() != "definition_changed" ||
		!strings.Contains(s.text(), "changed while the turn ran") {
		t.Errorf("under the pinned schema: %+v", s)
	}
	fresh := r.request("notes__send", "new")
	if s := r.call(t.Context(), fresh); s.completed.GetCode() != "invalid_tool_arguments" {
		t.Errorf("under the new schema: %+v", s)
	}
	gone := r.request("notes__send", "gone")
	gone.Tool = "notes__put"
	if s := r.call(t.Context(), gone); s.completed.GetCode() != "not_found" {
		t.Errorf("a tool that its source dropped: %+v", s)
	}
	defs, err := r.calls.GetDefinitions(t.Context(),
		&registryv1.GetDefinitionsRequest{Hashes: []string{"none", fresh.GetDefinitionHash(), old.GetDefinitionHash()}})
	if err != nil || len(defs.GetTools()) != 2 || defs.GetTools()[0].GetDefinitionHash() != fresh.GetDefinitionHash() ||
		!strings.Contains(defs.GetTools()[1].GetInputSchemaJson(), `"text"`) || defs.GetTools()[1].GetName() != "notes__send" {
		t.Errorf("definitions: %v, %v", defs, err)
	}
}
