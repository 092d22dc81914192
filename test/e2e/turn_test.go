package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestTurns is what a session promises about its turns, on one mesh with the scripted model.
func TestTurns(t *testing.T) {
	t.Parallel()
	up := harness.Up(t, t.TempDir(), nil)
	for name, test := range map[string]func(*testing.T, *harness.Client){
		"run in the order they came":        runInOrder,
		"are refused while another runs":    rejectWhileActive,
		"come once with an idempotency key": comeOnceWithKey,
		"keep what was said when cancelled": keepTextWhenCancelled,
		"stop at the limit of steps":        stopAtSteps,
		"stop at the limit of tokens":       stopAtTokens,
		"stop at the deadline":              stopAtDeadline,
		"do not repeat a call without end":  stopIdenticalCalls,
		"stop queued turns before they run": cancelQueued,
		"say that they are over":            cancelEnded,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := harness.NewClient(t, up.Client.Base)
			test(t, c)
		})
	}
}

func agent(c *harness.Client, id string, limits harness.JSON) string {
	c.Must("POST", "/v1/agents", harness.JSON{"id": id, "tools": []string{"mesh__*"}, "model": "builtin/scripted", "limits": limits})
	return c.Session(id)
}

func runInOrder(t *testing.T, c *harness.Client) {
	session := c.Session("assistant")
	var turns []string
	for i := range 8 {
		turns = append(turns, c.Turn(session, fmt.Sprintf("slow:20 say:answer number %d", i)))
	}
	for i, id := range turns {
		if got := c.Wait(id).Str("output"); got != fmt.Sprintf("answer number %d", i) {
			t.Errorf("turn %d answers %q", i, got)
		}
	}
	w := c.Watch("/v1/sessions/" + session + "/events")
	last := turns[len(turns)-1]
	w.Until("the last turn's end", func(e harness.Event) bool { return e.TurnID == last && e.Type == "turn.completed" })
	var active string
	var ended int
	for _, e := range w.Events() {
		switch e.Type {
		case "turn.started":
			if active != "" {
				t.Errorf("%s starts while %s runs", e.TurnID, active)
			}
			active = e.TurnID
		case "turn.completed":
			if e.TurnID != turns[ended] {
				t.Errorf("end %d is of %s, want %s", ended, e.TurnID, turns[ended])
			}
			ended++
			active = ""
		}
	}
}

func rejectWhileActive(t *testing.T, c *harness.Client) {
	session := c.Session("assistant")
	turn := c.Turn(session, "slow:200 tokens:20")
	status, problem, err := c.Do(t.Context(), "POST", "/v1/sessions/"+session+"/turns", harness.JSON{"input": "hello", "mode": "reject"})
	if err != nil || status < 400 || status >= 500 || problem.Str("code") != "turn_active" {
		t.Errorf("a second turn: %d %v %v", status, problem, err)
	}
	c.Wait(turn)
}

func comeOnceWithKey(t *testing.T, c *harness.Client) {
	session := c.Session("assistant")
	path := "/v1/sessions/" + session + "/turns"
	var mu sync.Mutex
	var wg sync.WaitGroup
	ids := map[string]int{}
	for range 8 {
		wg.Go(func() {
			status, out, err := c.Do(t.Context(), "POST", path, harness.JSON{"input": "say:once"}, "Idempotency-Key", "key-1")
			mu.Lock()
			defer mu.Unlock()
			if err != nil || status != http.StatusAccepted {
				t.Errorf("%d %v %v", status, out, err)
			}
			ids[out.Str("id")]++
		})
	}
	wg.Wait()
	if len(ids) != 1 {
		t.Errorf("8 requests with one key made %d turns: %v", len(ids), ids)
	}
	status, problem, err := c.Do(t.Context(), "POST", path, harness.JSON{"input": "say:other"}, "Idempotency-Key", "key-1")
	if err != nil || status != http.StatusConflict || problem.Str("code") != "idempotency_conflict" {
		t.Errorf("another body: %d %v %v", status, problem, err)
	}
	if list, _ := c.Must("GET", path, nil)["turns"].([]any); len(list) != 1 {
		t.Errorf("the session has %d turns", len(list))
	}
}

