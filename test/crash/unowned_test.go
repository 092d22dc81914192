package crash

import (
	"net/http"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/faultpoint/armed"
	"github.com/windlass-dev/windlass/test/harness"
)

// takeOver bounds how long a turn may wait once a worker that can continue it is up: some three seconds are promised, the rest is for slow
// machines.
const takeOver = 20 * time.Second

// temporalAway are the cells in which the only worker dies before a step while Temporal is away: no lease runs out, and no workflow task is
// lost. A worker is not ready without Temporal, so that one is back first.
func temporalAway() []cell {
	before := moment{name: "before the first step", letGo: func(r *trial) { r.post() }}
	between := moment{
		name: "between two steps", agent: careful,
		hold:  func(r *trial) { r.start(); r.watcher.UntilType("approval.requested") },
		letGo: func(r *trial) { go r.approve() },
	}
	var all []cell
	for _, m := range []moment{before, between} {
		all = append(all, cell{m.name + "/worker without Temporal", func(t *testing.T, h *theatre, id string) (string, time.Duration) {
			return dieWithoutTemporal(t, h, id, m)
		}})
	}
	return all
}

func dieWithoutTemporal(t *testing.T, h *theatre, id string, m moment) (string, time.Duration) {
	r := h.trial(t, h.play(t, id, -1, false), m.agent)
	if m.hold != nil {
		m.hold(r)
	}
	r.Kill("temporal")
	workers := r.Members("worker")
	for _, name := range workers[1:] {
		r.Kill(name)
	}
	r.Arm(faultpoint.Started, "kill")
	m.letGo(r)
	if !harness.Eventually(patience, r.Process(workers[0]).Gone) {
		t.Fatal("the worker does not come to its next step")
	}
	h.count("kills", len(workers)+1)
	r.Start("temporal")
	for _, name := range workers {
		r.Launch(name)
	}
	for _, name := range workers {
		r.Process(name).Await()
	}
	if r.watcher == nil {
		r.watch()
	}
	recovery := r.end()
	r.verify(leeway{})
	return r.turn, recovery
}

// A whole mesh in one process that crashes again and again, each time when its worker is about to do the first step.
func TestUpInACrashLoop(t *testing.T) {
	slot(t)
	dir, p := t.TempDir(), newProp(t)
	close(p.gate.open)
	dies := "WINDLASS_FAULT=" + armed.Name(faultpoint.Started) + ":kill"
	life := func(env ...string) *harness.Process {
		return harness.LaunchFaultyUp(t, dir, append(env, p.model.Env()...))
	}
	first := life(dies)
	first.Await()
	url, _ := first.Ready["url"].(string)
	c := harness.NewClient(t, url)
	c.Must("POST", "/v1/agents", harness.JSON{"id": "a"})
	session := c.Session("a")
	// its answer may be lost
	_, _, _ = c.Do(t.Context(), http.MethodPost, "/v1/sessions/"+session+"/turns", harness.JSON{"input": "tell a story"})
	for n, up := 1, first; ; n++ {
		from := time.Now()
		if !harness.Eventually(patience, up.Gone) {
			t.Fatalf("in life %d no worker comes to the turn", n)
		}
		t.Logf("life %d ended after %v", n, since(from))
		if n == 3 {
			break
		}
		up = life(dies)
	}
	last := life()
	last.Await()
	back := time.Now()
	url, _ = last.Ready["url"].(string)
	c = harness.NewClient(t, url)
	turns, _ := c.Must("GET", "/v1/sessions/"+session+"/turns", nil)["turns"].([]any)
	if len(turns) != 1 {
		t.Fatalf("turns %v", turns)
	}
	turn := harness.JSON(turns[0].(map[string]any)).Str("id")
	if end := c.Wait(turn); end.Str("output") != answer {
		t.Errorf("turn = %v", end)
	}
	if took := since(back); took > takeOver {
		t.Errorf("the turn ended %v after the mesh was ready", took)
	} else {
		t.Logf("the turn ended %v after the mesh was ready", took)
	}
	harness.CheckStream(t, c.Watch("/v1/turns/"+turn+"/events").End())
	if n := p.model.Calls(); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}
