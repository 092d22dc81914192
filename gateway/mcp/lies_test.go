package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/gateway/mcp"
	"github.com/windlass-dev/windlass/libs/testmain"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// registry is one that answers what a test wants.
type registry struct {
	registryv1.UnimplementedToolServiceServer
	registryv1.UnimplementedServerServiceServer

	tools   []*registryv1.Tool
	run     []*registryv1.RunToolResponse
	forward func(req *registryv1.ForwardRequestRequest) (*registryv1.ForwardRequestResponse, error)
}

func (r *registry) RunTool(_ *registryv1.RunToolRequest, stream grpc.ServerStreamingServer[registryv1.RunToolResponse]) error {
	for _, m := range r.run {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	return nil
}

func (r *registry) ListTools(context.Context, *registryv1.ListToolsRequest) (*registryv1.ListToolsResponse, error) {
	return &registryv1.ListToolsResponse{Tools: r.tools}, nil
}

func (r *registry) ListServers(context.Context, *registryv1.ListServersRequest) (*registryv1.ListServersResponse, error) {
	return &registryv1.ListServersResponse{Servers: []*registryv1.MCPServer{
		{Source: "a", Resources: true}, {Source: "b", Resources: true, Prompts: true}, {Source: "c", Prompts: true},
	}}, nil
}

func (r *registry) ForwardRequest(_ context.Context, req *registryv1.ForwardRequestRequest) (*registryv1.ForwardRequestResponse, error) {
	return r.forward(req)
}

// services is a registry as it is served.
type services interface {
	registryv1.ToolServiceServer
	registryv1.ServerServiceServer
}

// handler returns a handler of a registry.
func handler(t *testing.T, r services) *mcp.Handler {
	t.Helper()
	l := bufconn.Listen(1 << 16)
	s := grpc.NewServer()
	registryv1.RegisterToolServiceServer(s, r)
	registryv1.RegisterServerServiceServer(s, r)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	conn, err := grpc.NewClient("passthrough:///registry", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	h, err := mcp.New(mcp.Config{}, mcp.Deps{Registry: conn, Sessions: conn, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// listen serves a registry over HTTP, and returns the URL.
func listen(t *testing.T, r services) string {
	t.Helper()
	s := httptest.NewServer(handler(t, r))
	t.Cleanup(s.Close)
	return s.URL
}

// serve returns a function that makes a request, in a session or outside, and returns the answer.
func serve(t *testing.T, r services) func(path, body string) map[string]any {
	t.Helper()
	h := handler(t, r)
	return func(path, body string) map[string]any {
		t.Helper()
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		text, err := io.ReadAll(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatalf("%d: %v: %s", w.Code, err, text)
		}
		return m
	}
}

// TestLiesAboutACall has the registry answer to a call in ways that it should not.
func TestLiesAboutACall(t *testing.T) {
	asked := func(raw string) []*registryv1.RunToolResponse {
		return []*registryv1.RunToolResponse{{Event: &registryv1.RunToolResponse_InputRequired{
			InputRequired: &registryv1.InputRequired{RequestsJson: []byte(raw)},
		}}}
	}
	for name, run := range map[string][]*registryv1.RunToolResponse{
		"no result": nil, "no event": {{}}, "requests that are no JSON": asked("{"), "no requests": asked("{}"),
		"a list of requests": asked("[]"),
	} {
		t.Run(name, func(t *testing.T) {
			got := serve(t, &registry{run: run})("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a__b"}}`)
			if f, _ := got["error"].(map[string]any); f["code"] != -32603.0 {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestLiesOfServers has servers answer requests about resources in ways that they should not.
func TestLiesOfServers(t *testing.T) {
	var pages atomic.Int64
	for name, row := range map[string]struct {
		answer, want string
		code         float64
		err          error
	}{
		"no JSON":                 {answer: `<html>`, want: "no result", code: -32603},
		"a list":                  {answer: `[]`, want: "no result", code: -32603},
		"null":                    {answer: `null`},
		"another field":           {answer: `{"things":[]}`},
		"a code of ours":          {code: -32603, want: "session", err: &lostError{}},
		"a resource without name": {answer: `{"resources":[{"name":"x"},7]}`},
		"unreachable":             {code: -32603, want: "", err: status.Error(codes.Unavailable, "it is away")},
	} {
		t.Run(name, func(t *testing.T) {
			ask := serve(t, &registry{forward: func(*registryv1.ForwardRequestRequest) (*registryv1.ForwardRequestResponse, error) {
				if pages.Add(1) > 100 {
					t.Error("it is asked again and again")
				}
				return forwarded(row.answer, row.err)
			}})
			got := ask("/mcp/a", `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`)
			f, _ := got["error"].(map[string]any)
			if row.code != 0 && (f["code"] != row.code || !strings.Contains(f["message"].(string), row.want)) || row.code == 0 && f != nil {
				t.Errorf("one source: %v", got)
			}
			// In the list of all, a source that lies is left out.
			got = ask("/mcp", `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`)
			result, _ := got["result"].(map[string]any)
			if list, ok := result["resources"].([]any); !ok || len(list) != 0 {
				t.Errorf("all sources: %v", got)
			}
		})
	}
}

type lostError struct{ error }

func forwarded(answer string, err error) (*registryv1.ForwardRequestResponse, error) {
	if _, lost := err.(*lostError); lost { //nolint:errorlint // it is the very value
		return &registryv1.ForwardRequestResponse{Answer: &registryv1.ForwardRequestResponse_Error{
			Error: &registryv1.ProtocolError{Code: -32001, Message: "the session is gone"},
		}}, nil
	}
	return &registryv1.ForwardRequestResponse{Answer: &registryv1.ForwardRequestResponse_ResultJson{ResultJson: []byte(answer)}}, err
}

// TestPagesEnd has a server give the same page forever.
func TestPagesEnd(t *testing.T) {
	var asked atomic.Int64
	ask := serve(t, &registry{forward: func(*registryv1.ForwardRequestRequest) (*registryv1.ForwardRequestResponse, error) {
		asked.Add(1)
		return forwarded(`{"prompts":[{"name":"p"}],"nextCursor":"again"}`, nil)
	}})
	got := ask("/mcp", `{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`)
	result, _ := got["result"].(map[string]any)
	if list, _ := result["prompts"].([]any); len(list) != 4 || asked.Load() != 4 { // two pages of two sources
		t.Errorf("asked %d times: %v", asked.Load(), got)
	}
}

// TestContent converts each kind of content.
func TestContent(t *testing.T) {
	parts := []*turnv1.ContentPart{
		{Part: &turnv1.ContentPart_Text{Text: "t"}},
		{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: "image/png", Data: []byte{1}}}},
		{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: "audio/wav", Data: []byte{1}}}},
		{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: "application/zip", Data: []byte{1}}}},
		{Part: &turnv1.ContentPart_Link{Link: &turnv1.ResourceLink{Uri: "file:///x"}}},
		{Part: &turnv1.ContentPart_Link{Link: &turnv1.ResourceLink{Uri: "https://x.example", Name: "x"}}},
		{Part: &turnv1.ContentPart_Resource{Resource: &turnv1.EmbeddedResource{
			Uri: "a:b", Content: &turnv1.EmbeddedResource_Data{Data: []byte{1}},
		}}},
		{},
	}
	ask := serve(t, &registry{run: []*registryv1.RunToolResponse{{Event: &registryv1.RunToolResponse_Result{
		Result: &registryv1.InvokeToolResponse{Content: parts, StructuredContent: structpb.NewNumberValue(7)},
	}}}})
	got := ask("/mcp", `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"src__b"}}`)
	text, err := json.Marshal(got["result"])
	const want = `{"content":[{"text":"t","type":"text"},{"data":"AQ==","mimeType":"image/png","type":"image"},` +
		`{"data":"AQ==","mimeType":"audio/wav","type":"audio"},` +
		`{"resource":{"blob":"AQ==","mimeType":"application/zip","uri":"data:application/zip"},"type":"resource"},` +
		`{"name":"file:///x","type":"resource_link","uri":"src+file:///x"},` +
		`{"name":"x","type":"resource_link","uri":"https://x.example"},` +
		`{"resource":{"blob":"AQ==","uri":"src+a:b"},"type":"resource"},{"text":"","type":"text"}],` +
		`"isError":false}` // 7 is not one of the revisions before 2026-07-28
	if err != nil || string(text) != want || got["id"] != "x" {
		t.Errorf("got %s, %v", text, err)
	}
}
