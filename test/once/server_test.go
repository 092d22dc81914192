package once

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// script is what a tool server does with one call.
type script struct {
	status int
	body   string
	unread bool // it answers before it reads the request

	mu   sync.Mutex
	acts int
	keys map[string]bool // in _meta
}

// acted notes that the tool acted, and the key under which.
func (s *script) acted(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acts++
	if key != "" {
		if s.keys == nil {
			s.keys = map[string]bool{}
		}
		s.keys[key] = true
	}
}

// answered reports whether the body carries the request's id.
func (s *script) answered() bool {
	return s.status != http.StatusNoContent && (s.body == "result" || s.body == "error" || s.body == "stream")
}

// bodies are what servers answer a call with; ID stands for the request's id.
var bodies = map[string]struct{ media, text string }{
	"result":         {"application/json", `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"ok"}]}}`},
	"error":          {"application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"checkout session expired"}}`},
	"null id":        {"application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"checkout session expired"}}`},
	"foreign error":  {"application/json", `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"no session"}}`},
	"foreign result": {"application/json", `{"jsonrpc":"2.0","id":7,"result":{"content":[]}}`},
	"text":           {"text/plain", "Session not found"},
	"html":           {"text/html", "<html>Bad gateway</html>"},
	"empty":          {"", ""},
	"half":           {"application/json", `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"te`},
	"stream": {"text/event-stream", "event: message\ndata: " + `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text",` +
		`"text":"ok"}]}}` + "\n\n"},
	"ended stream": {"text/event-stream", "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n"},
	"cut stream":   {"text/event-stream", "event: message\ndata: {\"jsonrpc\":"},
	"closed":       {},
}

// scripted is an MCP server over streamable HTTP whose tool calls follow scripts, by their keys.
type scripted struct {
	modern  bool
	scripts map[string]*script
	session string // of the old era; "" = it has none
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	c := s.scripts[r.Header.Get("Idempotency-Key")]
	if c != nil && c.unread {
		c.acted("")
		c.answer(w, "1")
		return
	}
	req, err := readRequest(r.Body)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case req.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case req.Method == "tools/call" && c != nil:
		c.acted(req.key())
		c.answer(w, string(req.ID))
	default:
		if req.Method == "initialize" && s.session != "" {
			w.Header().Set("Mcp-Session-Id", s.session)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, req.reply(s.modern))
	}
}

func (s *script) answer(w http.ResponseWriter, id string) {
	if s.body == "closed" {
		panic(http.ErrAbortHandler)
	}
	b := bodies[s.body]
	if b.media != "" {
		w.Header().Set("Content-Type", b.media)
	}
	if s.status >= 300 && s.status < 400 {
		w.Header().Set("Location", "/elsewhere")
	}
	w.WriteHeader(s.status)
	_, _ = io.WriteString(w, strings.ReplaceAll(b.text, "ID", id))
	if s.body == "cut stream" {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// request is a JSON-RPC request.
type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Meta map[string]any `json:"_meta"`
	}
}

func readRequest(in io.Reader) (request, error) {
	var r request
	raw, err := io.ReadAll(in)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(raw, &r)
}

func (r request) key() string {
	key, _ := r.Params.Meta["windlass/idempotency_key"].(string)
	return key
}

// reply is the answer to all but tool calls.
func (r request) reply(modern bool) string {
	result := ""
	switch r.Method {
	case "initialize":
		if !modern {
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"scripted","version":"1"}}`
		}
	case "server/discover":
		if modern {
			result = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete"}`
		}
	case "ping":
		result = `{}`
	case "tools/list":
		result = `{"tools":[` + described(read, `"readOnlyHint":true`) + `,` + described(idempotent, `"idempotentHint":true`) + `,` +
			described(once, ``) + `]}`
	}
	if result == "" {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no %s here"}}`, r.ID, r.Method)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, result)
}

func described(name, hints string) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"},"annotations":{%s}}`, name, hints)
}

// check holds what became of a call against its class. silent means that the caller may have given up before the call left.
func (s *script) check(t *testing.T, name, tool, key string, got told, silent bool) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	acts, answer := 1, "result"
	switch {
	case s.answered() && s.body == "error":
		answer = "error"
	case s.answered():
	case tool == once:
		answer = "unknown"
	default:
		acts, answer = 3, "no answer"
		if silent {
			acts = 1
		}
	}
	if s.acts != acts || got.String() != answer {
		if !silent || s.acts > acts || s.acts > 0 && got.String() == "not called" {
			t.Errorf("%s: acted %d times and told %s, want %d and %s: %q", name, s.acts, got, acts, answer, got.text)
		}
	}
	if len(s.keys) > 1 || len(s.keys) == 1 && !s.keys[key] {
		t.Errorf("%s: called under the keys %v, want %s", name, s.keys, key)
	}
}
