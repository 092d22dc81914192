package source_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/knowledge/source/mcp"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// server is an MCP server behind the registry. Answers are JSON, an error of the protocol as "!text", or of the registry.
type server struct {
	list  func(cursor string) any
	read  map[string]any
	reads []string
}

// ForwardRequest implements mcp.Servers.
func (s *server) ForwardRequest(_ context.Context, in *registryv1.ForwardRequestRequest, _ ...grpc.CallOption,
) (*registryv1.ForwardRequestResponse, error) {
	var params struct{ Cursor, URI string }
	if raw := in.GetParamsJson(); len(raw) > 0 {
		if err := json.Unmarshal(raw, &params); err != nil {
			return nil, err
		}
	}
	answer := any(fault.NotFound("there is no MCP source %q whose resources or prompts you may use", in.GetSource()))
	switch {
	case in.GetSource() != "notes":
	case in.GetMethod() == "resources/list":
		answer = s.list(params.Cursor)
	default:
		s.reads = append(s.reads, params.URI)
		answer = s.read[params.URI]
	}
	switch a := answer.(type) {
	case error:
		return nil, a
	case nil:
		a = "!Resource not found"
		return refusal(a.(string)), nil
	case string:
		if strings.HasPrefix(a, "!") {
			return refusal(a), nil
		}
		return &registryv1.ForwardRequestResponse{Answer: &registryv1.ForwardRequestResponse_ResultJson{ResultJson: []byte(a)}}, nil
	}
	panic("no such answer")
}

func refusal(text string) *registryv1.ForwardRequestResponse {
	return &registryv1.ForwardRequestResponse{Answer: &registryv1.ForwardRequestResponse_Error{
		Error: &registryv1.ProtocolError{Code: -32002, Message: text[1:]},
	}}
}

// listed is a page with these resources.
func listed(next string, uris ...string) string {
	var list []map[string]any
	for _, uri := range uris {
		list = append(list, map[string]any{"uri": uri, "name": uri, "mimeType": "text/markdown", "size": 1})
	}
	raw, _ := json.Marshal(map[string]any{"resources": list, "nextCursor": next}) // cannot fail
	return string(raw)
}

// one is a list with one page.
func one(uris ...string) func(string) any { return func(string) any { return listed("", uris...) } }

// text is the answer with a text.
func text(s string) string {
	return fmt.Sprintf(`{"contents":[{"uri":"a","mimeType":"text/markdown","text":%q}]}`, s)
}

func blob(data string) string {
	return fmt.Sprintf(`{"contents":[{"uri":"a","blob":%q}]}`, base64.StdEncoding.EncodeToString([]byte(data)))
}

// unavailable is the registry's error about a server that does not answer.
func unavailable() error {
	return fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "tool server %q cannot be reached", "notes")
}

var notes = store.SourceSpec{Kind: "mcp", MCPSource: "notes"}

func TestResourcesOfAnMCPSource(t *testing.T) {
	t.Parallel()
	s := &server{
		list: func(cursor string) any {
			if cursor == "" {
				return listed("2", "notes://team/a.md", "notes://team/b/c.md", "file:///x.md")
			}
			return `{"resources":[{"uri":"notes://team/a.md"},{"uri":"notes://own.md","_meta":{"windlass/labels":["board"]}}]}`
		},
		read: map[string]any{
			"notes://team/a.md":   `{"contents":[{"text":"# One"},{"text":"Two","_meta":{"windlass/labels":["staff"]}}]}`,
			"notes://team/b/c.md": blob("# C"), "file:///x.md": text("x"), "notes://own.md": text("mine"),
		},
	}
	kind := mcp.Kind{Servers: s, MaxBytes: maxBytes}
	all := read(t, kind, notes, newVisitor())
	a, own := all.found["notes://team/a.md"], all.found["notes://own.md"]
	if len(all.found) != 4 || all.total != 4 || string(a.Data) != "# One\n\nTwo" || a.Name != "notes/notes://team/a.md" ||
		!slices.Equal(a.Labels, []string{"staff"}) || !slices.Equal(own.Labels, []string{"board"}) || own.MediaType != "text/markdown" ||
		string(all.found["notes://team/b/c.md"].Data) != "# C" {
		t.Errorf("the source has %+v", all)
	}
	for _, row := range []struct {
		uri  string
		want []string
	}{
		{"notes://team/", []string{"notes://team/a.md", "notes://team/b/c.md"}},
		{"notes://team/{name}", []string{"notes://team/a.md"}},
		{"notes://team/{+path}", []string{"notes://team/a.md", "notes://team/b/c.md"}},
		{"{scheme}///{+path}.md", []string{"file:///x.md"}},
		{"notes://.eam/", nil},
	} {
		spec := notes
		spec.URI = row.uri
		s.reads = nil
		if got := read(t, kind, spec, newVisitor()); len(got.found) != len(row.want) || !slices.Equal(s.reads, row.want) {
			t.Errorf("%s reads %q, want %q", row.uri, s.reads, row.want)
		}
	}
}

