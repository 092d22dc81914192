package registry_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry/grpcapi/grpctest"
)

// TestAServerThatAnswersWithSomethingElseIsNotUnreachable: for each kind of source, a server that answers, but not with what the kind
// needs, beside servers that fail.
func TestAServerThatAnswersWithSomethingElseIsNotUnreachable(t *testing.T) {
	serve := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Location", "http://login.invalid/")
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	const page = "<html>Please log in</html>"
	login := serve(200, page)
	http1 := strings.TrimPrefix(login, "http://")
	unreflected := grpctest.Serve(t, grpctest.Options{}).Address
	flow := []*registryv1.Workflow{{Name: "w", WorkflowType: "W", TaskQueue: "q"}}
	w := newWorld(t)
	r := w.start(config())
	for i, row := range []struct {
		name        string
		source      *registryv1.Source
		state, says string
	}{
		{"a login page", &registryv1.Source{Kind: "openapi", Url: login}, "invalid", "document cannot be read"},
		{"no OpenAPI", &registryv1.Source{Kind: "openapi", Url: serve(200, `{"name":"x"}`)}, "invalid", "OpenAPI"},
		{"not UTF-8", &registryv1.Source{Kind: "openapi", Url: serve(200, "\xff\xfe\xfd")}, "invalid", ""},
		{"not found", &registryv1.Source{Kind: "openapi", Url: serve(404, "")}, "invalid", "404"},
		{"forbidden", &registryv1.Source{Kind: "openapi", Url: serve(403, page)}, "invalid", "403"},
		{"moved to a login", &registryv1.Source{Kind: "openapi", Url: serve(302, "")}, "invalid", "redirect"},
		{"broken", &registryv1.Source{Kind: "openapi", Url: serve(503, page)}, "unreachable", "503"},
		{"busy", &registryv1.Source{Kind: "openapi", Url: serve(429, page)}, "unreachable", "429"},
		{
			"no introspection", &registryv1.Source{Kind: "graphql", Url: serve(200, `{"errors":[{"message":"introspection is off"}]}`)},
			"invalid", "introspection is off",
		},
		{"a page for GraphQL", &registryv1.Source{Kind: "graphql", Url: login}, "invalid", ""},
		{"introspection refused", &registryv1.Source{Kind: "graphql", Url: serve(400, "{}")}, "invalid", "400"},
		{"GraphQL is broken", &registryv1.Source{Kind: "graphql", Url: serve(502, "{}")}, "unreachable", "502"},
		{"no reflection", &registryv1.Source{Kind: "grpc", Url: "grpc://" + unreflected}, "invalid", "no reflection"},
		{"no gRPC", &registryv1.Source{Kind: "grpc", Url: "grpc://" + http1}, "invalid", "HTTP/1.1"},
		{
			"no Temporal", &registryv1.Source{Kind: "workflow", Temporal: &registryv1.Temporal{Address: http1}, Workflows: flow}, "invalid",
			"HTTP/1.1",
		},
		{
			"gRPC, but not Temporal", &registryv1.Source{Kind: "workflow", Temporal: &registryv1.Temporal{Address: unreflected}, Workflows: flow},
			"invalid", "not answer as Temporal",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.source.Name = fmt.Sprint("s", i)
			src, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: row.source})
			if err != nil || enum.Name(src.GetState()) != row.state || !strings.Contains(src.GetLastError(), row.says) {
				t.Errorf("%s: %s, %v", src.GetState(), src.GetLastError(), err)
			}
			_, err = r.sources.SyncSource(t.Context(), &registryv1.SyncSourceRequest{SourceId: src.GetId()})
			if todo := fault.From(err).Todo; strings.Contains(todo, "what its server returns") != (row.state == "invalid") {
				t.Errorf("what to do: %q", todo)
			}
		})
	}

	notMCP := fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "no MCP server")
	notMCP.Details = map[string]string{"answered": "true"}
	w.bridge.set(func() { w.bridge.discover = notMCP })
	w.bridge.tools["late"] = []*mcpbridgev1.Tool{tool("a", "read")}
	src, err := r.sources.CreateSource(t.Context(),
		&registryv1.CreateSourceRequest{Source: &registryv1.Source{Name: "late", Kind: "mcp", Url: "http://x/"}})
	if err != nil || enum.Name(src.GetState()) != "invalid" || src.GetLastError() != "no MCP server" {
		t.Fatalf("an MCP server: %v, %v", src, err)
	}
	for _, row := range []struct {
		fails error
		state string
	}{{unreachable(), "unreachable"}, {nil, "ready"}} {
		w.bridge.set(func() { w.bridge.discover = row.fails })
		_, err := r.sources.SyncSource(t.Context(), &registryv1.SyncSourceRequest{SourceId: "late"})
		if (err == nil) != (row.fails == nil) || r.state("late") != row.state {
			t.Errorf("then: %s, %v", r.state("late"), err)
		}
	}
}
