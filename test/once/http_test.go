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

// cell is one situation of the table.
type cell struct {
	tool string
	*script
}

// cells makes the table for streamable HTTP: every status with the bodies that have fooled us, a few with all.
func cells() (out []cell) {
	add := func(tool string, status int, body string, unread bool) {
		out = append(out, cell{tool, &script{status: status, body: body, unread: unread}})
	}
	for _, status := range []int{
		200, 201, 202, 204, 301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 408, 409, 410, 413, 418, 421, 425, 429, 500, 501, 502, 503, 504,
	} {
		for _, body := range []string{"result", "error", "null id", "text", "empty"} {
			add(once, status, body, false)
		}
		add(once, status, "text", true)
	}
	for _, status := range []int{200, 307, 400, 404, 500} {
		for _, body := range []string{"foreign error", "foreign result", "html", "half", "stream", "ended stream", "cut stream"} {
			add(once, status, body, false)
			add(once, status, body, true)
		}
		for _, tool := range []string{read, idempotent} {
			for _, body := range []string{"result", "error", "null id", "text", "half"} {
				add(tool, status, body, false)
			}
		}
	}
	for _, tool := range []string{read, idempotent, once} {
		for range 5 { // over connections that were used before
			add(tool, 0, "closed", false)
		}
		add(tool, 0, "closed", true)
		add(tool, 401, "text", false)
		add(tool, 429, "null id", false)
		add(tool, 503, "html", false)
	}
	return out
}

func TestCallsOverHTTP(t *testing.T) {
	for name, server := range map[string]*scripted{
		"2025-11-25": {session: "one"}, "2025-11-25 without sessions": {}, "2026-07-28": {modern: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMesh(t)
			table := cells()
			server.scripts = map[string]*script{}
			for i, c := range table {
				server.scripts[key(i)] = c.script
				if c.unread && c.answered() { // an id that was not read cannot be answered
					c.body = "text"
				}
			}
			s := httptest.NewServer(server)
			t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
			m.source(&registryv1.Source{Name: "x", Url: s.URL + "/mcp"})
			each(len(table), 8, func(i int) {
				c := table[i]
				got := m.call("x", c.tool, key(i))
				c.check(t, fmt.Sprintf("%s, status %d, %s, unread %v", c.tool, c.status, c.body, c.unread), c.tool, key(i), got, false)
			})
			t.Logf("%d situations", len(table))
		})
	}
}

func key(i int) string { return fmt.Sprintf("key-%d", i) }

// each runs f for 0 to n-1, some at a time.
func each(n, atOnce int, f func(int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range atOnce {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// forgetful is a server of the old era that sometimes loses its session.
type forgetful struct {
	refuse func(w http.ResponseWriter)

	mu       sync.Mutex
	sessions int
	known    string
	gone     bool // no session is opened any more
	acts     int
	lies     bool // it acts before it says that it does not know the session
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	req, err := readRequest(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch {
	case req.Method == "initialize" && !f.gone:
		f.sessions++
		f.known = fmt.Sprint("session-", f.sessions)
		w.Header().Set("Mcp-Session-Id", f.known)
	case req.Method == "server/discover":
	case f.gone || r.Header.Get("Mcp-Session-Id") != f.known:
		if req.Method == "tools/call" && f.lies {
			f.acts++
		}
		f.refuse(w)
		return
	}
	if req.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if req.Method == "tools/call" {
		f.acts++
		fmt.Fprint(w, strings.ReplaceAll(bodies["result"].text, "ID", string(req.ID)))
		return
	}
	fmt.Fprint(w, req.reply(false))
}

// TestALostSessionIsTheOnlyRefusalThatIsBelieved: the call is sent once more, in a new session. If none can be opened, it is unknown
// whether the server that refused the call had processed it.
func TestALostSessionIsTheOnlyRefusalThatIsBelieved(t *testing.T) {
	m := newMesh(t)
	for i, refuse := range []func(http.ResponseWriter){
		func(w http.ResponseWriter) { http.Error(w, "Session not found", http.StatusNotFound) },
		func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`)
		},
	} {
		f := &forgetful{refuse: refuse}
		s := httptest.NewServer(f)
		t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
		source := fmt.Sprint("s", i)
		m.source(&registryv1.Source{Name: source, Url: s.URL + "/mcp"})
		set := func(change func()) {
			f.mu.Lock()
			defer f.mu.Unlock()
			change()
		}
		acts := func() (n int) {
			set(func() { n, f.acts = f.acts, 0 })
			return n
		}
		for n := range 3 {
			set(func() { f.known = "forgotten" })
			if got := m.call(source, once, fmt.Sprint(source, n)); got.String() != "result" || acts() != 1 {
				t.Errorf("refusal %d: told %s", i, got)
			}
		}
		set(func() { f.gone, f.lies = true, true })
		if got, n := m.call(source, once, source+"gone"), acts(); got.String() != "unknown" || n != 1 {
			t.Errorf("refusal %d, and no new session: acted %d times, told %s: %s", i, n, got, got.text)
		}
	}
}

func TestAServerThatIsAwayWasNotCalled(t *testing.T) {
	m := newMesh(t)
	s := httptest.NewServer(&scripted{modern: true})
	m.source(&registryv1.Source{Name: "x", Url: s.URL + "/mcp"})
	s.CloseClientConnections()
	s.Close()
	for _, tool := range []string{read, idempotent, once} {
		if got := m.call("x", tool, tool); got.String() != "not called" {
			t.Errorf("%s: told %s", tool, got)
		}
	}
}
