package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// listener is a webhook's receiver. It responds with 204, unless it is to hold the next request until its sender is gone.
type listener struct {
	*httptest.Server
	held chan string

	mu    sync.Mutex
	hold  bool
	turns map[string]map[string]bool // webhook-ids that were answered, by turn
}

func listen(t *testing.T) *listener {
	t.Helper()
	l := &listener{held: make(chan string, 1), turns: map[string]map[string]bool{}}
	l.Server = httptest.NewServer(http.HandlerFunc(l.serve))
	t.Cleanup(func() { l.CloseClientConnections(); l.Close() })
	return l
}

func (l *listener) serve(w http.ResponseWriter, r *http.Request) {
	var told struct {
		Data struct {
			TurnID string `json:"turn_id"`
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &told) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	id := r.Header.Get("webhook-id")
	l.mu.Lock()
	hold := l.hold
	l.hold = false
	if ids := l.turns[told.Data.TurnID]; !hold && ids == nil {
		l.turns[told.Data.TurnID] = map[string]bool{id: true}
	} else if !hold {
		ids[id] = true
	}
	l.mu.Unlock()
	if hold {
		l.held <- id
		<-r.Context().Done()
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (l *listener) holdNext() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold = true
}

// told counts the webhook-ids under which a turn was told, and reports whether a certain one was among all that were.
func (l *listener) told(turn, id string) (ids int, heard bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, known := range l.turns {
		heard = heard || known[id]
	}
	return len(l.turns[turn]), heard
}

// TestSchedulesAndWebhooksOutliveTheSessionsService kills one role of a mesh of separate processes while it sends to a webhook, and leaves
// it away for some times of a schedule. Back again it sends what it was at, makes up for what was missed, and goes on; each turn is told
// under one id.
func TestSchedulesAndWebhooksOutliveTheSessionsService(t *testing.T) {
	t.Parallel()
	l := listen(t)
	m := harness.Split(t, harness.SplitOptions{Config: harness.JSON{"sessions": harness.JSON{
		"seal_key": strings.Repeat("s", 32), "webhooks": harness.JSON{"first_retry": "100ms", "timeout": "5s"},
	}}})
	c := m.Client
	applied := c.Must("POST", "/v1/agents:apply", harness.JSON{"yaml": "kind: agent\nid: clerk\nmodel: builtin/scripted\n---\n" +
		"kind: schedule\nid: often\nagent_id: clerk\ninput: say:tick\ninterval: 1s\noverlap: allow\n---\nkind: webhook\nid: pager\nevents: " +
		"[turn.completed]\nurl: " + l.URL + "\n"})
	if n := len(applied["applied"].([]any)); n != 3 {
		t.Fatalf("applied %v", applied)
	}
	started(t, c, "often", 1)
	l.holdNext()
	id := <-l.held
	m.Kill("sessions")
	away := time.Now()
	running := "/api/v1/namespaces/default/workflows?query=" +
		url.QueryEscape("WorkflowType = 'ScheduledFire' AND ExecutionStatus = 'Running'")
	until(t, "Temporal fires a schedule that nobody answers for", func() bool {
		status, out, err := m.UI().Do(t.Context(), "GET", running, nil)
		list, _ := out["executions"].([]any)
		return err == nil && status == http.StatusOK && len(list) > 0 && time.Since(away) > 2*time.Second
	})
	m.Start("sessions")
	back := time.Now()
	until(t, "what was being sent is sent again under its id", func() bool { _, heard := l.told("", id); return heard })
	missed := false
	until(t, "the schedule fires again, and has made up for what it missed", func() bool {
		again := false
		for _, f := range list(c.Must("GET", "/v1/schedules/often", nil), "recent") {
			due, err := time.Parse(time.RFC3339, f.Str("time"))
			if err != nil {
				t.Fatal(err)
			}
			if f.Str("outcome") != "started" {
				continue
			}
			again = again || due.After(back)
			if !missed && due.Before(back) { // one fire makes up for all that were missed, the first that comes
				begun, err := time.Parse(time.RFC3339, c.Must("GET", "/v1/turns/"+f.Str("turn_id"), nil).Str("create_time"))
				missed = err == nil && begun.After(away)
			}
		}
		return again && missed
	})
	c.Must("POST", "/v1/schedules/often:pause", harness.JSON{})
	until(t, "the last fire is settled", func() bool {
		for _, f := range list(c.Must("GET", "/v1/schedules/often", nil), "recent") {
			if f.Str("outcome") == "starting" {
				return false
			}
		}
		return true
	})
	turns, dues := map[string]bool{}, map[string]bool{}
	for _, f := range list(c.Must("GET", "/v1/schedules/often", nil), "recent") {
		turn, due := f.Str("turn_id"), f.Str("time")
		if f.Str("outcome") != "started" {
			continue
		}
		if turns[turn] || dues[due] {
			t.Errorf("fired twice: %v", f)
		}
		turns[turn], dues[due] = true, true
		if end := c.Wait(turn); end.Str("output") != "tick" {
			t.Errorf("turn = %v", end)
		}
		until(t, "the turn is told", func() bool { n, _ := l.told(turn, id); return n > 0 })
		if n, _ := l.told(turn, id); n != 1 {
			t.Errorf("turn %s was told under %d ids", turn, n)
		}
	}
	until(t, "all deliveries have come to their end", func() bool {
		for _, d := range list(c.Must("GET", "/v1/webhooks/pager/deliveries", nil), "deliveries") {
			if d.Str("status") != "delivered" {
				return false
			}
		}
		return true
	})
}
