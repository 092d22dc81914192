package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// toolServer is an MCP server over HTTP that tells nobody when its tools change.
type toolServer struct {
	*httptest.Server
	mu    sync.Mutex
	tools map[string]string // description by name
	// call answers a call: a result, or nil after it has answered itself.
	call func(w http.ResponseWriter, r *http.Request, tool string) harness.JSON
}

func newToolServer(t *testing.T, tools map[string]string) *toolServer {
	t.Helper()
	s := &toolServer{tools: tools, call: func(http.ResponseWriter, *http.Request, string) harness.JSON { return said("done", false) }}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// said is the result of a call.
func said(text string, isError bool) harness.JSON {
	return harness.JSON{"content": []any{harness.JSON{"type": "text", "text": text}}, "isError": isError}
}

// set replaces the tools.
func (s *toolServer) set(tools map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = tools
}

// ServeHTTP implements http.Handler.
func (s *toolServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name string `json:"name"`
		} `json:"params"`
	}
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case json.NewDecoder(r.Body).Decode(&req) != nil:
		w.WriteHeader(http.StatusBadRequest)
		return
	case req.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := harness.JSON{"jsonrpc": "2.0", "id": req.ID}
	switch req.Method {
	case "initialize":
		answer["result"] = harness.JSON{
			"protocolVersion": "2025-11-25", "capabilities": harness.JSON{"tools": harness.JSON{}},
			"serverInfo": harness.JSON{"name": "by hand", "version": "1"},
		}
	case "tools/list":
		answer["result"] = harness.JSON{"tools": s.list()}
	case "tools/call":
		result := s.call(w, r, req.Params.Name)
		if result == nil {
			return
		}
		answer["result"] = result
	default:
		answer["error"] = harness.JSON{"code": -32601, "message": "no such method"}
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		panic(fmt.Sprint("write an answer: ", err))
	}
}

func (s *toolServer) list() []any {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []any{}
	for name, description := range s.tools {
		list = append(list, harness.JSON{"name": name, "description": description, "inputSchema": harness.JSON{"type": "object"}})
	}
	return list
}
