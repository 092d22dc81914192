package gateway_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// No turn is created if the stream would be refused, and resuming a stream creates no second turn.
func TestWhatCannotBeFollowedIsNotMade(t *testing.T) {
	s := serve(t, nil)
	for _, row := range []struct{ name, path, body, cursor, key, code, says string }{
		{"no cursor", "/v1/sessions/ses_1/turns", `{"input":"hi"}`, "x", "k", "invalid_cursor", "no cursor"},
		{"no cursor for a re-run", "/v1/turns/trn_1:rerun", `{}`, "7.", "k", "invalid_cursor", "no cursor"},
		{"no key", "/v1/sessions/ses_1/turns", `{"input":"hi"}`, "7", "", "invalid_argument", "Idempotency-Key"},
		{"no key for a re-run", "/v1/turns/trn_1:rerun", `{}`, "7", "", "invalid_argument", "Idempotency-Key"},
	} {
		t.Run(row.name, func(t *testing.T) {
			headers := []string{"Accept", "text/event-stream", "Last-Event-ID", row.cursor}
			if row.key != "" {
				headers = append(headers, "Idempotency-Key", row.key)
			}
			a := s.do("POST", row.path, row.body, headers...)
			if p := a.problem(t); a.status != http.StatusBadRequest || p.Code != row.code || !strings.Contains(string(a.body), row.says) {
				t.Errorf("%d %s", a.status, a.body)
			}
			if made := s.up.request(); made != nil {
				t.Errorf("asked for %v", made)
			}
		})
	}
}

// The key may also be in the body; a caller that accepts the turn itself may send any headers.
func TestWhatMayBeFollowed(t *testing.T) {
	s := serve(t, nil)
	s.up.watch = sends(ended(8))
	r := s.post("/v1/sessions/ses_1/turns", `{"input":"hi","idempotency_key":"k"}`, "Accept", "text/event-stream", "Last-Event-ID", "7")
	if body, err := io.ReadAll(r.in); err != nil || r.resp.StatusCode != http.StatusOK || !strings.Contains(string(body), "event: end") {
		t.Errorf("%d %s %v", r.resp.StatusCode, body, err)
	}
	if a := s.do("POST", "/v1/sessions/ses_1/turns", `{"input":"hi"}`, "Last-Event-ID", "x"); a.status != http.StatusAccepted {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// Resuming after the end of a turn returns 204.
func TestNothingIsLeftToFollow(t *testing.T) {
	s := serve(t, nil)
	s.up.watch = sends()
	a := s.do("POST", "/v1/sessions/ses_1/turns", `{"input":"hi"}`, "Accept", "text/event-stream", "Idempotency-Key", "k", "Last-Event-ID",
		"7",
		"Te", "trailers")
	if a.status != http.StatusNoContent || a.header.Get("Content-Type") != "" || len(a.body) > 0 ||
		a.header.Get("Location") != "/v1/turns/trn_1" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
}

// A created turn is never answered with an error: a caller that retries or gives up would be wrong.
func TestATurnWhoseEventsCannotBeShown(t *testing.T) {
	s := serve(t, nil)
	for name, watch := range map[string]func(*sessionsv1.WatchTurnRequest, watchStream) error{
		"to this caller": func(*sessionsv1.WatchTurnRequest, watchStream) error { return fault.Denied("sessions.turns.watch", "") },
		"for the present": func(*sessionsv1.WatchTurnRequest, watchStream) error {
			return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "away")
		},
	} {
		s.up.watch = watch
		a := s.do("POST", "/v1/sessions/ses_1/turns", `{"input":"hi"}`, "Accept", "text/event-stream")
		if a.status != http.StatusAccepted || a.header.Get("Content-Type") != "application/json" ||
			a.header.Get("Location") != "/v1/turns/trn_1" ||
			a.json(t)["id"] != "trn_1" {
			t.Errorf("%s: %d %v %s", name, a.status, a.header, a.body)
		}
		a = s.do("POST", "/v1/sessions/ses_1/turns", `{"input":"hi"}`, "Accept", "text/event-stream", "Idempotency-Key", "k", "Last-Event-ID",
			"7")
		if a.problem(t); a.status < 400 {
			t.Errorf("%s: the second time %d %s", name, a.status, a.body)
		}
	}
}

// A caller that disconnects ends the watch, not the turn.
func TestACallerWhoLeavesEndsTheWatch(t *testing.T) {
	s := serve(t, nil)
	s.up.watch = hangs
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/sessions/ses_1/turns", strings.NewReader(`{"input":"hi"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	leave()
	<-s.up.left
	if _, is := s.up.request().(*sessionsv1.WatchTurnRequest); !is {
		t.Errorf("the last that was asked is %v", s.up.request())
	}
}

// hangs is a watch without events.
func hangs(_ *sessionsv1.WatchTurnRequest, s watchStream) error {
	if err := s.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	<-s.Context().Done()
	return nil
}

// flushes reports each flush and the write deadline set at that time.
type flushes struct {
	*httptest.ResponseRecorder
	mu       sync.Mutex
	deadline time.Time
	told     chan time.Time
}

func (f *flushes) SetWriteDeadline(at time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deadline = at
	return nil
}

func (f *flushes) FlushError() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told <- f.deadline
	return nil
}

// The end of a stream that was idle for long gets its own write deadline: that of the last frame may have expired.
func TestADrainedStreamHasTimeToEnd(t *testing.T) {
	s := serve(t, nil)
	s.up.watch = hangs
	w := &flushes{ResponseRecorder: httptest.NewRecorder(), told: make(chan time.Time, 10)}
	r := httptest.NewRequestWithContext(sameUser(t), http.MethodGet, "http://127.0.0.1/v1/turns/trn_1/events", nil)
	r.RemoteAddr = "127.0.0.1:1"
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.g.Handler().ServeHTTP(w, r)
	}()
	first := <-w.told
	if err := s.g.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-over
	if w.deadline.Equal(first) {
		t.Error("the stream ended under the deadline of its first frame")
	}
}
