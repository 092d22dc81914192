package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
)

// connection is one response of a fake event stream, and what the request must contain.
type connection struct {
	wantCursor string
	status     int // 200 when 0
	body       string
}

func durable(seq int, typ string) string {
	return fmt.Sprintf("id: %d\nevent: %s\ndata: {\"seq\":%d,\"type\":%q,\"data\":{}}\n\n", seq, typ, seq, typ)
}

func delta(seq, n int) string {
	return fmt.Sprintf("id: %d.%d\nevent: message.delta\ndata: "+
		"{\"seq\":%d,\"delta\":%d,\"type\":\"message.delta\",\"data\":{\"text\":\"x\"}}\n\n", seq, n, seq, n)
}

const (
	endFrame   = "event: end\ndata: {\"turn_id\":\"trn_1\"}\n\n"
	progress   = "event: tool_call.progress\ndata: {\"seq\":2,\"type\":\"tool_call.progress\",\"data\":{\"progress\":1}}\n\n"
	away       = `{"status":503,"code":"unavailable","detail":"the sessions service is stopping","todo":"Connect again."}`
	expired    = `{"status":401,"code":"unauthenticated","detail":"the token has expired"}`
	notAllowed = `{"status":403,"code":"permission_denied","detail":"you may not watch this"}`
)

