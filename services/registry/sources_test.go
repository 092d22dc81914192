package registry_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testpoll"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry"
)

func TestBadSourcesAreRefused(t *testing.T) {
	w := newWorld(t)
	r := w.asleep(config())
	type headers = map[string]string
	flow := func(name string) []*registryv1.Workflow { return []*registryv1.Workflow{{Name: name, TaskQueue: "q"}} }
	temporal := func(address string, tls bool) *registryv1.Temporal {
		return &registryv1.Temporal{Address: address, Tls: tls}
	}
	for _, row := range []struct {
		name   string
		source *registryv1.Source
		field  string
	}{
		{"no name", &registryv1.Source{Kind: "mcp", Url: "http://x/"}, "source.name"},
		{"no kind", &registryv1.Source{Name: "a", Url: "http://x/"}, "source.kind"},
		{"an unknown kind", &registryv1.Source{Name: "a", Kind: "soap", Url: "http://x/"}, "source.kind"},
		{"capitals", &registryv1.Source{Name: "Notes", Kind: "mcp", Url: "http://x/"}, "source.name"},
		{"two underscores", &registryv1.Source{Name: "a__b", Kind: "mcp", Url: "http://x/"}, "source.name"},
		{"an underscore at the end", &registryv1.Source{Name: "a_", Kind: "mcp", Url: "http://x/"}, "source.name"},
		{"a long name", &registryv1.Source{Name: strings.Repeat("a", 33), Kind: "mcp", Url: "http://x/"}, "source.name"},
		{"neither url nor command", &registryv1.Source{Name: "a", Kind: "mcp"}, "source.url"},
		{"url and command", &registryv1.Source{Name: "a", Kind: "mcp", Url: "http://x/", Command: []string{"x"}}, "source.url"},
		{"another scheme", &registryv1.Source{Name: "a", Kind: "mcp", Url: "ftp://x/"}, "source.url"},
		{"no host", &registryv1.Source{Name: "a", Kind: "mcp", Url: "http:///mcp"}, "source.url"},
		{"no URL at all", &registryv1.Source{Name: "a", Kind: "mcp", Url: "http://[::1"}, "source.url"},
		{"a password in the URL", &registryv1.Source{Name: "a", Kind: "mcp", Url: "http://me:secret@x/"}, "source.url"},
		{"an empty program", &registryv1.Source{Name: "a", Kind: "mcp", Command: []string{" "}}, "source.command"},
		{
			"headers for a program", &registryv1.Source{Name: "a", Kind: "mcp", Command: []string{"x"}, Headers: headers{"X": "y"}},
			"source.headers",
		},
		{"environment for a URL", &registryv1.Source{Name: "a", Kind: "mcp", Url: "http://x/", Env: headers{"X": "y"}}, "source.env"},
		{"stdio for a URL", &registryv1.Source{Name: "a", Kind: "mcp", Url: "http://x/", Transport: "stdio"}, "source.transport"},
		{"http for a program", &registryv1.Source{Name: "a", Kind: "mcp", Command: []string{"x"}, Transport: "http"}, "source.transport"},
		{
			"a token in the clear", &registryv1.Source{Name: "a", Kind: "mcp", Url: "http://x/", Headers: headers{"authorization": "Bearer abc"}},
			"source.headers.authorization",
		},
		{
			"a key in the clear", &registryv1.Source{Name: "a", Kind: "mcp", Url: "http://x/", Headers: headers{"X-Api-Key": "abc"}},
			"source.headers.X-Api-Key",
		},
		{
			"a cookie in the clear", &registryv1.Source{Name: "a", Kind: "mcp", Url: "http://x/", Headers: headers{"Cookie": "s=1"}},
			"source.headers.Cookie",
		},
		{
			"GitLab's token", &registryv1.Source{Name: "a", Kind: "mcp", Url: "http://x/", Headers: headers{"PRIVATE-TOKEN": "abc"}},
			"source.headers.PRIVATE-TOKEN",
		},
		{
			"a key in the environment", &registryv1.Source{Name: "a", Kind: "mcp", Command: []string{"x"}, Env: headers{"OPENAI_API_KEY": "sk-1"}},
			"source.env.OPENAI_API_KEY",
		},
		{
			"a password in the environment", &registryv1.Source{Name: "a", Kind: "mcp", Command: []string{"x"}, Env: headers{"PGPASSWORD": "x"}},
			"source.env.PGPASSWORD",
		},
		{
			"a broken reference", &registryv1.Source{Name: "a", Kind: "mcp", Url: "http://x/", Headers: headers{"X-Y": "${env:}"}},
			"source.headers.X-Y",
		},
		{
			"a header with a line break", &registryv1.Source{Name: "a", Kind: "mcp", Url: "http://x/", Headers: headers{"X-Y": "a\r\nb: c"}},
			"source.headers.X-Y",
		},
		{"a NUL byte", &registryv1.Source{Name: "a", Kind: "mcp", Command: []string{"x", "a\x00b"}}, "source"},
		{"a NUL byte in a label", &registryv1.Source{Name: "a", Kind: "mcp", Url: "http://x/", Labels: headers{"a": "\x00"}}, "source"},
		{"another built-in source", &registryv1.Source{Name: "a", Kind: "builtin"}, "source.name"},
		{"workflows without Temporal", &registryv1.Source{Name: "a", Kind: "workflow", Workflows: flow("w")}, "source.temporal"},
		{
			"Temporal without a port", &registryv1.Source{Name: "a", Kind: "workflow", Temporal: temporal("t", false), Workflows: flow("w")},
			"source.temporal.address",
		},
		{"no workflows", &registryv1.Source{Name: "a", Kind: "workflow", Temporal: temporal("t:1", false)}, "source.workflows"},
		{
			"a workflow with a wrong name", &registryv1.Source{
				Name: "a", Kind: "workflow", Temporal: temporal("t:1", false), Workflows: flow("a b"),
			}, "source.workflows[0].name",
		},
		{
			"two workflows with one name", &registryv1.Source{
				Name: "a", Kind: "workflow", Temporal: temporal("t:1", false), Workflows: append(flow("w"), flow("w")...),
			}, "source.workflows[1].name",
		},
		{
			"a workflow id of no argument", &registryv1.Source{
				Name: "a", Kind: "workflow", Temporal: temporal("t:1", false),
				Workflows: []*registryv1.Workflow{{Name: "w", TaskQueue: "q", WorkflowId: "x-${args.id}"}},
			}, "source.workflows[0].workflow_id",
		},
		{
			"a parameter that is no argument", &registryv1.Source{
				Name: "a", Kind: "workflow", Temporal: temporal("t:1", false),
				Workflows: []*registryv1.Workflow{{Name: "w", TaskQueue: "q", Positional: []string{"id"}}},
			}, "source.workflows[0].positional",
		},
		{
			"an API key without TLS", &registryv1.Source{
				Name: "a", Kind: "workflow", Temporal: temporal("t:1", false), Workflows: flow("w"),
				Auth: &registryv1.SourceAuth{Kind: "bearer", Secret: "${env:WINDLASS_TOOL_T}"},
			}, "source.temporal.tls",
		},
		{
			"an API key of Temporal in the clear", &registryv1.Source{
				Name: "a", Kind: "workflow", Temporal: temporal("t:1", true), Workflows: flow("w"),
				Auth: &registryv1.SourceAuth{Kind: "bearer", Secret: "abc"},
			}, "source.auth.secret",
		},
		{
			"a password for Temporal", &registryv1.Source{
				Name: "a", Kind: "workflow", Temporal: temporal("t:1", true), Workflows: flow("w"),
				Auth: &registryv1.SourceAuth{Kind: "basic", Username: "u", Secret: "${env:WINDLASS_TOOL_T}"},
			}, "source.auth.kind",
		},
		{
			"workflows with a URL", &registryv1.Source{
				Name: "a", Kind: "workflow", Url: "http://x/", Temporal: temporal("t:1", true), Workflows: flow("w"),
			}, "source.kind",
		},
		{"agents of an MCP server", &registryv1.Source{Name: "a", Kind: "mcp", Url: "http://x/", Agents: []string{"*"}}, "source.agents"},
		{"agents with a URL", &registryv1.Source{Name: "a", Kind: "agent", Url: "http://x/"}, "source.kind"},
		{"agents under the name of sub-agents", &registryv1.Source{Name: "agent", Kind: "agent"}, "source.name"},
		{"workflows of an MCP server", &registryv1.Source{Name: "a", Kind: "mcp", Url: "http://x/", Workflows: flow("w")}, "source.workflows"},
		{"a built-in source with a URL", &registryv1.Source{Name: "mesh", Kind: "builtin", Url: "http://x/"}, "source.kind"},
	} {
		_, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: row.source})
		f := fault.From(err)
		if f == nil || f.Code != codes.InvalidArgument || len(f.Fields) == 0 {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		if f.Fields[0].Path != row.field {
			t.Errorf("%s: field %v, want %s", row.name, f.Fields, row.field)
		}
		if strings.Contains(f.Message, "abc") || strings.Contains(f.Message, "sk-1") || strings.Contains(f.Message, "secret@") {
			t.Errorf("%s: the message shows the secret: %s", row.name, f.Message)
		}
	}
	_, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: &registryv1.Source{
		Name: "a", Kind: "mcp", Url: "http://x/", Headers: headers{"Authorization": "Bearer abc"},
	}})
	if f := fault.From(err); !strings.Contains(f.Message, "Bearer ${env:WINDLASS_TOOL_AUTHORIZATION}") {
		t.Errorf("the fix is not shown: %v", f)
	}
	if _, err := r.sources.GetSource(t.Context(), &registryv1.GetSourceRequest{SourceId: "a\x00"}); fault.CodeOf(err) != "not_found" {
		t.Errorf("an id with a NUL byte: %v", err)
	}
	if list, err := r.sources.ListSources(t.Context(), &registryv1.ListSourcesRequest{}); err != nil || len(list.GetSources()) != 0 {
		t.Errorf("stored all the same: %v, %v", list, err)
	}
}

