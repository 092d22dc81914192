package concurrent

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// thinkTime is the model's time per word: turns take long enough for clients to meet in them.
const thinkTime = 25 * time.Millisecond

// input formats the input of a turn: its key, then the tools that the model shall call.
func input(key string, tools []string) string {
	return strings.Join(append([]string{key}, tools...), " ")
}

// keyOf is the key in the text of an input.
func keyOf(text string) string {
	key, _, _ := strings.Cut(text, " ")
	return key
}

// newModel starts a model that follows the newest input: it calls the tools one after the other, and answers with the keys of all inputs in
// the conversation.
func newModel(t testing.TB) *harness.Model {
	return harness.NewModel(t, func(_ int, messages []any) harness.Answer {
		var keys, plan []string
		done := 0
		for _, one := range messages {
			m, _ := one.(map[string]any)
			text, _ := m["content"].(string)
			switch m["role"] {
			case "user":
				for line := range strings.SplitSeq(text, "\n") { // inputs without an answer between them are joined
					keys, plan, done = append(keys, keyOf(line)), strings.Fields(line), 0
				}
			case "tool":
				done++
			}
		}
		a := harness.Answer{Stop: func(_ int, gone <-chan struct{}) {
			timer := time.NewTimer(thinkTime)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-gone:
			}
		}}
		if tools := plan[min(1, len(plan)):]; done < len(tools) {
			n := fmt.Sprintf("%s.%d", plan[0], done)
			a.Words = []string{"so "}
			a.Calls = []harness.Call{{ID: n, Tool: "x__" + tools[done], Args: harness.JSON{"n": n}}}
			return a
		}
		a.Words = strings.SplitAfter(strings.Join(keys, " "), " ")
		return a
	})
}

// act is one executed tool call.
type act struct{ tool, n, key string }

// tools is an MCP server that records what its tools did. Its record is the truth to compare the mesh's ledger with.
type tools struct {
	mu   sync.Mutex
	acts []act
}

// offered are the tools by name: put is idempotent, read changes nothing, send and doubt act once. doubt never answers.
const offered = `{"tools":[
	{"name":"put","description":"put","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"idempotentHint":true}},
	{"name":"read","description":"read","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},
	{"name":"send","description":"send","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"idempotentHint":false}},
	{"name":"doubt","description":"doubt","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"idempotentHint":false}}]}`

func newTools(t testing.TB) (*tools, string) {
	s := &tools{}
	server := httptest.NewServer(s)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return s, server.URL + "/mcp"
}

// ServeHTTP implements http.Handler.
func (s *tools) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name      string
			Arguments struct{ N string }
			Meta      map[string]any `json:"_meta"`
		}
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if req.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := `"error":{"code":-32601,"message":"unknown method"}`
	switch req.Method {
	case "initialize":
		answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`
	case "tools/list":
		answer = `"result":` + offered
	case "tools/call":
		key, _ := req.Params.Meta["windlass/idempotency_key"].(string)
		s.mu.Lock()
		s.acts = append(s.acts, act{req.Params.Name, req.Params.Arguments.N, key})
		s.mu.Unlock()
		if req.Params.Name == "doubt" {
			breakOff(w, len(req.Params.Arguments.N)%2 == 0)
		}
		answer = `"result":{"content":[{"type":"text","text":"done"}]}`
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, req.ID, answer)
}

// breakOff ends the connection before or in the middle of an answer.
func breakOff(w http.ResponseWriter, began bool) {
	if f, ok := w.(http.Flusher); ok && began {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":`)) // truncated
		f.Flush()
	}
	panic(http.ErrAbortHandler)
}

// done returns what the tools have done so far.
func (s *tools) done() []act {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]act(nil), s.acts...)
}
