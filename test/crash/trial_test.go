package crash

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/faultpoint/armed"
	"github.com/windlass-dev/windlass/test/harness"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// patience bounds each wait; only a failing test waits that long.
const patience = time.Minute

// theatre is a mesh of separate processes whose fault points can be armed, with a stage.
type theatre struct {
	*harness.Mesh
	*stage
	on topology
}

func newTheatre(t testing.TB, on topology) *theatre {
	t.Helper()
	h := &theatre{stage: newStage(t), on: on}
	h.Mesh = harness.Split(t, harness.SplitOptions{Topology: on.Topology, Model: h.model, Workers: 2, Faults: true, Config: harness.JSON{
		"temporal": harness.JSON{"park_after": "500ms"}, // what waits for approval is killed before and after
	}})
	tools, err := url.Parse(h.serveTools(t))
	if err != nil {
		t.Fatal(err)
	}
	tools.Host = h.Through("mcpbridge", "tools", tools.Host)
	h.Client.Must("POST", "/v1/sources", harness.JSON{"name": "faulty", "kind": "mcp", "url": tools.String()})
	h.Client.Must("POST", "/v1/agents", harness.JSON{"id": "a", "tools": []string{"faulty__slow_once", "faulty__idempotent"}})
	h.Client.Must("POST", "/v1/agents", harness.JSON{
		"id": careful, "tools": []string{"faulty__slow_once", "faulty__idempotent"},
		"approvals": []any{harness.JSON{"name": "ask", "tools": []string{"faulty__slow_once"}, "allow_requester": true}},
	})
	return h
}

// careful is the agent whose ONCE call requires an approval.
const careful = "careful"

// trial is one turn with a fault.
type trial struct {
	*scene
	h    *theatre
	play *play
	// posting returns the turn's id once somebody has answered.
	posting chan string
}

func (h *theatre) trial(t testing.TB, p *play, agent string) *trial {
	t.Helper()
	client := h.NewClient(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	session := openSession(ctx, t, client, cmp.Or(agent, "a"))
	return &trial{h: h, play: p, scene: &scene{t: t, Mesh: h.Mesh, prop: h.prop, client: client, session: session}}
}

// openSession opens a session, retrying until ctx ends; then it returns "".
func openSession(ctx context.Context, t testing.TB, client *harness.Client, agent string) string {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		status, body, err := client.Do(ctx, "POST", "/v1/sessions", harness.JSON{"agent_id": agent})
		if err == nil && status < http.StatusMultipleChoices {
			return body.Str("id")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Errorf("no session can be opened: %d %v %v", status, body, err)
			return ""
		}
	}
}

// post sends the input as a careful client does: with a key, repeated until it is answered.
func (r *trial) post() {
	r.posting = make(chan string, 1)
	go r.insist(func() bool {
		status, turn, err := r.client.Do(r.t.Context(), "POST", "/v1/sessions/"+r.session+"/turns",
			harness.JSON{"input": r.play.id}, "Idempotency-Key", r.play.id)
		if err != nil || status != http.StatusAccepted {
			return false
		}
		r.posting <- turn.Str("id")
		return true
	})
}

// watch waits for the answer to the post, and watches the turn from then on.
func (r *trial) watch() {
	r.t.Helper()
	select {
	case r.turn = <-r.posting:
	case <-time.After(patience):
		r.t.Fatal("the turn is not accepted")
	}
	r.watcher = r.client.Watch("/v1/turns/" + r.turn + "/events")
}

// start has the turn accepted and watched.
func (r *trial) start() { r.t.Helper(); r.post(); r.watch() }

// approve approves, retrying until it succeeds.
func (r *trial) approve() {
	r.insist(func() bool {
		status, list, err := r.client.Do(r.t.Context(), "GET", "/v1/approvals?turn_id="+r.turn, nil)
		all, _ := list["approvals"].([]any)
		if err != nil || status != http.StatusOK || len(all) == 0 {
			return false
		}
		id := harness.JSON(all[0].(map[string]any)).Str("id")
		status, _, err = r.client.Do(r.t.Context(), "POST", "/v1/approvals/"+id+":decide", harness.JSON{"decision": "approve"})
		return err == nil && status == http.StatusOK
	})
}

