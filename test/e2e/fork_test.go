package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestForks is what a session promises to those who want it to take another course, on one mesh with the scripted model.
func TestForks(t *testing.T) {
	t.Parallel()
	up := harness.Up(t, t.TempDir(), nil)
	for name, test := range map[string]func(*testing.T, *harness.Client){
		"an interrupt runs next":           interruptRunsNext,
		"a fork and its origin go on":      forkAndGoOn,
		"input may run in a fork":          inputForks,
		"a session is exported as a whole": exportWhole,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, harness.NewClient(t, up.Client.Base))
		})
	}
}

func with(c *harness.Client, session, input, mode string) harness.JSON {
	return c.Must("POST", "/v1/sessions/"+session+"/turns", harness.JSON{"input": input, "mode": mode})
}

func interruptRunsNext(t *testing.T, c *harness.Client) {
	session := c.Session("assistant")
	slow := c.Turn(session, "slow:100 tokens:500")
	w := c.Watch("/v1/turns/" + slow + "/events")
	w.Until("the third word", func(e harness.Event) bool { return strings.Contains(e.Data.Str("text"), "w3") })
	waits := c.Turn(session, "say:waited")
	cuts := with(c, session, "say:cut in", "interrupt").Str("id")
	if end := c.Wait(slow); end.Str("status") != "cancelled" || !strings.HasPrefix(end.Str("output"), "w1 w2 w3") {
		t.Errorf("the interrupted turn: %v", end)
	}
	if end := c.Wait(cuts); end.Str("output") != "cut in" {
		t.Errorf("the interrupt: %v", end)
	}
	if end := c.Wait(waits); end.Str("output") != "waited" {
		t.Errorf("who waited: %v", end)
	}
	all := c.Watch("/v1/sessions/" + session + "/events")
	all.Until("the last turn's end", func(e harness.Event) bool { return e.TurnID == waits && e.Type == "turn.completed" })
	for i, e := range harness.Durables(all.Events()) {
		if e.Seq != i+1 {
			t.Errorf("event %d has seq %d", i+1, e.Seq)
		}
	}
	var order []string
	names := map[string]string{slow: "slow", waits: "waits", cuts: "cuts"}
	for _, e := range all.Events() {
		switch e.Type {
		case "turn.queued", "turn.cancel_requested", "turn.started", "turn.completed", "turn.cancelled":
			order = append(order, strings.TrimPrefix(e.Type, "turn.")+" "+names[e.TurnID])
		}
	}
	want := "queued slow,started slow,queued waits,cancel_requested slow,queued cuts,cancelled slow," +
		"started cuts,completed cuts,started waits,completed waits"
	if got := strings.Join(order, ","); got != want {
		t.Errorf("events %s", got)
	}
}

// markOf returns whether an answer is marked as that of an earlier request.
func markOf(t *testing.T, c *harness.Client, path string, body harness.JSON, key string) string {
	t.Helper()
	raw, err := json.Marshal(body)
	harness.Must(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.Base+path, bytes.NewReader(raw))
	harness.Must(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	resp, err := c.HTTP.Do(req)
	harness.Must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		t.Errorf("the key %q: %s", key, resp.Status)
	}
	return resp.Header.Get("Idempotency-Replayed")
}

func forkAndGoOn(t *testing.T, c *harness.Client) {
	session := c.Session("assistant")
	first := c.Wait(c.Turn(session, "say:first"))
	c.Wait(c.Turn(session, "say:second"))
	path := "/v1/sessions/" + session + ":fork"
	body := harness.JSON{"seq": first["last_seq"], "title": "another way"}
	made := c.Must("POST", path, body, "Idempotency-Key", "k")
	fork := made.Str("id")
	if made.Str("forked_from_session") != session || made["forked_from_seq"] != first["last_seq"] || made.Str("title") != "another way" {
		t.Errorf("fork = %v", made)
	}
	if again := c.Must("POST", path, body, "Idempotency-Key", "k"); again.Str("id") != fork {
		t.Errorf("the same request made %v", again)
	}
	for key, replayed := range map[string]string{"k": "true", "another": ""} {
		if got := markOf(t, c, path, body, key); got != replayed {
			t.Errorf("Idempotency-Replayed of the key %q: %q, want %q", key, got, replayed)
		}
	}
	for _, s := range []string{session, fork} {
		if end := c.Wait(c.Turn(s, "say:third")); end.Str("output") != "third" {
			t.Errorf("a turn after the fork: %v", end)
		}
	}
	if got := spoken(c, session); got != "say:first|first|say:second|second|say:third|third" {
		t.Errorf("the session has %s", got)
	}
	if got := spoken(c, fork); got != "say:first|first|say:third|third" {
		t.Errorf("the fork has %s", got)
	}
	w := c.Watch("/v1/sessions/" + fork + "/events")
	w.UntilType("turn.completed")
	if e := w.Events()[0]; e.ID != "1" || e.Type != "session.forked" || e.Data.Str("from_session") != session {
		t.Errorf("the fork's journal begins with %+v", e)
	}
	status, problem, err := c.Do(t.Context(), "POST", path, harness.JSON{"seq": 100_000})
	if err != nil || status != http.StatusBadRequest || problem.Str("code") != "invalid_argument" {
		t.Errorf("a fork ahead of the journal: %d %v %v", status, problem, err)
	}
}

func inputForks(t *testing.T, c *harness.Client) {
	session := c.Session("assistant")
	c.Wait(c.Turn(session, "say:first"))
	active := c.Turn(session, "slow:50 tokens:20")
	turn := with(c, session, "say:instead", "fork")
	if turn.Str("session_id") == session {
		t.Errorf("the turn runs in the session itself: %v", turn)
	}
	if end := c.Wait(turn.Str("id")); end.Str("output") != "instead" {
		t.Errorf("the turn in the fork: %v", end)
	}
	if got := spoken(c, turn.Str("session_id")); got != "say:first|first|say:instead|instead" {
		t.Errorf("the fork has %s", got)
	}
	if end := c.Wait(active); end.Str("status") != "completed" {
		t.Errorf("the active turn: %v", end)
	}
}

func exportWhole(t *testing.T, c *harness.Client) {
	session := c.Session("assistant")
	c.Wait(c.Turn(session, "call:mesh__uuid {} then say:there you are"))
	x := c.Must("GET", "/v1/sessions/"+session+":export?include_events=true", nil)
	ses, _ := x["session"].(map[string]any)
	turns, _ := x["turns"].([]any)
	messages, _ := x["messages"].([]any)
	events, _ := x["events"].([]any)
	if ses["id"] != session || len(turns) != 1 || len(messages) != 4 || float64(len(events)) != ses["last_seq"] {
		t.Errorf("export = %v", x)
	}
	resp, err := c.HTTP.Get(c.Base + "/v1/sessions/" + session + ":export?format=markdown")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## User", "Calls `mesh__uuid`", "### Result of `mesh__uuid`", "\nthere you are\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in %s:\n%s", want, resp.Header.Get("Content-Type"), text)
		}
	}
}

// spoken joins the texts of a session's messages.
func spoken(c *harness.Client, session string) string {
	list, _ := c.Must("GET", "/v1/sessions/"+session+"/messages", nil)["messages"].([]any)
	var out []string
	for _, m := range list {
		content, _ := m.(map[string]any)["content"].([]any)
		out = append(out, text(content))
	}
	return strings.Join(out, "|")
}