func serveStream(t *testing.T, conns []connection) (*Client, func() int) {
	t.Helper()
	n := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n >= len(conns) {
			t.Errorf("connection %d was not expected", n+1)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		c := conns[n]
		n++
		if got := r.Header.Get("Last-Event-ID"); got != c.wantCursor {
			t.Errorf("connection %d: Last-Event-ID %q, want %q", n, got, c.wantCursor)
		}
		if c.status != 0 {
			w.WriteHeader(c.status)
		}
		_, _ = w.Write([]byte(c.body))
	}))
	t.Cleanup(srv.Close)
	c, err := New(Config{Server: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, func() int { return n }
}

func TestWatch(t *testing.T) {
	for _, tc := range []struct {
		name  string
		after string
		conns []connection
		want  string // cursors seen, p for progress
		code  string // of the error, "" for none
		notes int
	}{
		{name: "to the end", conns: []connection{{body: "retry: 1000\n\n" + durable(1, "turn.queued") + ":\n\n" + durable(2, "turn.completed") +
			endFrame}}, want: "1 2"},
		{name: "from a cursor", after: "7", conns: []connection{{wantCursor: "7", body: durable(8, "turn.completed") + endFrame}}, want: "8"},
		{
			name: "a break in the middle of a message", want: "1 2 2.1 2.2 2.3 3", notes: 1,
			conns: []connection{
				{body: durable(1, "turn.queued") + durable(2, "message.started") + delta(2, 1) + delta(2, 2)},
				{wantCursor: "2.2", body: delta(2, 3) + durable(3, "turn.completed") + endFrame},
			},
		},
		{
			name: "a server that repeats is not believed", want: "1 2 2.1 p 3", notes: 1,
			conns: []connection{
				{body: durable(1, "turn.queued") + durable(2, "message.started") + delta(2, 1) + progress},
				{wantCursor: "2.1", body: durable(1, "turn.queued") + durable(2, "message.started") + delta(2, 1) + durable(3, "turn.completed") +
					endFrame},
			},
		},
		{
			name: "stale deltas after the message", want: "2 2.1 3 4",
			conns: []connection{{body: durable(2, "message.started") + delta(2, 1) + durable(3, "message.completed") + delta(2, 2) +
				durable(4, "turn.completed") + endFrame}},
		},
		{
			name: "a frame cut off is read again", want: "1 2", notes: 1,
			conns: []connection{
				{body: durable(1, "turn.queued") + "id: 2\nevent: turn.completed\ndata: {\"seq\""},
				{wantCursor: "1", body: durable(2, "turn.completed") + endFrame},
			},
		},
		{
			name: "past the end there is nothing", want: "1", notes: 1,
			conns: []connection{{body: durable(1, "turn.completed")}, {wantCursor: "1", status: http.StatusNoContent}},
		},
		{
			name: "an error that passes", want: "1 2", notes: 1,
			conns: []connection{
				{body: durable(1, "turn.queued") + "event: error-status\ndata: " + away + "\n\n"},
				{wantCursor: "1", status: http.StatusServiceUnavailable, body: away},
				{wantCursor: "1", status: http.StatusBadGateway, body: "<html>"},
				{wantCursor: "1", body: durable(2, "turn.completed") + endFrame},
			},
		},
		{
			name: "a token that expires", want: "1 2", notes: 1,
			conns: []connection{
				{body: durable(1, "turn.queued") + "event: error-status\ndata: " + expired + "\n\n"},
				{wantCursor: "1", body: durable(2, "turn.completed") + endFrame},
			},
		},
		{
			name: "a token that expires, and no other", want: "1", code: "unauthenticated", notes: 1,
			conns: []connection{
				{body: durable(1, "turn.queued") + "event: error-status\ndata: " + expired + "\n\n"},
				{wantCursor: "1", status: http.StatusUnauthorized, body: expired},
			},
		},
		{
			name: "an error that stays", want: "1", code: "permission_denied",
			conns: []connection{{body: durable(1, "turn.queued") + "event: error-status\ndata: " + notAllowed + "\n\n"}},
		},
		{
			name: "an error at the resumption", want: "1", code: "not_found", notes: 1,
			conns: []connection{
				{body: durable(1, "turn.queued")},
				{wantCursor: "1", status: http.StatusNotFound, body: `{"code":"not_found","detail":"gone"}`},
			},
		},
		{name: "refused at once", code: "unavailable", conns: []connection{{status: http.StatusServiceUnavailable, body: away}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, connects := serveStream(t, tc.conns)
			var got []string
			notes := 0
			err := c.Watch(t.Context(), Watch{
				Path: "/v1/turns/trn_1/events", After: tc.after, Backoff: time.Microsecond,
				Notice: func(error) { notes++ },
			}, func(ev Event) error {
				id := fmt.Sprint(ev.GetSeq())
				switch {
				case ev.GetType() == "tool_call.progress":
					id = "p"
				case ev.GetDelta() > 0:
					id += fmt.Sprintf(".%d", ev.GetDelta())
				}
				got = append(got, id)
				return nil
			})
			if fault.CodeOf(err) != tc.code {
				t.Errorf("Watch = %v, want code %q", err, tc.code)
			}
			if !slices.Equal(got, strings.Fields(tc.want)) {
				t.Errorf("events %v, want %s", got, tc.want)
			}
			if connects() != len(tc.conns) || notes != tc.notes {
				t.Errorf("%d connections, want %d; %d notes, want %d", connects(), len(tc.conns), notes, tc.notes)
			}
		})
	}
}

func TestWatchEndsWithItsHandler(t *testing.T) {
	c, _ := serveStream(t, []connection{{body: durable(1, "turn.queued") + durable(2, "turn.started")}})
	stop := errors.New("enough")
	if err := c.Watch(t.Context(), Watch{Path: "/x"}, func(Event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("Watch = %v", err)
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(durable(1, "turn.queued")))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(srv.Close)
	c, err := New(Config{Server: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	ctx, cancel := context.WithCancel(t.Context())
	err = c.Watch(ctx, Watch{Path: "/x"}, func(Event) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Watch = %v", err)
	}
}

func TestWatchLosesPatience(t *testing.T) {
	conns := []connection{{body: durable(1, "turn.queued")}, {wantCursor: "1", status: http.StatusServiceUnavailable, body: away}}
	c, _ := serveStream(t, conns)
	err := c.Watch(t.Context(), Watch{Path: "/x", Backoff: time.Microsecond, Patience: time.Nanosecond}, func(Event) error { return nil })
	if fault.CodeOf(err) != "unavailable" && (err == nil || !strings.Contains(err.Error(), "does not come back")) {
		t.Errorf("Watch = %v", err)
	}
}