func keepTextWhenCancelled(t *testing.T, c *harness.Client) {
	turn := c.Turn(c.Session("assistant"), "slow:100 tokens:500")
	w := c.Watch("/v1/turns/" + turn + "/events")
	w.Until("the fifth word", func(e harness.Event) bool { return strings.Contains(e.Data.Str("text"), "w5") })
	begin := time.Now()
	c.Must("POST", "/v1/turns/"+turn+":cancel", harness.JSON{"reason": "enough"})
	end := c.Wait(turn)
	took := time.Since(begin)
	t.Logf("cancelled within %v", took.Round(time.Millisecond))
	if took > 10*time.Second {
		t.Errorf("the cancel took %v", took)
	}
	if end.Str("status") != "cancelled" || end.Str("stop_reason") != "cancelled" || !strings.HasPrefix(end.Str("output"), "w1 w2 w3 w4 w5") ||
		strings.Contains(end.Str("output"), "w500") {
		t.Errorf("turn = %v", end)
	}
	events := w.End()
	harness.CheckStream(t, events)
	if last := events[len(events)-1]; last.Data.Str("output") != end.Str("output") {
		t.Errorf("the stream's end says %q", last.Data.Str("output"))
	}
	// The conversation goes on with what was said.
	if next := c.Wait(c.Turn(end.Str("session_id"), "say:fine")); next.Str("output") != "fine" {
		t.Errorf("the next turn: %v", next)
	}
}

func stopAtSteps(t *testing.T, c *harness.Client) {
	end := c.Wait(c.Turn(agent(c, "few-steps", harness.JSON{"max_steps": 3}), `loop:10 call:mesh__uuid {} then say:done`))
	usage, _ := end["usage"].(map[string]any)
	if end.Str("status") != "completed" || end.Str("stop_reason") != "max_steps" || usage["model_calls"] != 3.0 {
		t.Errorf("turn = %v", end)
	}
}

func stopAtTokens(t *testing.T, c *harness.Client) {
	end := c.Wait(c.Turn(agent(c, "few-tokens", harness.JSON{"max_tokens": 50}), `loop:10 call:mesh__uuid {} then say:done`))
	if end.Str("status") != "completed" || end.Str("stop_reason") != "max_tokens" {
		t.Errorf("turn = %v", end)
	}
	checkLimit(t, end, c.Watch("/v1/turns/"+end.Str("id")+"/events").End(), "max_tokens", 50)
}

func stopAtDeadline(t *testing.T, c *harness.Client) {
	end := c.Wait(c.Turn(agent(c, "little-time", harness.JSON{"turn_seconds": 1}), `slow:100 tokens:500`))
	if end.Str("stop_reason") != "deadline" || !strings.HasPrefix(end.Str("output"), "w1 ") {
		t.Errorf("turn = %v", end)
	}
	checkLimit(t, end, c.Watch("/v1/turns/"+end.Str("id")+"/events").End(), "turn_seconds", 1)
}

func stopIdenticalCalls(t *testing.T, c *harness.Client) {
	end := c.Wait(c.Turn(agent(c, "stubborn", nil), `loop:20 call:mesh__uuid {} then say:done`))
	usage, _ := end["usage"].(map[string]any)
	if calls, _ := usage["tool_calls"].(float64); calls > 4 {
		t.Errorf("%v identical calls were made: %v", calls, end)
	}
}

func cancelQueued(t *testing.T, c *harness.Client) {
	session := c.Session("assistant")
	first := c.Turn(session, "slow:100 tokens:10")
	queued := c.Turn(session, "say:never")
	c.Must("POST", "/v1/turns/"+queued+":cancel", harness.JSON{})
	if end := c.Wait(queued); end.Str("status") != "cancelled" || end.Str("output") != "" {
		t.Errorf("the queued turn: %v", end)
	}
	if end := c.Wait(first); end.Str("status") != "completed" {
		t.Errorf("the turn before it: %v", end)
	}
}

func cancelEnded(t *testing.T, c *harness.Client) {
	turn := c.Turn(c.Session("assistant"), "say:done")
	c.Wait(turn)
	status, problem, err := c.Do(t.Context(), "POST", "/v1/turns/"+turn+":cancel", harness.JSON{})
	if err != nil || status < 400 || status >= 500 || problem.Str("code") != "turn_ended" {
		t.Errorf("cancel of an ended turn: %d %v %v", status, problem, err)
	}
}
