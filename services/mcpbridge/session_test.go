package mcpbridge_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
)

// forgetful is a server of the old era that can forget its sessions.
type forgetful struct {
	inner  http.Handler
	refuse func(w http.ResponseWriter, id json.RawMessage) // requests in a session that was forgotten

	mu      sync.Mutex
	last    string // session
	lost    map[string]bool
	calls   int // of tools that reached a session
	opened  int // sessions
	answers func(w http.ResponseWriter, method string, id json.RawMessage) bool
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var request struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal(body, &request) // a GET has none
	session := r.Header.Get("Mcp-Session-Id")
	f.mu.Lock()
	gone := f.lost[session]
	if session != "" && !gone {
		f.last = session
	}
	if !gone && request.Method == string(mcp.MethodToolsCall) {
		f.calls++
	}
	if request.Method == string(mcp.MethodInitialize) {
		f.opened++
	}
	f.mu.Unlock()
	if gone {
		f.refuse(w, request.ID)
		return
	}
	if f.answers != nil && f.answers(w, request.Method, request.ID) {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	f.inner.ServeHTTP(w, r)
}

// forget forgets the sessions of now.
func (f *forgetful) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost[f.last] = true
}

func (f *forgetful) counts() (calls, opened int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls, f.opened
}

// refusals are the ways to say that a session is not known.
func refusals() map[string]func(w http.ResponseWriter, status int, id json.RawMessage) {
	rpc := func(id, message string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":%q}}`, id, message)
	}
	const message = "Bad Request: No valid session ID provided"
	say := func(media string, body func(id string) string) func(http.ResponseWriter, int, json.RawMessage) {
		return func(w http.ResponseWriter, status int, id json.RawMessage) {
			if w.Header()["Content-Type"] = nil; media != "" {
				w.Header().Set("Content-Type", media)
			}
			if len(id) == 0 {
				id = json.RawMessage("null")
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body(string(id)))
		}
	}
	return map[string]func(http.ResponseWriter, int, json.RawMessage){
		"nothing":               say("", func(string) string { return "" }),
		"text":                  say("text/plain", func(string) string { return message }),
		"a page":                say("text/html", func(string) string { return "<h1>no session</h1>" }),
		"JSON of its own":       say("application/json", func(string) string { return `{"error":"no session"}` }),
		"the id null":           say("application/json", func(string) string { return rpc("null", message) }),
		"the request's id":      say("application/json", func(id string) string { return rpc(id, message) }),
		"another media type":    say("text/plain", func(id string) string { return rpc(id, message) }),
		"an event":              say("text/event-stream", func(id string) string { return "data: " + rpc(id, message) + "\n\n" }),
		"the id of nobody":      say("application/json", func(string) string { return rpc("123456789", message) }),
		"the request's id, 32k": say("application/json", func(id string) string { return rpc(id, strings.Repeat("x", 32<<10)) }),
	}
}

// TestALostSessionInAnyWords: whatever the body of a 404 or 400, the call is made once in a new session, and so are lists, prompts,
// resources and subscriptions.
func TestALostSessionInAnyWords(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusBadRequest} {
		for name, refuse := range refusals() {
			t.Run(fmt.Sprint(status, " with ", name), func(t *testing.T) {
				f := &forgetful{
					inner: newToolServer().legacy(), lost: map[string]bool{},
					refuse: func(w http.ResponseWriter, id json.RawMessage) { refuse(w, status, id) },
				}
				f.answers = func(w http.ResponseWriter, method string, id json.RawMessage) bool {
					if !strings.HasPrefix(method, "resources/") && !strings.HasPrefix(method, "prompts/") {
						return false
					}
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
					return true
				}
				s := &mcpbridgev1.Server{Id: "src_x", Name: "forgetful", Url: serve(t, f).URL}
				b := newBridge(t)
				b.discover(t, s)
				f.forget()
				_, res, err := b.call(t.Context(), s, "echo", `{"text":"on"}`)
				if calls, opened := f.counts(); err != nil || text(res) != "on" || res.GetIsError() || calls != 1 || opened != 2 {
					t.Errorf("a call: %v, %v after %d calls in %d sessions", res, err, calls, opened)
				}
				f.forget()
				if res := b.discover(t, s); len(res.GetTools()) == 0 {
					t.Errorf("a list: %v", res)
				}
				for _, method := range []string{"prompts/list", "resources/read"} {
					f.forget()
					res, err := b.Forward(t.Context(), &mcpbridgev1.ForwardRequest{Server: s, Method: method})
					if err != nil || string(res.GetResultJson()) != "{}" {
						t.Errorf("%s: %v, %v", method, res, err)
					}
				}
				f.forget()
				stream, err := b.WatchResources(t.Context(), &mcpbridgev1.WatchResourcesRequest{Server: s, Uris: []string{"a:b"}})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := stream.Recv(); err != nil {
					t.Errorf("a subscription: %v", err)
				}
			})
		}
	}
}

