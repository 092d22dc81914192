package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/gateway/eventjson"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

type watchStream = grpc.ServerStreamingServer[sessionsv1.WatchTurnResponse]

// frame is one event of a stream, or a comment.
type frame struct{ id, event, data, retry, comment string }

// reader reads a stream frame by frame.
type reader struct {
	t    testing.TB
	resp *http.Response
	in   *bufio.Reader
}

func (s *server) open(path string, headers ...string) *reader {
	s.t.Helper()
	return s.openCtx(s.t.Context(), path, headers...)
}

func (s *server) openCtx(ctx context.Context, path string, headers ...string) *reader {
	s.t.Helper()
	return s.stream(ctx, http.MethodGet, path, nil, headers)
}

// post sends a request whose response is read as a stream.
func (s *server) post(path, body string, headers ...string) *reader {
	s.t.Helper()
	return s.stream(s.t.Context(), http.MethodPost, path, strings.NewReader(body),
		append([]string{"Content-Type", "application/json"}, headers...))
}

func (s *server) stream(ctx context.Context, method, path string, body io.Reader, headers []string) *reader {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = resp.Body.Close() })
	return &reader{s.t, resp, bufio.NewReader(resp.Body)}
}

// next returns the next frame, false at the end.
func (r *reader) next() (frame, bool) {
	r.t.Helper()
	var f frame
	for {
		line, err := r.in.ReadString('\n')
		if errors.Is(err, io.EOF) && f == (frame{}) && line == "" {
			return f, false
		}
		if err != nil {
			r.t.Fatalf("read stream: %v", err)
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			return f, true
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			f.id = value
		case "event":
			f.event = value
		case "data":
			f.data += value
		case "retry":
			f.retry = value
		case "":
			f.comment = ":" + value
		default:
			r.t.Fatalf("unknown line %q", line)
		}
	}
}

func (r *reader) must() frame {
	r.t.Helper()
	f, ok := r.next()
	if !ok {
		r.t.Fatal("the stream ended")
	}
	return f
}

func event(seq uint32, kind, cursor string, change func(*turnv1.Event)) *sessionsv1.WatchTurnResponse {
	e := &turnv1.Event{Seq: seq, Type: kind, SessionId: "ses_1", TurnId: "trn_1"}
	if change != nil {
		change(e)
	}
	return &sessionsv1.WatchTurnResponse{Event: e, Cursor: cursor}
}

func delta(seq, n uint32, text string) *sessionsv1.WatchTurnResponse {
	return event(seq, "message.delta", fmt.Sprintf("%d.%d", seq, n), func(e *turnv1.Event) {
		e.Delta, e.Data = n, &turnv1.Event_MessageDelta{MessageDelta: &turnv1.MessageDelta{MessageId: "msg_1", Text: text}}
	})
}

func ended(seq uint32) *sessionsv1.WatchTurnResponse {
	return event(seq, "turn.completed", fmt.Sprint(seq), func(e *turnv1.Event) {
		e.Data = &turnv1.Event_TurnEnded{TurnEnded: &turnv1.TurnEnded{Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, StopReason: "end"}}
	})
}