// insist tries until it succeeds or the test is over.
func (r *trial) insist(try func() bool) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !try() {
		select {
		case <-tick.C:
		case <-r.t.Context().Done():
			return
		}
	}
}

// stalled waits until a process waits at a point.
func (r *trial) stalled(p faultpoint.Point) {
	r.t.Helper()
	if !r.AwaitTaken(p, patience) {
		r.t.Fatalf("nobody comes by %s; there were:\n%s", armed.Name(p), r.story())
	}
}

func (r *trial) story() string {
	if r.watcher == nil {
		return "(nothing: the turn was not answered yet)"
	}
	return r.watcher.Summary()
}

// end waits for the turn's end and tells how long that took.
func (r *trial) end() time.Duration {
	r.t.Helper()
	from := time.Now()
	r.client.Wait(r.turn)
	return since(from)
}

// leeway is the allowed effect of a kill besides the plain course.
type leeway struct {
	// inDoubt allows the outcome of the ONCE call to be unknown.
	inDoubt bool
	// unreached allows that a tool was never called, and the model told so: its bridge was away for long.
	unreached bool
	// lossy allows the live watcher to miss deltas: the bus was away.
	lossy bool
}

// verify fails unless the turn completed, ended once and all records agree: those of the mesh, its watchers, the model and the tool server.
func (r *trial) verify(l leeway) {
	r.t.Helper()
	turn := r.client.Wait(r.turn)
	if turn.Str("status") != "completed" || turn.Str("output") != answer {
		r.t.Errorf("turn = %v, want completed with %q", turn, answer)
	}
	if turns, _ := r.client.Must("GET", "/v1/sessions/"+r.session+"/turns", nil)["turns"].([]any); len(turns) != 1 {
		r.t.Errorf("the input made %d turns", len(turns))
	}
	live := r.watcher.End()
	if l.lossy {
		live = harness.Durables(live)
	}
	harness.CheckStream(r.t, live)
	late := r.client.Watch("/v1/turns/" + r.turn + "/events").End()
	harness.CheckStream(r.t, late)
	r.checkJournal(live, late)
	r.checkUsage(turn, late)
	r.checkTools(late, l)
	r.checkDecisions(late)
	r.h.count("turns", 1)
	r.h.count("watchers", 3) // the live one, the late one, and one of the session
	r.h.count("events compared", len(harness.Durables(live))+len(harness.Durables(late)))
	for _, e := range late {
		if e.Type == "step.finished" {
			r.h.count("steps", 1)
		}
	}
}

// checkUsage compares the counted usage with what the model did, to the token. A call whose answer was lost is not counted; it is repeated,
// and reports itself by message.reset, unless the claim of its step was lost too, which the call did not wait for.
func (r *trial) checkUsage(turn harness.JSON, events []harness.Event) {
	r.t.Helper()
	usage, _ := turn["usage"].(map[string]any)
	resets, read, written := map[string]int{}, 0, 0
	counted := map[int]bool{}
	r.play.mu.Lock()
	defer r.play.mu.Unlock()
	for _, e := range events {
		switch e.Type {
		case "message.reset":
			resets[e.Step]++
		case "message.completed":
			used, _ := e.Data["usage"].(map[string]any)
			prompt := number(used["input_tokens"])
			request := prompt - promptBase
			tokens, whole := r.play.whole[request]
			if !whole || counted[request] || tokens != number(used["output_tokens"]) {
				r.t.Errorf("%s counts %v, the model's whole answers had %v output tokens by request", e.Step, used, r.play.whole)
			}
			counted[request] = true
			read, written = read+prompt, written+tokens
		}
	}
	r.h.count("model calls compared", len(counted))
	if len(counted) != playModelCalls || number(usage["model_calls"]) != playModelCalls || number(usage["tool_calls"]) != playToolCalls ||
		number(usage["input_tokens"]) != read || number(usage["output_tokens"]) != written {
		r.t.Errorf("usage = %v, want %d model calls with %d and %d tokens, and %d tool calls; %d answers are counted",
			usage, playModelCalls, read, written, playToolCalls, len(counted))
	}
	for i, asked := range r.play.askedAt {
		step := stepkey.Infer(i + 1)
		if lost := asked - 1; lost < 0 || lost > resets[step]+1 {
			r.t.Errorf("the model was asked %d times for %s, which was reset %d times", asked, step, resets[step])
		}
	}
}