// TestHostileMCPServers: what a server answers ends up as a problem of its resource, or ends the reading with an error, after which nothing
// counts as vanished.
func TestHostileMCPServers(t *testing.T) {
	t.Parallel()
	next := 0
	for _, row := range []struct {
		name    string
		server  server
		problem string // of the resource "a", which stays as it is
		ends    string // why the reading ends
	}{
		{"a text that is too large is left to the visitor", server{read: map[string]any{"a": text(strings.Repeat("x", maxBytes+1))}}, "", ""},
		{"data that is too large", server{read: map[string]any{"a": blob(strings.Repeat("x", maxBytes+3))}}, "more than 4096 bytes", ""},
		{"data that is not in base64", server{read: map[string]any{"a": `{"contents":[{"blob":"%%%"}]}`}}, "not in base64", ""},
		{"no content", server{read: map[string]any{"a": `{"contents":[]}`}}, "no content", ""},
		{"neither text nor data", server{read: map[string]any{"a": `{"contents":[{}]}`}}, "neither text nor data", ""},
		{"text and data", server{read: map[string]any{"a": `{"contents":[{"text":"x"},{"blob":"eA=="}]}`}}, "not all are texts", ""},
		{"no answer of the protocol", server{read: map[string]any{"a": `{"contents":7}`}}, "not what the protocol has", ""},
		{"a question", server{read: map[string]any{"a": `{"resultType":"input_required"}`}}, "asks a question", ""},
		{
			"labels that cannot be read",
			server{read: map[string]any{"a": `{"contents":[{"text":"x","_meta":{"windlass/labels":"board"}}]}`}},
			"not a list of labels", "",
		},
		{"a resource that is listed and missing", server{read: map[string]any{}}, "error -32002: Resource not found", ""},
		{"a server that is away for one resource", server{read: map[string]any{"a": unavailable()}}, "cannot be reached", ""},
		{"permission lost in the middle", server{read: map[string]any{"a": fault.Denied("registry.tools.invoke", "")}}, "", "permission"},
		{"a list that is refused", server{list: func(string) any { return "!no" }}, "", "cannot be listed: the server answers with error"},
		{"a server that is away", server{list: func(string) any { return unavailable() }}, "", "cannot be listed: tool server"},
		{"a list that breaks off", server{list: func(cursor string) any {
			if cursor == "" {
				return listed("2", "a")
			}
			return unavailable()
		}}, "", "cannot be listed"},
		{"a page that follows itself", server{list: func(string) any { return listed("2", "a") }}, "", "followed by itself"},
		{"endless pages", server{list: func(string) any {
			next++
			return listed(fmt.Sprint(next), "a")
		}}, "", "more than 1000 pages"},
		{"endless resources", server{list: func(string) any {
			next++
			return listed(fmt.Sprint(next), slices.Repeat([]string{"a"}, 5000)...)
		}}, "", "more than 50000 resources"},
		{"a list that is none", server{list: func(string) any { return `[]` }}, "", "not what the protocol has"},
		{"a server that goes away in the middle", server{list: one("a", "b", "c", "d", "e", "f")}, "", "5 resources in a row"},
	} {
		s := row.server
		if s.list == nil {
			s.list = one("a")
		}
		kind, v := mcp.Kind{Servers: &s, MaxBytes: maxBytes}, newVisitor()
		if row.ends != "" {
			unreadable(t, kind, notes, row.ends)
			continue
		}
		read(t, kind, notes, v)
		if (row.problem == "") != (len(v.found) == 1) || !strings.Contains(v.failed["a"], row.problem) {
			t.Errorf("%s: found %+v, failed %q", row.name, v.found, v.failed)
		}
	}
	unreadable(t, mcp.Kind{Servers: &server{}}, store.SourceSpec{Kind: "mcp", MCPSource: "other"}, "no MCP source")
}

func TestSpecsOfMCPSources(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		spec store.SourceSpec
		want string
	}{
		{notes, ""},
		{store.SourceSpec{Kind: "mcp", MCPSource: "notes", URI: "a://{x}/{+y}"}, ""},
		{store.SourceSpec{Kind: "mcp"}, "source.mcp_source"},
		{store.SourceSpec{Kind: "mcp", MCPSource: "notes", URL: "http://a"}, "source.url"},
		{store.SourceSpec{Kind: "mcp", MCPSource: "notes", URI: "a://{?x}"}, "source.uri"},
		{store.SourceSpec{Kind: "mcp", MCPSource: "notes", URI: "a://{"}, "source.uri"},
	} {
		err := mcp.Kind{}.Check(row.spec)
		if row.want == "" && err == nil {
			continue
		}
		if f := fault.From(err); row.want == "" || f.Code != codes.InvalidArgument || f.Fields[0].Path != row.want {
			t.Errorf("%+v: %v, want %q", row.spec, err, row.want)
		}
	}
}