func TestGoodSources(t *testing.T) {
	w := newWorld(t)
	r := w.asleep(config())
	for _, s := range []*registryv1.Source{
		{Name: "a", Kind: "mcp", Url: "http://127.0.0.1:9000/mcp"},
		{
			Name: "a-b_c1", Kind: "mcp", Url: "https://x/sse", Transport: "sse",
			Headers: map[string]string{"Authorization": "Bearer ${env:TOKEN}", "X-Plain": "v"},
		},
		{
			Name: "p", Kind: "mcp", Command: []string{"npx", "server"}, Dir: "/x",
			Env: map[string]string{"API_KEY": "${env:API_KEY}", "KEYBOARD": "qwerty"},
		},
	} {
		got, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: s})
		if err != nil || enum.Name(got.GetState()) != "ready" || got.GetRevision() != 1 || got.GetServerVersion() != "fake 1.2" ||
			got.GetProtocolVersion() != "2025-11-25" ||
			got.GetSyncTime() == nil || !strings.HasPrefix(got.GetId(), "src_") {
			t.Errorf("%s: %v, %v", s.GetName(), got, err)
		}
		for _, by := range []string{got.GetId(), got.GetName()} {
			if again, err := r.sources.GetSource(t.Context(), &registryv1.GetSourceRequest{SourceId: by}); err != nil ||
				again.String() != got.String() {
				t.Errorf("by %s: %v, %v", by, again, err)
			}
		}
		if _, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: s}); fault.CodeOf(err) != "already_exists" {
			t.Errorf("%s again: %v", s.GetName(), err)
		}
	}
	first, err := r.sources.ListSources(t.Context(), &registryv1.ListSourcesRequest{PageSize: 2})
	if err != nil || len(first.GetSources()) != 2 || first.GetNextPageToken() == "" {
		t.Fatalf("first page: %v, %v", first, err)
	}
	rest, err := r.sources.ListSources(t.Context(), &registryv1.ListSourcesRequest{PageSize: 2, PageToken: first.GetNextPageToken()})
	if err != nil || len(rest.GetSources()) != 1 || rest.GetSources()[0].GetName() != "p" || rest.GetNextPageToken() != "" {
		t.Errorf("second page: %v, %v", rest, err)
	}
	if _, err := r.sources.ListSources(t.Context(),
		&registryv1.ListSourcesRequest{PageToken: "x"}); fault.CodeOf(err) != "invalid_page_token" {
		t.Errorf("garbage token: %v", err)
	}
}

