package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/sse"
	"github.com/windlass-dev/windlass/test/harness"
)

// posted makes a turn, or goes on with it after a cursor, and reads the events that are the answer: n of them, then it breaks the
// connection; all for n 0. It gives them with the type of the last frame, and the answer's status.
func posted(t *testing.T, c *harness.Client, session, cursor string, n int) (events []harness.Event, last string, status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.Base+"/v1/sessions/"+session+"/turns",
		strings.NewReader(`{"input":"slow:30 tokens:40"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Idempotency-Key", "once")
	if cursor != "" {
		req.Header.Set("Last-Event-ID", cursor)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for in := sse.NewReader(resp.Body, sse.Config{MaxEvent: 1 << 20}); n == 0 || len(events) < n; {
		got, err := in.Next()
		if err != nil {
			break
		}
		if last = got.Type; last == "end" {
			continue
		}
		e := harness.Event{ID: got.ID}
		if err := json.Unmarshal(got.Data, &e); err != nil {
			t.Fatalf("%s: %v", got.Data, err)
		}
		events = append(events, e)
	}
	return events, last, resp.StatusCode
}

// TestATurnThatIsMadeAndFollowedByOneRequest: the connection breaks again and again, and the same request with the last cursor
// goes on without gap or repetition, to the end. Then there is nothing more to read, and there was one turn all the time.
func TestATurnThatIsMadeAndFollowedByOneRequest(t *testing.T) {
	t.Parallel()
	c := harness.Up(t, t.TempDir(), nil).Client
	session := c.Session("assistant")
	var all []harness.Event
	cursor, last := "", ""
	for _, n := range []int{1, 3, 9, 12, 0} {
		events, end, status := posted(t, c, session, cursor, n)
		if status != http.StatusOK || n > 0 && len(events) != n {
			t.Fatalf("status %d, %d events, want %d", status, len(events), n)
		}
		for _, e := range events {
			if e.ID != "" {
				cursor = e.ID
			}
		}
		all, last = append(all, events...), end
	}
	harness.CheckStream(t, all)
	if last != "end" || all[0].Type != "turn.queued" {
		t.Errorf("from %s to %s", all[0].Type, last)
	}
	if events, _, status := posted(t, c, session, cursor, 0); status != http.StatusNoContent || len(events) > 0 {
		t.Errorf("after the end: status %d, %d events", status, len(events))
	}
	turns, _ := c.Must("GET", "/v1/sessions/"+session+"/turns", nil)["turns"].([]any)
	if len(turns) != 1 {
		t.Errorf("%d turns", len(turns))
	}
	w := c.Watch("/v1/turns/" + all[0].TurnID + "/events")
	if got, want := len(harness.Durables(all)), len(harness.Durables(w.End())); got != want {
		t.Errorf("%d events of the journal, want %d", got, want)
	}
}
