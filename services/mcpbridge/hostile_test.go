package mcpbridge_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge"
)

// script is an MCP server of the old era with handwritten answers.
type script struct {
	result map[string]string // raw result by method
	calls  atomic.Int32      // of tools/call
	call   func(w http.ResponseWriter, id json.RawMessage)
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var req struct {
		ID     json.RawMessage
		Method string
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &req)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if req.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if req.Method == "tools/call" {
		s.calls.Add(1)
		if s.call != nil {
			s.call(w, req.ID)
			return
		}
	}
	result, ok := s.result[req.Method]
	if !ok && req.Method == "initialize" {
		result, ok = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"script","version":"1"}}`, true
	}
	w.Header().Set("Content-Type", "application/json")
	if !ok {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no %s here"}}`, req.ID, req.Method)
		return
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, result)
}

func TestServersThatCannotBeReached(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	status := func(code int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			http.Error(w, "go away, token=hunter2", code)
		}
	}
	hanging := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	html := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html>Please log in</html>")
	}
	garbage := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"jsonrpc":`)
	}
	for _, row := range []struct {
		name, url string
		handler   http.HandlerFunc
		server    *mcpbridgev1.Server
		want      string
		retry     time.Duration
		answered  bool
	}{
		{name: "nobody listens", url: "http://" + closed.Addr().String(), want: "connection refused"},
		{name: "no such name", url: "http://nobody.invalid/mcp", want: "nobody.invalid"},
		{name: "metadata address", url: "http://169.254.169.254/mcp", want: "never dialled"},
		{name: "wants a login", handler: status(401), want: "status 401", answered: true},
		{name: "forbids", handler: status(403), want: "status 403", answered: true},
		{name: "is busy", handler: status(429, "Retry-After", "7"), want: "status 429", retry: 7 * time.Second},
		{name: "wrong path", handler: status(404), want: "status 404", answered: true},
		{name: "is of the SSE kind", handler: status(405), want: "transport to sse", answered: true},
		{name: "is broken", handler: status(502), want: "status 502"},
		{name: "sends HTML", handler: html, want: "text/html", answered: true},
		{name: "sends garbage", handler: garbage, want: "unexpected EOF", answered: true},
		{name: "hangs", handler: hanging, want: "in time"},
		{name: "redirects", handler: status(307, "Location", "http://example.com/?key=1"), want: "redirect refused", answered: true},
		{
			name: "hanging process", want: "in time; the process last wrote: waiting for a friend",
			// A shell starts within the time, this program may not.
			server: &mcpbridgev1.Server{Command: []string{"sh", "-c", "echo waiting for a friend >&2; exec sleep 1000"}},
		},
		{name: "babbling process", server: stdioServer(t, "garbage"), want: "in time"},
		{
			name: "no such program", server: &mcpbridgev1.Server{Command: []string{"windlass-nobody"}},
			want: `no program "windlass-nobody" in PATH`,
		},
		{name: "no such file", server: &mcpbridgev1.Server{Command: []string{"/nowhere/x"}}, want: "no such file"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := row.server
			if s == nil {
				s = &mcpbridgev1.Server{Url: row.url}
			}
			if row.handler != nil {
				s.Url = serve(t, row.handler).URL + "/mcp"
			}
			s.Id, s.Name, s.ConnectTimeout = "src_x", "the server", durationpb.New(800*time.Millisecond)
			b := newBridge(t)
			_, err := b.Discover(t.Context(), &mcpbridgev1.DiscoverRequest{Server: s})
			f := fault.From(err)
			if f == nil || f.Code != codes.Unavailable || f.Reason != faultv1.Reason_REASON_TOOL_UNAVAILABLE {
				t.Fatalf("discover: got %v", err)
			}
			if !strings.Contains(f.Message, row.want) || !strings.Contains(f.Message, "the server") || strings.Contains(f.Message, "hunter2") {
				t.Errorf("discover: got %q, want %q in it", f.Message, row.want)
			}
			if answered := f.Details["answered"] != ""; answered != row.answered || answered == strings.Contains(f.Message, "cannot be reached") {
				t.Errorf("answered: %v, with %q", answered, f.Message)
			}
			if f.Retry != row.retry {
				t.Errorf("retry after %v, want %v", f.Retry, row.retry)
			}
			if _, _, err := b.call(t.Context(), s, "echo", "{}"); !fault.Is(err, faultv1.Reason_REASON_TOOL_UNAVAILABLE) {
				t.Errorf("call: got %v", err)
			}
		})
	}
}

func TestAProcessThatDiesAtOnceIsQuotedWithoutSecrets(t *testing.T) {
	t.Setenv("WINDLASS_TOOL_SECRET", "hunter2-hunter2")
	s := stdioServer(t, "dying")
	s.Env["SECRET"] = "${env:WINDLASS_TOOL_SECRET}"
	b := newBridge(t)
	_, err := b.Discover(t.Context(), &mcpbridgev1.DiscoverRequest{Server: s})
	f := fault.From(err)
	if f == nil || !strings.Contains(f.Message, "exit status 4") || !strings.Contains(f.Message, "cannot read *** settings") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(b.log.text(), "cannot read *** settings") || strings.Contains(b.log.text(), "hunter2") {
		t.Errorf("log: %s", b.log.text())
	}
}

func TestATouchyProcessIsAskedInTheOldWay(t *testing.T) {
	b := newBridge(t)
	if res := b.discover(t, stdioServer(t, "touchy")); res.GetProtocolVersion() != "2025-11-25" {
		t.Errorf("got %s", res.GetProtocolVersion())
	}
}

func TestAnswersToACallThatGoWrong(t *testing.T) {
	answer := func(result string) func(http.ResponseWriter, json.RawMessage) {
		return func(w http.ResponseWriter, id json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, id, result)
		}
	}
	status := func(code int, body string) func(http.ResponseWriter, json.RawMessage) {
		return func(w http.ResponseWriter, _ json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprint(w, body)
		}
	}
	deep := strings.Repeat("[", 2000) + strings.Repeat("]", 2000)
	for _, row := range []struct {
		name   string
		call   func(http.ResponseWriter, json.RawMessage)
		reason faultv1.Reason // of the error; otherwise there is a result
		want   string
		fine   bool // the result is not an error
	}{
		{
			name: "unknown content stays as JSON", call: answer(`"result":{"content":[{"type":"hologram","x":1}]}`),
			want: `{"type":"hologram","x":1}`, fine: true,
		},
		{
			name: "broken base64 stays as JSON", call: answer(`"result":{"content":[{"type":"image","data":"%","mimeType":"image/png"}]}`),
			want: `"type":"image"`, fine: true,
		},
		{
			name: "embedded text", call: answer(`"result":{"content":[{"type":"resource","resource":{"uri":"a:b","text":"inside"}}]}`),
			want: "inside", fine: true,
		},
		{name: "no content", call: answer(`"result":{}`), fine: true},
		{
			name: "a number is no result", call: answer(`"result":7`), reason: faultv1.Reason_REASON_OUTCOME_UNKNOWN,
			want: "not the result of a tool",
		},
		{name: "deep structure", call: answer(`"result":{"structuredContent":` + deep + `}`), want: "nested"},
		{
			name: "many parts", call: answer(`"result":{"content":[` + strings.Repeat(`{"type":"text","text":"a"},`, 200_000) + `{}]}`),
			want: "more than 200000 values",
		},
		{
			name: "many values", call: answer(`"result":{"structuredContent":[` + strings.Repeat("1,", 3_000_000) + `1]}`),
			want: "more than 200000 values",
		},
		{
			name: "a member again and again", call: answer(`"result":{` + strings.Repeat(`"content":[],`, 300_000) + `"isError":false}`),
			want: "more than 200000 values",
		},
		{name: "protocol error", call: answer(`"error":{"code":-32602,"message":"unknown tool"}`), want: "unknown tool (error -32602)"},
		{name: "internal error with status 500", call: func(w http.ResponseWriter, id json.RawMessage) {
			status(500, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"oops"}}`, id))(w, id)
		}, want: "oops"},
		{name: "a proxy's 502", call: status(502, `{"error":"bad gateway"}`), reason: faultv1.Reason_REASON_OUTCOME_UNKNOWN, want: "status 502"},
		{name: "a proxy's 504 in HTML", call: status(504, "<html>"), reason: faultv1.Reason_REASON_OUTCOME_UNKNOWN, want: "status 504"},
		{name: "403", call: status(403, `{}`), reason: faultv1.Reason_REASON_OUTCOME_UNKNOWN, want: "status 403"},
		{name: "413", call: status(413, `too much`), reason: faultv1.Reason_REASON_OUTCOME_UNKNOWN, want: "status 413"},
		{
			name: "cut off", call: func(http.ResponseWriter, json.RawMessage) { panic(http.ErrAbortHandler) },
			reason: faultv1.Reason_REASON_OUTCOME_UNKNOWN, want: "EOF",
		},
		{name: "half an answer", call: status(200, `{"jsonrpc":"2.0","id":`), reason: faultv1.Reason_REASON_OUTCOME_UNKNOWN, want: "EOF"},
		{
			name: "another's answer", call: status(200, `{"jsonrpc":"2.0","id":1,"result":{}}`), reason: faultv1.Reason_REASON_OUTCOME_UNKNOWN,
			want: "another request",
		},
		{name: "accepted without an answer", call: status(202, ""), reason: faultv1.Reason_REASON_OUTCOME_UNKNOWN},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := &script{call: row.call}
			s := &mcpbridgev1.Server{Id: "src_x", Name: "the server", Url: serve(t, server).URL}
			_, res, err := newBridge(t).call(t.Context(), s, "x", "{}")
			if row.reason != 0 {
				if f := fault.From(err); f == nil || f.Reason != row.reason || !strings.Contains(f.Message, row.want) {
					t.Errorf("got %v, want %v with %q", err, row.reason, row.want)
				}
			} else if err != nil || res.GetIsError() == row.fine || !strings.Contains(text(res), row.want) {
				t.Errorf("got %v %.200v, want %q", err, res, row.want)
			}
			if n := server.calls.Load(); n != 1 {
				t.Errorf("the call was sent %d times", n)
			}
		})
	}
}