// sends returns a watch that admits, sends the responses and ends.
func sends(all ...*sessionsv1.WatchTurnResponse) func(*sessionsv1.WatchTurnRequest, watchStream) error {
	return func(_ *sessionsv1.WatchTurnRequest, s watchStream) error {
		if err := s.SendHeader(metadata.MD{}); err != nil {
			return err
		}
		for _, m := range all {
			if err := s.Send(m); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestTurnStreamFromStartToEnd(t *testing.T) {
	s := serve(t, nil)
	progress := event(3, "tool_call.progress", "", func(e *turnv1.Event) {
		e.Data = &turnv1.Event_ToolCallProgress{ToolCallProgress: &turnv1.ToolCallProgress{CallId: "c", Message: "half\nway"}}
	})
	s.up.watch = sends(event(1, "turn.queued", "1", nil), delta(2, 1, "He"), delta(2, 2, "llo\n<b>"), progress, ended(4))
	r := s.open("/v1/turns/trn_1/events")
	if r.resp.StatusCode != http.StatusOK || r.resp.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" ||
		r.resp.Header.Get("Cache-Control") != "no-cache, no-transform" || r.resp.Header.Get("X-Accel-Buffering") != "no" {
		t.Fatalf("status %d, headers %v", r.resp.StatusCode, r.resp.Header)
	}
	if f := r.must(); f.retry != "1000" {
		t.Errorf("first frame is %+v", f)
	}
	want := []frame{
		{id: "1", event: "turn.queued"},
		{id: "2.1", event: "message.delta"},
		{id: "2.2", event: "message.delta"},
		{event: "tool_call.progress"},
		{id: "4", event: "turn.completed"},
	}
	var events []*turnv1.Event
	for _, w := range want {
		f := r.must()
		e, err := eventjson.Decode([]byte(f.data))
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
		if f.id != w.id || f.event != w.event || e.GetType() != w.event {
			t.Errorf("frame is %+v, want %+v", f, w)
		}
	}
	if text := events[2].GetMessageDelta().GetText(); text != "llo\n<b>" {
		t.Errorf("delta is %q", text)
	}
	if f := r.must(); f.event != "end" || f.id != "" || f.data != `{"turn_id":"trn_1"}` {
		t.Errorf("last frame is %+v", f)
	}
	if f, more := r.next(); more {
		t.Errorf("after the end comes %+v", f)
	}
}

func TestAReaderChoosesWhatItSees(t *testing.T) {
	s := serve(t, nil)
	s.up.watch = sends(event(1, "turn.queued", "1", nil), delta(2, 1, "He"), event(3, "tool_call.started", "3", nil),
		event(4, "tool_call.completed", "4", nil), ended(5))
	for query, want := range map[string]string{
		"?types=turn.completed":                   "retry 5:turn.completed :end",
		"?types=turn.*,message.delta":             "retry 1:turn.queued 2.1:message.delta 5:turn.completed :end",
		"?types=tool_call.*&types=turn.queued":    "retry 1:turn.queued 3:tool_call.started 4:tool_call.completed :end",
		"?event=message":                          "retry 1: 2.1: 3: 4: 5: :end",
		"?event=message&types=turn.*&after=0":     "retry 1: 5: :end",
		"?types=tool_call.completed&after=3":      "retry 4:tool_call.completed :end",
		"?types=turn.completed&include=children":  "retry 5:turn.completed :end",
		"?types=shield.triggered,turn.recovered":  "retry :end",
		"?types=turn.cancelled&event=message":     "retry :end",
		"?types=message.delta&event=message":      "retry 2.1: :end",
		"?types=message.*,turn.*":                 "retry 1:turn.queued 2.1:message.delta 5:turn.completed :end",
		"?types=message.delta,tool_call.started":  "retry 2.1:message.delta 3:tool_call.started :end",
		"?types=tool_call.arguments.delta,turn.*": "retry 1:turn.queued 5:turn.completed :end",
	} {
		r := s.open("/v1/turns/trn_1/events" + query)
		got := []string{}
		for {
			f, more := r.next()
			if !more {
				break
			}
			if f.retry != "" {
				got = append(got, "retry")
				continue
			}
			if !strings.Contains(f.data, `"type":"`+f.event) && f.event != "end" {
				t.Errorf("%s: %+v", query, f)
			}
			got = append(got, f.id+":"+f.event)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s", query, text, want)
		}
	}
	for query, field := range map[string]string{
		"?types=turn.nope": "types", "?types=": "types", "?types=*": "types", "?event=x": "event", "?include=x": "include",
		"?typs=turn.*": "typs",
	} {
		p := s.do("GET", "/v1/turns/trn_1/events"+query, "").problem(t)
		if p.Status != 400 || len(p.Fields) != 1 || p.Fields[0].Field != field {
			t.Errorf("%s: %+v", query, p)
		}
	}
}

func TestStreamOpensBeforeTheFirstEvent(t *testing.T) {
	s := serve(t, func(c *gateway.Config, _ *gateway.Deps) { c.Heartbeat = time.Millisecond })
	goOn := make(chan struct{})
	s.up.watch = func(_ *sessionsv1.WatchTurnRequest, ss watchStream) error {
		if err := ss.SendHeader(metadata.MD{}); err != nil {
			return err
		}
		<-goOn
		return ss.Send(ended(9))
	}
	for _, path := range []string{"/v1/sessions/ses_1/events", "/v1/turns/trn_1/events?after=3"} {
		r := s.open(path)
		r.must() // retry
		for range 3 {
			if f := r.must(); f.comment != ":" {
				t.Fatalf("%s: a silent stream says %+v", path, f)
			}
		}
		goOn <- struct{}{}
		f := r.must()
		for f.comment != "" {
			f = r.must()
		}
		if f.id != "9" {
			t.Errorf("%s: frame is %+v", path, f)
		}
	}
}

func TestResume(t *testing.T) {
	s := serve(t, nil)
	s.up.watch = sends(ended(9))
	rows := []struct {
		name, path, header string
		want               *sessionsv1.WatchTurnRequest
	}{
		{"from the beginning", "/v1/turns/trn_1/events", "", &sessionsv1.WatchTurnRequest{TurnId: "trn_1"}},
		{"by query", "/v1/turns/trn_1/events?after=7", "", &sessionsv1.WatchTurnRequest{TurnId: "trn_1", After: "7"}},
		{"by header", "/v1/turns/trn_1/events", "7.3", &sessionsv1.WatchTurnRequest{TurnId: "trn_1", After: "7.3"}},
		{"header wins", "/v1/sessions/ses_1/events?after=7", "8.1", &sessionsv1.WatchTurnRequest{SessionId: "ses_1", After: "8.1"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var headers []string
			if row.header != "" {
				headers = []string{"Last-Event-ID", row.header}
			}
			r := s.open(row.path, headers...)
			for _, more := r.next(); more; _, more = r.next() {
			}
			got, ok := s.up.request().(*sessionsv1.WatchTurnRequest)
			if !ok || got.String() != row.want.String() {
				t.Errorf("upstream got %v, want %v", got, row.want)
			}
		})
	}
}

func TestPastTheEndIsNoContent(t *testing.T) {
	s := serve(t, nil)
	s.up.watch = sends()
	if a := s.do("GET", "/v1/turns/trn_1/events", "", "Last-Event-ID", "9"); a.status != http.StatusNoContent || len(a.body) > 0 {
		t.Errorf("got %d %q, want 204", a.status, a.body)
	}
	s.up.watch = func(*sessionsv1.WatchTurnRequest, watchStream) error { return nil } // not even headers
	if a := s.do("GET", "/v1/turns/trn_1/events?after=9.2", ""); a.status != http.StatusNoContent {
		t.Errorf("got %d %q, want 204", a.status, a.body)
	}
}

func TestErrorOnTheWay(t *testing.T) {
	s := serve(t, nil)
	s.up.watch = func(r *sessionsv1.WatchTurnRequest, ss watchStream) error {
		if err := sends(event(1, "turn.queued", "1", nil))(r, ss); err != nil {
			return err
		}
		return fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_RATE_LIMITED, "you are too slow")
	}
	r := s.open("/v1/sessions/ses_1/events")
	r.must()
	if f := r.must(); f.id != "1" {
		t.Errorf("frame is %+v", f)
	}
	if f := r.must(); f.event != "error-status" || f.id != "" || !strings.Contains(f.data, `"code":"rate_limited"`) ||
		!strings.Contains(f.data, "too slow") {
		t.Errorf("frame is %+v", f)
	}
	if f, more := r.next(); more {
		t.Errorf("after the error comes %+v", f)
	}
}

func TestClientGoneCancelsUpstream(t *testing.T) {
	s := serve(t, nil)
	s.up.watch = func(_ *sessionsv1.WatchTurnRequest, ss watchStream) error {
		_ = ss.SendHeader(metadata.MD{})
		<-ss.Context().Done()
		return ss.Context().Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := s.openCtx(ctx, "/v1/sessions/ses_1/events")
	r.must()
	cancel()
	<-s.up.left
}

func TestSlowReaderIsCut(t *testing.T) {
	s := serve(t, func(c *gateway.Config, _ *gateway.Deps) { c.WriteTimeout = 50 * time.Millisecond })
	text := strings.Repeat("x", 64<<10)
	s.up.watch = func(_ *sessionsv1.WatchTurnRequest, ss watchStream) error {
		_ = ss.SendHeader(metadata.MD{})
		for n := uint32(1); ; n++ { // until the gateway disconnects
			if err := ss.Send(delta(1, n, text)); err != nil {
				return err
			}
		}
	}
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "GET /v1/sessions/ses_1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-s.up.left // without a byte read
}

func TestStopEndsStreamsSoThatReadersComeBack(t *testing.T) {
	s := serve(t, nil)
	s.up.watch = func(_ *sessionsv1.WatchTurnRequest, ss watchStream) error {
		_ = ss.SendHeader(metadata.MD{})
		<-ss.Context().Done()
		return ss.Context().Err()
	}
	r := s.open("/v1/turns/trn_1/events")
	r.must()
	if err := s.g.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f, more := r.next(); more {
		t.Errorf("the stream says %+v instead of just ending", f)
	}
	<-s.up.left
}

func TestStreamOverHTTP2(t *testing.T) {
	s := serve(t, nil)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	defer transport.CloseIdleConnections()
	s.client = &http.Client{Transport: transport}
	s.up.watch = sends(delta(1, 1, "x"), ended(2))
	r := s.open("/v1/turns/trn_1/events")
	if r.resp.ProtoMajor != 2 {
		t.Fatalf("protocol is %s", r.resp.Proto)
	}
	r.must()
	for _, want := range []string{"message.delta", "turn.completed", "end"} {
		if f := r.must(); f.event != want {
			t.Errorf("frame is %+v, want %s", f, want)
		}
	}
}

func TestATurnIsMadeAndFollowedByOneRequest(t *testing.T) {
	s := serve(t, nil)
	asked := make(chan *sessionsv1.WatchTurnRequest, 10)
	s.up.watch = func(r *sessionsv1.WatchTurnRequest, stream watchStream) error {
		asked <- r
		return sends(event(1, "turn.queued", "1", nil), ended(2))(r, stream)
	}
	for _, row := range []struct{ name, path, body, accept, turn string }{
		{"create", "/v1/sessions/ses_1/turns", `{"input":"hi"}`, "text/event-stream", "trn_1"},
		{"create, anything else if need be", "/v1/sessions/ses_1/turns", `{"input":"hi"}`, "text/event-stream;q=0.9, */*;q=0.1", "trn_1"},
		{"chat", "/v1/chat", `{"message":"hi"}`, "text/event-stream", "trn_1"},
		{"re-run", "/v1/turns/trn_1:rerun", `{}`, "text/event-stream, application/json", "trn_2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := s.post(row.path, row.body, "Accept", row.accept, "Idempotency-Key", "k", "Last-Event-ID", "0")
			if r.resp.StatusCode != http.StatusOK || r.resp.Header.Get("Location") != "/v1/turns/"+row.turn ||
				r.resp.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
				t.Fatalf("answered %d %v", r.resp.StatusCode, r.resp.Header)
			}
			for _, want := range []string{"", "turn.queued", "turn.completed", "end"} {
				if f := r.must(); f.event != want {
					t.Fatalf("got %+v, want %q", f, want)
				}
			}
			if got := <-asked; got.GetTurnId() != row.turn || got.GetAfter() != "0" {
				t.Errorf("watched %v", got)
			}
		})
	}
}

func TestWhoWantsJSONGetsTheTurn(t *testing.T) {
	s := serve(t, nil)
	for _, accept := range []string{"", "*/*", "application/json", "application/json, text/event-stream", "text/html"} {
		r := s.post("/v1/sessions/ses_1/turns", `{"input":"hi"}`, "Accept", accept)
		if body, err := io.ReadAll(r.in); err != nil || r.resp.StatusCode != http.StatusAccepted ||
			!strings.Contains(string(body), `"id":"trn_1"`) {
			t.Errorf("Accept %q: %d %s %v", accept, r.resp.StatusCode, body, err)
		}
	}
}

func TestATurnThatIsRefusedHasNoStream(t *testing.T) {
	s := serve(t, nil)
	for _, row := range []struct {
		body   string
		status int
	}{{`{"inputs":1}`, http.StatusBadRequest}, {`{`, http.StatusBadRequest}} {
		r := s.post("/v1/sessions/ses_1/turns", row.body, "Accept", "text/event-stream")
		if got := r.resp.Header.Get("Content-Type"); r.resp.StatusCode != row.status || got != "application/problem+json" {
			t.Errorf("%s: %d %s", row.body, r.resp.StatusCode, got)
		}
	}
}

func TestAConnectionOutlivesItsStream(t *testing.T) {
	s := serve(t, nil)
	s.up.watch = sends(event(1, "turn.queued", "1", nil), ended(2))
	var reused []bool
	for range 3 {
		trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = append(reused, i.Reused) }}
		r := s.openCtx(httptrace.WithClientTrace(t.Context(), trace), "/v1/turns/trn_1/events")
		if body, err := io.ReadAll(r.in); err != nil || !strings.Contains(string(body), "event: end") {
			t.Fatalf("%s %v", body, err)
		}
	}
	if !slices.Equal(reused, []bool{false, true, true}) {
		t.Errorf("reused: %v", reused)
	}
}

// deadlines records the write deadlines that a handler sets.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

// A request does not inherit the deadline of a stream that its connection carried before.
func TestARequestBeginsWithoutADeadline(t *testing.T) {
	s := serve(t, nil)
	s.up.watch = sends(ended(1))
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequestWithContext(sameUser(t), http.MethodGet, "http://127.0.0.1/v1/turns/trn_1/events", nil)
	r.RemoteAddr = "127.0.0.1:1"
	s.g.Handler().ServeHTTP(w, r)
	if len(w.set) < 2 || !w.set[0].IsZero() || w.set[len(w.set)-1].IsZero() {
		t.Errorf("deadlines %v", w.set)
	}
}
