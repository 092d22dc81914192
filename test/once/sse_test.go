package once

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// streamed is an MCP server over the transport of 2024: requests are posted, answers come on one stream.
type streamed struct {
	scripts map[string]*script

	mu      sync.Mutex
	streams map[string]chan string
}

// hangUp, in the place of an event, ends the stream of a session.
const hangUp = "hang up"

func (s *streamed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.stream(w, r)
		return
	}
	s.mu.Lock()
	out := s.streams[r.URL.Query().Get("session")]
	s.mu.Unlock()
	req, err := readRequest(r.Body)
	if out == nil || err != nil {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	c := s.scripts[r.Header.Get("Idempotency-Key")]
	switch {
	case req.Method == "tools/call" && c != nil:
		c.acted(req.key())
		if c.status != 0 && c.status != http.StatusAccepted {
			c.answer(w, string(req.ID))
			return
		}
		w.WriteHeader(http.StatusAccepted)
		if c.body == "closed" {
			out <- hangUp // not close(out): another request of the session may be about to answer
			return
		}
		out <- strings.ReplaceAll(bodies[c.body].text, "ID", string(req.ID))
	default:
		w.WriteHeader(http.StatusAccepted)
		if req.ID != nil {
			out <- req.reply(false)
		}
	}
}

func (s *streamed) stream(w http.ResponseWriter, r *http.Request) {
	out := make(chan string, 100)
	s.mu.Lock()
	id := fmt.Sprint(len(s.streams))
	s.streams[id] = out
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "event: endpoint\ndata: /post?session=%s\n\n", id)
	for {
		_ = http.NewResponseController(w).Flush()
		select {
		case text := <-out:
			if text == hangUp {
				panic(http.ErrAbortHandler)
			}
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", text)
		case <-r.Context().Done():
			return
		}
	}
}

func TestCallsOverSSE(t *testing.T) {
	t.Parallel()
	m := newMesh(t)
	server := &streamed{scripts: map[string]*script{}, streams: map[string]chan string{}}
	s := httptest.NewServer(server)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	var table []cell
	for _, tool := range []string{read, idempotent, once} {
		for _, status := range []int{204, 302, 307, 400, 401, 403, 404, 409, 429, 500, 503} {
			table = append(table, cell{tool, &script{status: status, body: "text"}}, cell{tool, &script{status: status, body: "null id"}})
		}
		for _, body := range []string{"result", "error"} {
			table = append(table, cell{tool, &script{status: http.StatusAccepted, body: body}})
		}
		for _, body := range []string{"null id", "foreign result", "text", "half"} { // nobody knows whose answer that was to be
			table = append(table, cell{tool, &script{status: 0, body: body}})
		}
	}
	for i, c := range table {
		server.scripts[key(i)] = c.script
	}
	closed := map[string]*script{}
	for _, tool := range []string{read, idempotent, once} { // the stream breaks: one by one, it is all calls'
		closed[tool] = &script{status: http.StatusAccepted, body: "closed"}
		server.scripts["closed-"+tool] = closed[tool]
	}
	m.source(&registryv1.Source{Name: "x", Url: s.URL + "/sse"})
	m.source(&registryv1.Source{Name: "hasty", Url: s.URL + "/sse", CallTimeoutSeconds: 1})
	each(len(table), 16, func(i int) {
		c, source := table[i], "x"
		if c.status == 0 {
			source = "hasty"
		}
		got := m.call(source, c.tool, key(i))
		c.check(t, fmt.Sprintf("%s, status %d, %s", c.tool, c.status, c.body), c.tool, key(i), got, c.status == 0)
	})
	for tool, c := range closed {
		c.check(t, tool+", the stream is closed", tool, "closed-"+tool, m.call("x", tool, "closed-"+tool), false)
	}
}
