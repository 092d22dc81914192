package mcpbridge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
)

// toolServer is a real MCP server with tools for tests.
type toolServer struct {
	*server.MCPServer
	started, cancelled chan struct{} // of the tool "wait"
	quit               chan struct{} // ends it if the transport forgets to
	interviews         atomic.Int32  // attempts of the tool "interview"
}

func newToolServer() *toolServer {
	s := &toolServer{
		MCPServer: server.NewMCPServer("test", "7.1", server.WithToolCapabilities(true), server.WithInstructions("be kind"),
			server.WithPaginationLimit(4)),
		started: make(chan struct{}, 100), cancelled: make(chan struct{}, 100), quit: make(chan struct{}),
	}
	s.AddTool(mcp.NewTool("echo", mcp.WithString("text"), mcp.WithReadOnlyHintAnnotation(true)), echo)
	s.AddTool(mcp.NewToolWithRawSchema("strict", "keeps its schema", json.RawMessage(
		`{"type":"object","$schema":"https://json-schema.org/draft/2020-12/schema","oneOf":[{"required":["a"]},{"required":["b"]}],`+
			`"x-own":{"z":1,"a":2}}`)), echo)
	s.AddTool(mcp.NewTool("add", mcp.WithNumber("a"), mcp.WithNumber("b")), add)
	s.AddTool(mcp.NewTool("progress"), s.progress)
	s.AddTool(mcp.NewTool("wait"), s.wait)
	s.AddTool(mcp.NewTool("meta"), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		text, err := json.Marshal(r.Params.Meta)
		return mcp.NewToolResultText(string(text)), err
	})
	s.AddTool(mcp.NewTool("headers"), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(r.Header.Get("X-Key") + " " + r.Header.Get("Traceparent")), nil
	})
	s.AddTool(mcp.NewTool("key"), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(strings.Join(r.Header.Values("Idempotency-Key"), "|")), nil
	})
	s.AddTool(mcp.NewTool("environ"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(strings.Join(os.Environ(), "\n")), nil
	})
	s.AddTool(mcp.NewTool("pid"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(fmt.Sprint(os.Getpid())), nil
	})
	s.AddTool(mcp.NewTool("big"), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(strings.Repeat("x", r.GetInt("bytes", 0))), nil
	})
	s.AddTool(mcp.NewTool("no"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError("I will not"), nil
	})
	s.AddTool(mcp.NewTool("broken"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("it broke")
	})
	s.AddTool(mcp.NewTool("grow"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddTool(mcp.NewTool("grown"), echo)
		return mcp.NewToolResultText("grown"), nil
	})
	s.AddTool(mcp.NewTool("ask"), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			Result:               mcp.Result{ResultType: mcp.ResultTypeInputRequired},
			MultiRoundTripResult: mcp.MultiRoundTripResult{RequestState: "s"},
		}, nil
	})
	s.AddTool(mcp.NewTool("interview", mcp.WithString("also")), s.interview)
	s.AddTool(mcp.NewTool("crash"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "last words")
		os.Exit(3)
		return nil, nil
	})
	return s
}

// interview asks for a name and then, in the old era within the same attempt, for a colour. With the argument "also" it asks both at once;
// with "url" it sends the user to a page.
func (s *toolServer) interview(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s.interviews.Add(1)
	form := func(id, question string) mcp.ElicitationParams {
		return mcp.ElicitationParams{Message: question, RequestedSchema: map[string]any{
			"type": "object", "properties": map[string]any{id: map[string]any{"type": "string"}}, "required": []string{id},
		}}
	}
	name := server.ElicitationResponse(r.Params.InputResponses, "name")
	colour := server.ElicitationResponse(r.Params.InputResponses, "colour")
	switch also := r.GetString("also", ""); {
	case name == nil && colour == nil && also == "url":
		return server.NewInputRequestBuilder("s0").Elicit("name",
			mcp.ElicitationParams{Mode: "url", Message: "go there", URL: "https://example.com/", ElicitationID: "e"}).ToolResult(), nil
	case name == nil && colour == nil && also != "":
		return server.NewInputRequestBuilder("s0").Elicit("name", form("name", "Your name?")).Elicit("colour",
			form("colour", "Your colour?")).ToolResult(), nil
	case colour == nil && name != nil && name.Action == mcp.ElicitationResponseActionAccept:
		return server.NewInputRequestBuilder(fmt.Sprint(name.Content)).Elicit("colour", form("colour", "Your colour?")).ToolResult(), nil
	case colour == nil && name == nil:
		return server.NewInputRequestBuilder("s1").Elicit("name", form("name", "Your name?")).ToolResult(), nil
	case colour == nil:
		return mcp.NewToolResultError("no name: " + string(name.Action)), nil
	case name == nil:
		return mcp.NewToolResultText(fmt.Sprint(r.Params.RequestState, " ", colour.Content)), nil
	default:
		return mcp.NewToolResultText(fmt.Sprint(name.Content, " ", colour.Content)), nil
	}
}

