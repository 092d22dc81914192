package hostile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Server is a server with hostile responses: a model at /v1, tool servers below /mcp/ and webhook receivers below /hook/, each
// named as in the tables.
type Server struct {
	server *http.Server
	// URL is its address; Asked counts the calls of the model.
	URL   string
	Asked atomic.Int64
}

// repeated is a response generated while it is sent: begin, then part until size, then end.
type repeated struct {
	begin, part string
	size        int
	end         string
}

func (r repeated) write(w io.Writer) {
	_, err := io.WriteString(w, r.begin)
	block := strings.Repeat(r.part, max(1, (64<<10)/max(1, len(r.part))))
	for sent := 0; sent < r.size && err == nil; sent += len(block) {
		_, err = io.WriteString(w, block)
	}
	if err == nil {
		_, _ = io.WriteString(w, r.end)
	}
}

// NewServer starts a Server on a port of this machine.
func NewServer() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("hostile server: %w", err)
	}
	f := &Server{URL: "http://" + l.Addr().String()}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", f.model)
	mux.HandleFunc("/mcp/{name}", f.tools)
	mux.HandleFunc("POST /hook/{name}", f.hook)
	f.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = f.server.Serve(l) }() // ends with Close
	return f, nil
}

// Close stops the server.
func (f *Server) Close() error {
	if err := f.server.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close the hostile server: %w", err)
	}
	return nil
}

func (f *Server) model(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Model string `json:"model"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, "want JSON", http.StatusBadRequest)
		return
	}
	f.Asked.Add(1)
	answer, ok := Streams()[req.Model]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if req.Model == headers {
		manyHeaders(w)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	answer.write(w)
}

// headers is the row with endless response headers, in each table.
const headers = "headers-without-end"

func manyHeaders(w http.ResponseWriter) {
	for i := range 500_000 {
		w.Header()[fmt.Sprint("X-", i)] = []string{"x"}
	}
}

// tools is an MCP server with a hostile list or hostile results.
func (f *Server) tools(w http.ResponseWriter, r *http.Request) {
	var msg struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Version string `json:"protocolVersion"`
		} `json:"params"`
	}
	if r.Method != http.MethodPost {
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&msg); err != nil || msg.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	f.Asked.Add(1)
	name := r.PathValue("name")
	w.Header().Set("Content-Type", "application/json")
	begin := `{"jsonrpc":"2.0","id":` + string(msg.ID) + `,"result":`
	switch msg.Method {
	case "initialize":
		fmt.Fprintf(w, `%s{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"Server","version":"1"}}}`, begin,
			msg.Params.Version)
	case "tools/list":
		if list, ok := Lists()[name]; ok {
			hostileResult(w, name, begin, list)
			return
		}
		fmt.Fprintf(w, `%s{"tools":[{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}}`, begin)
	case "tools/call":
		hostileResult(w, name, begin, Results()[name])
	default:
		fmt.Fprintf(w, `%s{}}`, begin)
	}
}

func hostileResult(w http.ResponseWriter, name, begin string, r repeated) {
	if name == headers {
		manyHeaders(w)
	}
	r.begin, r.end = begin+r.begin, r.end+"}"
	r.write(w)
}

func (f *Server) hook(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	f.Asked.Add(1)
	name := r.PathValue("name")
	switch name {
	case headers:
		manyHeaders(w)
	case "redirect":
		w.Header().Set("Location", f.URL+"/hook/redirect")
		w.WriteHeader(http.StatusTemporaryRedirect)
	case "slow-drip":
		for range 100 {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	Hooks()[name].write(w)
}