func TestCheckedSourcesAreNotStored(t *testing.T) {
	w := newWorld(t)
	r := w.asleep(config())
	have := r.notes()
	good := &registryv1.Source{Name: "a", Kind: "mcp", Url: "http://127.0.0.1:9000/mcp"}
	got, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: good, ValidateOnly: true})
	if err != nil || got.GetName() != "a" || got.GetId() != "" {
		t.Errorf("a good source: %v, %v", got, err)
	}
	_, err = r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{
		Source:       &registryv1.Source{Name: "a", Kind: "mcp"},
		ValidateOnly: true,
	})
	if f := fault.From(err); f == nil || len(f.Fields) != 1 || f.Fields[0].Path != "source.url" {
		t.Errorf("a bad source: %v", err)
	}
	change := &registryv1.Source{Id: have.GetId(), CallTimeoutSeconds: 7}
	mask := &fieldmaskpb.FieldMask{Paths: []string{"call_timeout_seconds"}}
	got, err = r.sources.UpdateSource(t.Context(), &registryv1.UpdateSourceRequest{Source: change, UpdateMask: mask, ValidateOnly: true})
	if err != nil || got.GetCallTimeoutSeconds() != 7 {
		t.Errorf("a good change: %v, %v", got, err)
	}
	list, err := r.sources.ListSources(t.Context(), &registryv1.ListSourcesRequest{})
	if err != nil || len(list.GetSources()) != 1 || list.GetSources()[0].GetRevision() != have.GetRevision() ||
		list.GetSources()[0].GetCallTimeoutSeconds() != 0 {
		t.Errorf("stored all the same: %v, %v", list, err)
	}
}

