package registry_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testwant"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func TestListToolsShowsWhatTheCallerMayUse(t *testing.T) {
	w := newWorld(t)
	r := w.asleep(config())
	var many []*mcpbridgev1.Tool
	for i := range 1200 {
		many = append(many, tool(fmt.Sprintf("t%04d", i), "once"))
	}
	w.bridge.tools["big"] = many
	r.notes()
	if _, err := r.sources.CreateSource(t.Context(),
		&registryv1.CreateSourceRequest{Source: &registryv1.Source{Name: "big", Kind: "mcp", Url: "http://x/"}}); err != nil {
		t.Fatal(err)
	}
	w.policy.set(func() { w.policy.allow = []string{"notes__r*", "notes__send", "big__*7"} })
	list := func(req *registryv1.ListToolsRequest) (names []string) {
		t.Helper()
		for {
			resp, err := r.tools.ListTools(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			for _, tool := range resp.GetTools() {
				names = append(names, tool.GetName())
			}
			if req.PageToken = resp.GetNextPageToken(); req.GetPageToken() == "" {
				return names
			}
			if len(resp.GetTools()) != int(req.GetPageSize()) {
				t.Errorf("a page of %d", len(resp.GetTools()))
			}
		}
	}
	if got := list(&registryv1.ListToolsRequest{PageSize: 50}); len(got) != 122 || got[0] != "big__t0007" || got[121] != "notes__send" {
		t.Errorf("%d tools: %v", len(got), got)
	}
	if got := list(&registryv1.ListToolsRequest{PageSize: 1, Source: "notes"}); fmt.Sprint(got) != "[notes__read notes__send]" {
		t.Errorf("of notes: %v", got)
	}
	got, err := r.tools.GetTool(t.Context(), &registryv1.GetToolRequest{Name: "notes__read"})
	if err != nil {
		t.Fatal(err)
	}
	testwant.Equal(t, "GetTool: OriginalName", got.GetOriginalName(), "read")
	testwant.Equal(t, "GetTool: Source", got.GetSource(), "notes")
	testwant.Equal(t, "GetTool: Available", got.GetAvailable(), true)
	testwant.Equal(t, "GetTool: Effect", got.GetEffect(), turnv1.EffectClass_EFFECT_CLASS_READ)
	testwant.Equal(t, "GetTool: InputSchemaJson", got.GetInputSchemaJson(), string(tool("read", "read").GetInputSchemaJson()))
	testwant.Equal(t, "GetTool: Description", got.GetDescription(), "does read")
	for _, name := range []string{"notes__put", "notes__none"} {
		_, err := r.tools.GetTool(t.Context(), &registryv1.GetToolRequest{Name: name})
		if f := fault.From(err); f.Code != codes.NotFound || f.Message != fmt.Sprintf("there is no tool %q", name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	resolved, err := r.calls.ResolveTools(t.Context(),
		&registryv1.ResolveToolsRequest{Globs: []string{"notes__*", "big__t00?7"}, Principal: authn.Local()})
	if err != nil || len(resolved.GetTools()) != 12 || resolved.GetTools()[10].GetName() != "notes__read" {
		t.Errorf("resolved: %v, %v", resolved, err)
	}
	w.policy.set(func() { w.policy.away = true })
	if _, err := r.tools.ListTools(t.Context(), &registryv1.ListToolsRequest{}); fault.From(err).Code != codes.Unavailable {
		t.Errorf("without policy nothing is shown: %v", err)
	}
}

func TestInvokeTool(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	r.notes()
	invoke := func(name, key string, arguments map[string]any) (*registryv1.InvokeToolResponse, error) {
		return r.tools.InvokeTool(t.Context(), &registryv1.InvokeToolRequest{Name: name, Arguments: args(t, arguments), IdempotencyKey: key})
	}
	first, err := invoke("notes__send", "k", map[string]any{"text": "x", "n": 1})
	if err != nil || first.GetCached() || first.GetContent()[0].GetText() != "ok" || first.GetExecutionId() == "" {
		t.Fatalf("first: %v, %v", first, err)
	}
	again, err := invoke("notes__send", "k", map[string]any{"n": 1, "text": "x"})
	if err != nil || !again.GetCached() || again.GetExecutionId() != first.GetExecutionId() || len(w.bridge.seen()) != 1 {
		t.Errorf("the key again: %v, %v", again, err)
	}
	if got := string(w.bridge.seen()[0].GetArgumentsJson()); got != `{"n":1,"text":"x"}` {
		t.Errorf("arguments %s", got)
	}
	w.bridge.set(func() {
		w.bridge.call = func(_ context.Context, req *mcpbridgev1.CallToolRequest, _ func(float64, float64, string)) (*mcpbridgev1.CallToolResult,
			error,
		) {
			if req.GetTool() == "send" {
				return nil, outcomeUnknown()
			}
			no := answer("I will not")
			no.IsError = true
			return no, nil
		}
	})
	no, err := invoke("notes__read", "", map[string]any{"text": "x"})
	if err != nil || !no.GetIsError() || no.GetContent()[0].GetText() != "I will not" {
		t.Errorf("a tool that says no: %v, %v", no, err)
	}
	for _, row := range []struct {
		name, tool, key, code string
		arguments             map[string]any
		status                codes.Code
	}{
		{"another body", "notes__send", "k", "idempotency_conflict", map[string]any{"text": "y"}, codes.AlreadyExists},
		{"another tool", "notes__read", "k", "idempotency_conflict", map[string]any{"text": "x", "n": 1}, codes.AlreadyExists},
		{"wrong arguments", "notes__send", "", "invalid_tool_arguments", map[string]any{"text": 1}, codes.InvalidArgument},
		{"a key with a NUL byte", "notes__send", "a\x00", "invalid_argument", map[string]any{"text": "x"}, codes.InvalidArgument},
		{"a name with a NUL byte", "notes__\x00", "", "not_found", nil, codes.NotFound},
		{"no such tool", "notes__none", "", "not_found", nil, codes.NotFound},
		{"in doubt", "notes__send", "", "outcome_unknown", map[string]any{"text": "x"}, codes.Aborted},
	} {
		_, err := invoke(row.tool, row.key, row.arguments)
		f := fault.From(err)
		if f == nil || f.Code != row.status || fault.CodeName(f.Reason) != row.code {
			t.Errorf("%s: %v", row.name, err)
		}
		if row.code == "invalid_tool_arguments" && (len(f.Fields) != 1 || f.Fields[0].Path != "arguments/text") {
			t.Errorf("%s: fields %v", row.name, f.Fields)
		}
	}
	w.policy.set(func() { w.policy.allow = nil })
	_, err = invoke("notes__send", "", map[string]any{"text": "x"})
	_, none := invoke("notes__none", "", map[string]any{"text": "x"})
	if fault.From(err).Code != codes.NotFound || fault.From(err).Todo != fault.From(none).Todo {
		t.Errorf("a forbidden tool must look like a missing one: %v, %v", fault.From(err), fault.From(none))
	}
}

// unreachableBridge is a bridge that is unreachable for a while.
type unreachableBridge struct {
	mcpbridgev1.BridgeServiceClient
	away, knocks int
}

func (k *unreachableBridge) CallTool(ctx context.Context, req *mcpbridgev1.CallToolRequest,
	opts ...grpc.CallOption,
) (grpc.ServerStreamingClient[mcpbridgev1.CallToolResponse], error) {
	if k.knocks++; k.knocks <= k.away {
		return nil, status.Error(codes.Unavailable, "connection refused")
	}
	return k.BridgeServiceClient.CallTool(ctx, req, opts...)
}

func TestBridgeIsAway(t *testing.T) {
	w := newWorld(t)
	knocked := &unreachableBridge{BridgeServiceClient: w.bridgeClient, away: 2}
	w.bridgeClient = knocked
	r := w.start(config())
	r.notes()
	if s := r.call(t.Context(), r.request("notes__send", "short")); s.text() != "ok" || r.row("short").GetAttempts() != 1 {
		t.Errorf("away for a moment: %+v, %v", s, r.row("short"))
	}
	knocked.knocks, knocked.away = 0, 1000
	if s := r.call(t.Context(), r.request("notes__send", "long")); s.completed.GetCode() != "tool_unavailable" || s.completed.GetUnresolved() {
		t.Errorf("away for long: %+v", s)
	}
	if got := r.row("long"); enum.Name(got.GetState()) != "failed" || knocked.knocks != 5 {
		t.Errorf("row %v after %d knocks", got, knocked.knocks)
	}
}

func TestListExecutions(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	r.notes()
	for i := range 5 {
		req := r.request("notes__read", fmt.Sprint("k", i))
		req.TurnId = fmt.Sprint("trn_", i%2)
		r.call(t.Context(), req)
	}
	req := &registryv1.ListExecutionsRequest{PageSize: 2, TurnId: "trn_0", Tool: "notes__read"}
	var keys []string
	for {
		resp, err := r.tools.ListExecutions(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range resp.GetExecutions() {
			keys = append(keys, e.GetKey())
		}
		if req.PageToken = resp.GetNextPageToken(); req.GetPageToken() == "" {
			break
		}
	}
	if fmt.Sprint(keys) != "[k4 k2 k0]" {
		t.Errorf("keys %v", keys)
	}
	if _, err := r.tools.ListExecutions(t.Context(),
		&registryv1.ListExecutionsRequest{PageToken: "zz"}); fault.CodeOf(err) != "invalid_page_token" {
		t.Errorf("garbage: %v", err)
	}
}

func TestToolsAreFoundByWords(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	create := func(name string, endpoints ...*registryv1.Endpoint) {
		r.createHTTP(&registryv1.Source{Name: name, BaseUrl: "http://127.0.0.1:1", Endpoints: endpoints})
	}
	create("github", &registryv1.Endpoint{Name: "create_issue", Method: "POST", Path: "/", Description: "Opens an issue in a repository."},
		&registryv1.Endpoint{Name: "list_issues", Path: "/", Description: "Lists the issues of a repository."})
	create("mail", &registryv1.Endpoint{Name: "send", Method: "POST", Path: "/", Description: "Sends a message.", Tags: []string{"issues"}})
	listed := func(req *registryv1.ListToolsRequest) string {
		t.Helper()
		var names []string
		for {
			resp, err := r.tools.ListTools(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			for _, tool := range resp.GetTools() {
				names = append(names, tool.GetName())
			}
			if req.PageToken = resp.GetNextPageToken(); req.GetPageToken() == "" {
				return strings.Join(names, " ")
			}
		}
	}
	if got := listed(&registryv1.ListToolsRequest{Tag: "issues"}); got != "mail__send" {
		t.Errorf("by tag: %s", got)
	}
	if got := listed(&registryv1.ListToolsRequest{Effect: turnv1.EffectClass_EFFECT_CLASS_ONCE, PageSize: 1}); got !=
		"github__create_issue mail__send" {
		t.Errorf("by effect class: %s", got)
	}
	find := func(query, source string, limit int32) string {
		t.Helper()
		resp, err := r.tools.SearchTools(t.Context(), &registryv1.SearchToolsRequest{Query: query, Source: source, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range resp.GetTools() {
			if f.GetScore() <= 0 || f.GetTool().GetInputSchemaJson() == "" {
				t.Errorf("found %v", f)
			}
			names = append(names, f.GetTool().GetName())
		}
		return strings.Join(names, " ")
	}
	if got := find("Create issues", "", 0); got != "github__create_issue github__list_issues mail__send" {
		t.Errorf("found %s", got)
	}
	if got := find("list issue", "github", 1); got != "github__list_issues" {
		t.Errorf("in one source: %s", got)
	}
	findFor := func(query string, globs ...string) string {
		t.Helper()
		resp, err := r.calls.FindTools(t.Context(), &registryv1.FindToolsRequest{Principal: authn.Local(), Query: query, Globs: globs})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(resp.GetNames(), " ")
	}
	if _, err := r.groups.CreateToolGroup(t.Context(), &registryv1.CreateToolGroupRequest{ToolGroup: &registryv1.ToolGroup{
		Name: "tagged", Selectors: []*registryv1.ToolSelector{{Tags: []string{"issues"}}},
	}}); err != nil {
		t.Fatal(err)
	}
	for globs, want := range map[string]string{
		"*": "github__create_issue github__list_issues mail__send", "github__l*": "github__list_issues", "group:tagged": "mail__send", "x__*": "",
	} {
		if got := findFor("Create issues", globs); got != want {
			t.Errorf("for an agent with %s: %s", globs, got)
		}
	}
	create("tracker", &registryv1.Endpoint{Name: "close_issue", Method: "POST", Path: "/", Description: "Closes an issue."})
	if got := find("close issue", "", 1); got != "tracker__close_issue" {
		t.Errorf("a new tool: %s", got)
	}
	if _, err := r.sources.DeleteSource(t.Context(), &registryv1.DeleteSourceRequest{SourceId: "tracker"}); err != nil {
		t.Fatal(err)
	}
	w.policy.set(func() { w.policy.allow = []string{"mail__*"} })
	if got := findFor("close issue", "*"); got != "mail__send" {
		t.Errorf("for an agent of somebody who may use mail only: %s", got)
	}
	if got := find("close issue", "", 0); got != "mail__send" {
		t.Errorf("after it was deleted, for somebody who may use mail only: %s", got)
	}
	if _, err := r.tools.SearchTools(t.Context(), &registryv1.SearchToolsRequest{}); err == nil {
		t.Error("no query, no error")
	}
}