// checkDecisions looks up each decision that the journal names. A killed policy has lost the last ones, and gets them from the ledger.
func (r *trial) checkDecisions(events []harness.Event) {
	r.t.Helper()
	for _, e := range events {
		if e.Type != "policy.decided" {
			continue
		}
		id := e.Data.Str("decision_id")
		if !harness.Eventually(patience, func() bool {
			status, d, err := r.client.Do(r.t.Context(), "GET", "/v1/decisions/"+id, nil)
			return err == nil && status == http.StatusOK && d.Str("id") == id
		}) {
			r.t.Errorf("decision %s on %s is not on record", id, e.Data.Str("tool"))
		}
		r.h.count("decisions compared", 1)
	}
}

// number reads a count, which JSON has as a number or, if it has 64 bits, as a string.
func number(v any) int {
	n, err := strconv.Atoi(fmt.Sprint(v))
	if err != nil {
		return 0
	}
	return n
}

// checkTools compares the ledger with that of the tool server, row by row, and with what the model was told.
func (r *trial) checkTools(events []harness.Event, l leeway) {
	r.t.Helper()
	rows, _ := r.client.Must("GET", "/v1/executions?turn_id="+r.turn, nil)["executions"].([]any)
	told := outcomes(events)
	if len(rows) != playToolCalls {
		r.t.Errorf("the ledger has %d rows, want %d: %v; the model was told %v", len(rows), playToolCalls, rows, told)
	}
	r.h.count("tool calls compared with the ledger", len(rows))
	for _, one := range rows {
		row := harness.JSON(one.(map[string]any))
		once := row.Str("tool") == "faulty__slow_once"
		acts := r.h.calls(r.play.id + map[bool]string{true: "-once", false: "-put"}[once])
		attempts, _ := row["attempts"].(float64)
		if len(acts) > int(attempts) || once && len(acts) > 1 {
			r.t.Errorf("%s acted %d times, the ledger has %v", row.Str("tool"), len(acts), row)
		}
		for _, a := range acts {
			if a.Str("idempotency_key") != row.Str("key") {
				r.t.Errorf("%s was called with key %q, the ledger has %q", row.Str("tool"), a.Str("idempotency_key"), row.Str("key"))
			}
			if a.Str("idempotency_header") != row.Str("key") {
				r.t.Errorf("%s was called with header %q, the ledger has %q", row.Str("tool"), a.Str("idempotency_header"), row.Str("key"))
			}
		}
		switch state := row.Str("state"); {
		case state == "done" && len(acts) > 0 && strings.HasPrefix(told[row.Str("tool")], "done "):
		case state == "unresolved" && once && l.inDoubt && told[row.Str("tool")] == unknown:
		case state == "failed" && l.unreached && len(acts) == 0 && told[row.Str("tool")] == unreached:
		default:
			r.t.Errorf("%s: the ledger has state %q, the tool acted %d times, the model was told %q", row.Str("tool"), state, len(acts),
				told[row.Str("tool")])
		}
	}
}

// unreached is the code of a call that surely was not made.
const unreached = "tool_unavailable"

// outcomes returns what the model was told of each tool: the text of its answer, or the code of its fault.
func outcomes(events []harness.Event) map[string]string {
	told := map[string]string{}
	for _, e := range events {
		if e.Type != "tool_call.completed" {
			continue
		}
		result, _ := e.Data["result"].(map[string]any)
		tool := fmt.Sprint(result["tool"])
		if told[tool] = e.Data.Str("code"); told[tool] == "" {
			told[tool] = toolText(e)
		}
	}
	return told
}