func TestUpdateSource(t *testing.T) {
	w := newWorld(t)
	r := w.asleep(config())
	src := r.notes()
	update := func(s *registryv1.Source, paths ...string) (*registryv1.Source, error) {
		s.Id = "notes"
		req := &registryv1.UpdateSourceRequest{Source: s}
		if paths != nil {
			req.UpdateMask = &fieldmaskpb.FieldMask{Paths: paths}
		}
		return r.sources.UpdateSource(t.Context(), req)
	}
	got, err := update(&registryv1.Source{
		Effects: map[string]turnv1.EffectClass{"send": turnv1.EffectClass_EFFECT_CLASS_READ},
		Labels:  map[string]string{"a": "b"},
	}, "effects")
	if err != nil || got.GetRevision() != 2 || len(got.GetLabels()) != 0 || got.GetUrl() != src.GetUrl() {
		t.Errorf("masked: %v, %v", got, err)
	}
	if _, err := update(&registryv1.Source{Revision: 1, Labels: map[string]string{"a": "b"}}, "labels"); status.Code(err) != codes.Aborted {
		t.Errorf("an update of an older revision: %v", err)
	}
	if e := r.pinned("notes__send").GetEffect(); e != turnv1.EffectClass_EFFECT_CLASS_READ {
		t.Errorf("the owner's word on the effect: %v", e)
	}
	if len(w.bridge.released) != 0 {
		t.Error("connections were released for a change of effects")
	}
	if got, err = update(&registryv1.Source{CallTimeoutSeconds: 9, Name: "notes"}); err != nil || got.GetCallTimeoutSeconds() != 9 ||
		len(got.GetEffects()) != 1 {
		t.Errorf("without a mask: %v, %v", got, err)
	}
	if got, err = update(&registryv1.Source{Command: []string{"x"}}, "url", "command", "state", "id"); err != nil || got.GetUrl() != "" ||
		got.GetCommand()[0] != "x" {
		t.Errorf("to a program: %v, %v", got, err)
	}
	if len(w.bridge.released) != 1 || w.bridge.released[0] != src.GetId() {
		t.Errorf("released %v", w.bridge.released)
	}
	for name, row := range map[string]struct {
		s     *registryv1.Source
		paths []string
		want  string
	}{
		"another name":      {&registryv1.Source{Name: "other"}, []string{"name"}, "source.name"},
		"another kind":      {&registryv1.Source{Kind: "builtin"}, []string{"kind"}, "source.kind"},
		"an unknown field":  {&registryv1.Source{}, []string{"colour"}, "update_mask"},
		"no way to call it": {&registryv1.Source{}, []string{"command"}, "source.url"},
	} {
		_, err := update(row.s, row.paths...)
		if f := fault.From(err); f == nil || len(f.Fields) == 0 || f.Fields[0].Path != row.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err = update(&registryv1.Source{Disabled: true}, "disabled"); err != nil || !got.GetDisabled() {
		t.Fatalf("switch off: %v, %v", got, err)
	}
	if _, err := r.sources.SyncSource(t.Context(),
		&registryv1.SyncSourceRequest{SourceId: "notes"}); fault.CodeOf(err) != "failed_precondition" {
		t.Errorf("sync of a source that is off: %v", err)
	}
	if _, err := r.tools.GetTool(t.Context(), &registryv1.GetToolRequest{Name: "notes__send"}); fault.CodeOf(err) != "not_found" {
		t.Errorf("a tool of a source that is off: %v", err)
	}
	if _, err := r.tools.InvokeTool(t.Context(), &registryv1.InvokeToolRequest{Name: "notes__send"}); fault.CodeOf(err) != "not_found" {
		t.Errorf("invoke a tool of a source that is off: %v", err)
	}
	if _, err := r.sources.DeleteSource(t.Context(), &registryv1.DeleteSourceRequest{SourceId: "notes"}); err != nil {
		t.Error(err)
	}
	if _, err := r.sources.DeleteSource(t.Context(), &registryv1.DeleteSourceRequest{SourceId: "notes"}); fault.CodeOf(err) != "not_found" {
		t.Errorf("deleted twice: %v", err)
	}
	if _, err := update(&registryv1.Source{}, "disabled"); fault.CodeOf(err) != "not_found" {
		t.Errorf("update of nothing: %v", err)
	}
}

func TestConfiguredSources(t *testing.T) {
	w := newWorld(t)
	w.bridge.set(func() { w.bridge.tools["calc"] = []*mcpbridgev1.Tool{tool("evaluate", "read")} })
	cfg := config()
	cfg.Sources = []registry.SourceConfig{{Source: &registryv1.Source{
		Name: "calc", Url: "http://127.0.0.1:1/mcp",
		Effects: map[string]turnv1.EffectClass{"evaluate": turnv1.EffectClass_EFFECT_CLASS_IDEMPOTENT},
	}}}
	one := w.start(cfg)
	ready := func(r *replica) *registryv1.Source {
		var src *registryv1.Source
		testpoll.Until(w.t, "calc is ready", func() bool {
			var err error
			src, err = r.sources.GetSource(t.Context(), &registryv1.GetSourceRequest{SourceId: "calc"})
			return err == nil && enum.Name(src.GetState()) == "ready"
		})
		return src
	}
	first := ready(one)
	if e := one.pinned("calc__evaluate").GetEffect(); e != turnv1.EffectClass_EFFECT_CLASS_IDEMPOTENT {
		t.Errorf("effect %v", e)
	}
	one.stop()
	two := w.start(cfg)
	if same := ready(two); same.GetId() != first.GetId() || same.GetRevision() != 1 {
		t.Errorf("started again: %v", same)
	}
	two.stop()
	cfg.Sources[0].Url = "http://127.0.0.1:2/mcp"
	three := w.start(cfg)
	testpoll.Until(w.t, "the new address is stored", func() bool { return ready(three).GetUrl() == "http://127.0.0.1:2/mcp" })
	if s := ready(three); s.GetRevision() != 2 || s.GetId() != first.GetId() {
		t.Errorf("changed: %v", s)
	}
	three.meshTools()
	s := three.call(t.Context(), three.request("mesh__current_time", "now"))
	if s.completed.GetCode() != "invalid_tool_arguments" { // "text" is not an argument of it
		t.Errorf("mesh tool: %+v", s)
	}
	req := three.request("mesh__current_time", "now")
	req.ArgumentsJson = `{"time_zone":"Mars/Base"}`
	if s := three.call(t.Context(), req); !s.completed.GetResult().GetIsError() || !strings.Contains(s.text(), "unknown time zone") {
		t.Errorf("mesh tool, a wrong zone: %+v", s)
	}
	resp, err := three.tools.InvokeTool(t.Context(), &registryv1.InvokeToolRequest{Name: "mesh__uuid"})
	if err != nil || len(resp.GetContent()) != 1 || len(resp.GetContent()[0].GetText()) != 36 {
		t.Errorf("mesh__uuid: %v, %v", resp, err)
	}
}

func TestBadConfigurationIsRefused(t *testing.T) {
	w := newWorld(t)
	for want, change := range map[string]func(*registry.Config){
		"must not be negative": func(c *registry.Config) { c.LeaseTTL = -1 },
		"max_text_bytes":       func(c *registry.Config) { c.MaxTextBytes = -1 },
		"exactly one of":       func(c *registry.Config) { c.Sources = []registry.SourceConfig{{Source: &registryv1.Source{Name: "a"}}} },
		"duplicate name": func(c *registry.Config) {
			one := registry.SourceConfig{Source: &registryv1.Source{Name: "a", Url: "http://x/"}}
			c.Sources = []registry.SourceConfig{one, one}
		},
	} {
		cfg := config()
		change(&cfg)
		_, err := registry.New(cfg, registry.Deps{
			DB: w.db, Policy: w.policyClient, Bridge: w.bridgeClient, Egress: w.egress, Artifacts: w.artifacts,
			Sessions: w.sessions, Agents: w.sessions, AgentCalls: w.agents.client(),
			Log: slog.New(slog.DiscardHandler),
		})
		if err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if _, err := registry.New(registry.Config{}, registry.Deps{}); err == nil {
		t.Error("no dependencies, no error")
	}
}