// bomb returns n definitions, each of which applies the next twice.
func bomb(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	return `{"type":"object","$ref":"#/$defs/d0","$defs":{` + b.String() + fmt.Sprintf(`"d%d":{}}}`, n)
}

func TestAServerWithoutToolsHasNone(t *testing.T) {
	s := &mcpbridgev1.Server{Id: "src_x", Url: serve(t, &script{}).URL}
	if res := newBridge(t).discover(t, s); len(res.GetTools()) != 0 || res.GetServerName() != "script" {
		t.Errorf("got %v", res)
	}
}

func TestCallsBeyondTheLimitWaitAndAreRefused(t *testing.T) {
	tools := newToolServer()
	s := &mcpbridgev1.Server{Id: "src_x", Name: "slow", Url: serve(t, tools.modern()).URL}
	b := newBridge(t, func(c *mcpbridge.Config) { c.MaxCalls, c.QueueTimeout = 2, 50*time.Millisecond })
	for range 2 {
		stream, err := b.CallTool(t.Context(), &mcpbridgev1.CallToolRequest{Server: s, Tool: "wait"})
		if err != nil {
			t.Fatal(err)
		}
		go stream.Recv() //nolint:errcheck // it ends with the test
		<-tools.started
	}
	_, _, err := b.call(t.Context(), s, "echo", "{}")
	if f := fault.From(err); f == nil || f.Reason != faultv1.Reason_REASON_TOOL_UNAVAILABLE ||
		!strings.Contains(f.Message, "2 calls are running") || f.Retry == 0 {
		t.Errorf("got %v", err)
	}
}