func echo(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText(r.GetString("text", "")), nil
}

func add(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	sum := r.GetFloat("a", 0) + r.GetFloat("b", 0)
	return mcp.NewToolResultStructured(map[string]any{"sum": sum}, fmt.Sprint(sum)), nil
}

// progress sends n notifications whose message is the call's tag.
func (s *toolServer) progress(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	n := r.GetInt("n", 0)
	if r.Params.Meta == nil || r.Params.Meta.ProgressToken == nil {
		return mcp.NewToolResultError("no progress token"), nil
	}
	for i := range n {
		err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
			"progressToken": r.Params.Meta.ProgressToken, "progress": i + 1, "total": n, "message": r.GetString("tag", ""),
		})
		if err != nil {
			return nil, err
		}
		<-time.After(3 * time.Millisecond) // the library loses notifications that are sent too quickly
	}
	<-time.After(20 * time.Millisecond)
	return mcp.NewToolResultText("done"), nil
}

// wait runs until it is cancelled, for at most a minute. With an argument "file" it records that there.
func (s *toolServer) wait(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s.note(s.started, r.GetString("file", ""), "started")
	select {
	case <-ctx.Done():
		s.note(s.cancelled, r.GetString("file", ""), "cancelled")
		return nil, ctx.Err()
	case <-s.quit:
		return nil, errors.New("the test is over")
	case <-time.After(time.Minute):
		return mcp.NewToolResultText("done"), nil
	}
}

func (s *toolServer) note(ch chan struct{}, file, what string) {
	ch <- struct{}{}
	if file == "" {
		return
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, what)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// handlers of the HTTP transports.
func (s *toolServer) legacy() http.Handler {
	return server.NewStreamableHTTPServer(s.MCPServer, server.WithStateful(true),
		server.WithStreamableHTTPProtocolVersions(mcp.LegacyProtocolVersions()...))
}

func (s *toolServer) modern() http.Handler {
	return server.NewStreamableHTTPServer(s.MCPServer, server.WithStateful(true))
}

func (s *toolServer) sse() http.Handler { return server.NewSSEServer(s.MCPServer) }

// serveStdio runs this program as a stdio server.
func serveStdio(mode string) {
	in := io.Reader(os.Stdin)
	switch mode {
	case "garbage":
		fmt.Println("hello, I am no MCP server")
		fmt.Println(`{"jsonrpc":"2.0","id":1,"result":7}`)
		<-make(chan struct{})
	case "dying":
		fmt.Fprintln(os.Stderr, "cannot read "+os.Getenv("SECRET")+" settings")
		os.Exit(4)
	case "legacy": // one that does not know the new era
		r, w := io.Pipe()
		go func() {
			lines := bufio.NewReader(os.Stdin)
			for {
				line, err := lines.ReadString('\n')
				if err != nil {
					w.Close()
					return
				}
				if !strings.Contains(line, "server/discover") {
					fmt.Fprint(w, line)
					continue
				}
				var req struct{ ID json.RawMessage }
				if err := json.Unmarshal([]byte(line), &req); err == nil {
					fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", req.ID)
				}
			}
		}()
		in = r
	case "touchy": // one that exits on an unknown first message
		lines := bufio.NewReader(os.Stdin)
		first, err := lines.ReadString('\n')
		if err != nil || strings.Contains(first, "server/discover") {
			os.Exit(5)
		}
		in = io.MultiReader(strings.NewReader(first), lines)
	}
	stdio := server.NewStdioServer(newToolServer().MCPServer)
	stdio.SetErrorLogger(log.New(os.Stderr, "", 0))
	if err := stdio.Listen(context.Background(), in, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// stdioServer returns the entry of this program as a stdio server.
func stdioServer(t testing.TB, mode string) *mcpbridgev1.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &mcpbridgev1.Server{
		Id: "src_stdio", Name: "stdio " + mode, Command: []string{self},
		Env: map[string]string{"WINDLASS_TEST_STDIO": mode},
	}
}

// eachTransport runs a test against the same tools over every transport and era.
func eachTransport(t *testing.T, run func(t *testing.T, s *mcpbridgev1.Server, tools *toolServer)) {
	for _, row := range []struct{ name, path string }{
		{"http legacy", ""}, {"http modern", ""}, {"sse", "/sse"}, {"stdio modern", ""}, {"stdio legacy", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			kind, variant, _ := strings.Cut(row.name, " ")
			if kind == "stdio" {
				run(t, stdioServer(t, variant), nil)
				return
			}
			tools := newToolServer()
			h := map[string]http.Handler{"http legacy": tools.legacy(), "http modern": tools.modern(), "sse": tools.sse()}[row.name]
			run(t, &mcpbridgev1.Server{Id: "src_http", Name: row.name, Url: serve(t, h).URL + row.path}, tools)
		})
	}
}
