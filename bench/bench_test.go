package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/bench/model"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestQuantile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for _, row := range []struct {
		name   string
		sorted []time.Duration
		q      float64
		want   time.Duration
	}{
		{name: "half of one is that one", sorted: []time.Duration{7}, q: 0.5, want: 7},
		{name: "the lower of two in the middle", sorted: []time.Duration{1, 2}, q: 0.5, want: 1},
		{name: "the middle of three", sorted: []time.Duration{1, 2, 9}, q: 0.5, want: 2},
		{name: "the slowest of few", sorted: []time.Duration{1, 2, 9}, q: 0.99, want: 9},
		{name: "half of a hundred", sorted: hundred, q: 0.5, want: 50},
		{name: "all but one of a hundred", sorted: hundred, q: 0.99, want: 99},
	} {
		if got := quantile(row.sorted, row.q); got != row.want {
			t.Errorf("%s: got %d, want %d", row.name, got, row.want)
		}
	}
}

func TestLoopRunsEachTurnOnceAndStopsAtAnError(t *testing.T) {
	out, err := loop(t.Context(), 4, 50, func(context.Context) (sample, error) { return sample{total: 1}, nil })
	if err != nil || len(out.samples) != 50 {
		t.Errorf("got %d turns, %v", len(out.samples), err)
	}
	boom := errors.New("boom")
	if _, err := loop(t.Context(), 4, 50, func(context.Context) (sample, error) { return sample{}, boom }); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
}

// tool is an MCP server with one tool that answers as the calculator does.
func tool(t *testing.T, session string) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var msg struct {
			ID     *int   `json:"id"`
			Method string `json:"method"`
		}
		if err := json.NewDecoder(r.Body).Decode(&msg); err != nil {
			t.Error(err)
		}
		if msg.Method != "initialize" && r.Header.Get("Mcp-Session-Id") != session {
			t.Errorf("%s without the session", msg.Method)
		}
		w.Header().Set("Mcp-Session-Id", session)
		switch {
		case msg.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case msg.Method == "tools/call":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[]}}\n\n")
		default:
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestFloorMakesTheSameCalls(t *testing.T) {
	m, err := model.New(5, model.Pace{First: time.Millisecond, Next: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	c := newHTTP()
	defer c.CloseIdleConnections()
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := newFloor(t.Context(), m, model.Paced, 1, "unused"); err == nil {
		t.Error("a floor without requests to repeat")
	}
	ask(t, c, m, "What is 3 + 4?", 0)
	ask(t, c, m, "What is 3 + 4?", 1)
	f, err := newFloor(t.Context(), m, model.Paced, 1, tool(t, "s1").URL)
	if err != nil {
		t.Fatal(err)
	}
	defer f.http.CloseIdleConnections()
	s, err := f.turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.first <= 0 || s.total <= s.first {
		t.Errorf("got %+v", s)
	}
}

// ask makes one model call with the given number of tool results after the question.
func ask(t *testing.T, c *http.Client, m *model.Server, question string, results int) {
	messages := []map[string]any{{"role": "user", "content": question}}
	for range results {
		messages = append(messages, map[string]any{"role": "assistant"}, map[string]any{"role": "tool", "content": "7"})
	}
	body := map[string]any{"model": model.Paced, "messages": messages}
	if err := call(t.Context(), c, http.MethodPost, m.URL+"/chat/completions", body, nil); err != nil {
		t.Fatal(err)
	}
}

func TestClientNotesWhenThingsCome(t *testing.T) {
	for _, row := range []struct {
		name, stream, wrong string
	}{
		{name: "deltas", stream: "event: message.delta\ndata: {}\n\nevent: turn.completed\ndata: {}\n\nevent: end\ndata: {}\n\n"},
		{name: "a late watcher", stream: "event: message.completed\ndata: {}\n\nevent: turn.completed\ndata: {}\n\n"},
		{name: "a failed turn", stream: "event: turn.failed\ndata: {\"why\":1}\n\n", wrong: "turn.failed"},
		{name: "a cut stream", stream: "event: message.delta\ndata: {}\n\n", wrong: "without an answer"},
	} {
		t.Run(row.name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.HandleFunc("POST /v1/sessions", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"id":"ses_1"}`) })
			mux.HandleFunc("POST /v1/sessions/ses_1/turns", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", "/v1/turns/trn_1")
				if r.Header.Get("Accept") == "text/event-stream" {
					_, _ = io.WriteString(w, row.stream)
					return
				}
				w.WriteHeader(http.StatusAccepted)
				_, _ = io.WriteString(w, `{"id":"trn_1"}`)
			})
			mux.HandleFunc("GET /v1/turns/trn_1/events", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, row.stream) })
			server := httptest.NewServer(mux)
			defer server.Close()
			c := &client{mesh: &mesh{url: server.URL, http: newHTTP()}, agent: model.Instant}
			defer c.mesh.http.CloseIdleConnections()
			if err := c.prepare(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
			for _, c.apart = range []bool{false, true} {
				s, err := c.turn(t.Context())
				switch {
				case row.wrong == "" && (err != nil || s.first <= 0 || s.total < s.first || s.accepted <= 0 || s.turn != "trn_1"):
					t.Errorf("apart %v: got %+v, %v", c.apart, s, err)
				case row.wrong != "" && (err == nil || !strings.Contains(err.Error(), row.wrong)):
					t.Errorf("apart %v: got %v, want %s", c.apart, err, row.wrong)
				}
			}
			if _, err := c.turn(t.Context()); err == nil {
				t.Error("a turn without a session")
			}
		})
	}
}

func TestFlags(t *testing.T) {
	for _, row := range []struct {
		name, args string
		check      func(options) bool
	}{
		{name: "defaults", check: func(o options) bool {
			return o.alone == 200 && slices.Equal(o.concurrency, []int{16, 64}) && slices.Equal(o.deployments, []string{embeddedMesh})
		}},
		{name: "quick keeps what is given", args: "-quick -turns 7", check: func(o options) bool { return o.alone == 7 && o.alonePaced == 15 }},
		{name: "split", args: "-split", check: func(o options) bool { return slices.Equal(o.deployments, []string{splitMesh}) }},
		{name: "all", args: "-all", check: func(o options) bool { return len(o.deployments) == 2 }},
		{name: "no turns", args: "-turns 0"},
		{name: "bad concurrency", args: "-concurrency 1,x"},
		{name: "one database for two meshes", args: "-all -postgres x"},
		{name: "stray words", args: "hello"},
	} {
		o, err := parse(strings.Fields(row.args), io.Discard)
		if (err == nil) != (row.check != nil) || row.check != nil && !row.check(o) {
			t.Errorf("%s: got %+v, %v", row.name, o, err)
		}
	}
}