// TestAnErrorWithTheStatusOfALostSession: a server that knows the session may answer with the same status, and its answer counts.
func TestAnErrorWithTheStatusOfALostSession(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusBadRequest} {
		for _, ping := range []string{"answered", "not known"} {
			t.Run(fmt.Sprint(status, ", a ping is ", ping), func(t *testing.T) {
				f := &forgetful{inner: newToolServer().legacy(), lost: map[string]bool{}}
				f.answers = func(w http.ResponseWriter, method string, id json.RawMessage) bool {
					code := -32602
					switch {
					case method == string(mcp.MethodPing) && ping == "not known":
						code = mcp.METHOD_NOT_FOUND
					case method != string(mcp.MethodToolsCall) && !strings.HasPrefix(method, "resources/"):
						return false
					}
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(status)
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no such session of the parliament"}}`, id, code)
					return true
				}
				s := &mcpbridgev1.Server{Id: "src_x", Name: "parliament", Url: serve(t, f).URL}
				b := newBridge(t)
				b.discover(t, s)
				_, res, err := b.call(t.Context(), s, "echo", `{"text":"on"}`)
				calls, opened := f.counts()
				if err != nil || !res.GetIsError() || !strings.Contains(text(res), "of the parliament") || calls != 1 || opened != 1 {
					t.Errorf("a call: %v, %v after %d calls in %d sessions", res, err, calls, opened)
				}
				got, err := b.Forward(t.Context(), &mcpbridgev1.ForwardRequest{Server: s, Method: "resources/read"})
				if _, opened := f.counts(); err != nil || got.GetError().GetCode() != -32602 || opened != 1 {
					t.Errorf("a resource: %v, %v in %d sessions", got, err, opened)
				}
			})
		}
	}
}

// TestWhatIsNoResultOfATool: a response to the call's id that is not a result says nothing about what became of it.
func TestWhatIsNoResultOfATool(t *testing.T) {
	for body, known := range map[string]bool{
		`"jsonrpc":"2.0"`:                                   false,
		`"jsonrpc":"2.0","result":null`:                     false,
		`"jsonrpc":"2.0","result":"ok"`:                     false,
		`"jsonrpc":"2.0","result":[]`:                       false,
		`"jsonrpc":"2.0","result":{"content":"ok"}`:         false,
		`"jsonrpc":"2.0","result":{"isError":"no"}`:         false,
		`"jsonrpc":"2.0","result":{}`:                       true,
		`"jsonrpc":"2.0","result":{"content":null}`:         true,
		`"jsonrpc":"2.0","error":{"code":1,"message":"no"}`: true,
	} {
		f := &forgetful{inner: newToolServer().legacy(), lost: map[string]bool{}}
		f.answers = func(w http.ResponseWriter, method string, id json.RawMessage) bool {
			if method != string(mcp.MethodToolsCall) {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"id":%s,%s}`, id, body)
			return true
		}
		_, res, err := newBridge(t).call(t.Context(), &mcpbridgev1.Server{Id: "src_x", Url: serve(t, f).URL}, "echo", `{}`)
		if calls, _ := f.counts(); calls != 1 || known != (err == nil) || !known && !fault.Is(err, faultv1.Reason_REASON_OUTCOME_UNKNOWN) {
			t.Errorf("%s: %v, %v after %d calls", body, res, err, calls)
		}
	}
}

// TestACallThatIsNeverSent: its time ends while the server hangs in the handshake, and the bridge says that it was not sent.
func TestACallThatIsNeverSent(t *testing.T) {
	for name, limits := range map[string][2]int64{
		"the call's time is shorter": {300, 60_000}, "the handshake's time is shorter": {60_000, 300},
	} {
		t.Run(name, func(t *testing.T) {
			hangs := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // so that the end of the connection is seen
				<-r.Context().Done()
			})
			s := &mcpbridgev1.Server{
				Id: "src_x", Name: "hangs", Url: serve(t, hangs).URL,
				CallTimeout:    durationpb.New(time.Duration(limits[0]) * time.Millisecond),
				ConnectTimeout: durationpb.New(time.Duration(limits[1]) * time.Millisecond),
			}
			_, _, err := newBridge(t).call(t.Context(), s, "echo", `{}`)
			f := fault.From(err)
			if f.Reason != faultv1.Reason_REASON_TOOL_UNAVAILABLE || !strings.Contains(f.Message, "did not answer in time") {
				t.Errorf("got %v", err)
			}
		})
	}
}
