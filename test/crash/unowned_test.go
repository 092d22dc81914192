package crash

import (
	"net/http"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/test/harness"
)

// takeOver bounds how long a turn may stand still once a worker is there that can go on with it: some three seconds are promised, the rest is for slow
// machines.
const takeOver = 20 * time.Second

// A whole mesh in one process that crashes again and again, each time when its worker is about to do the first step.
func TestUpInACrashLoop(t *testing.T) {
	slot(t)
	dir, p := t.TempDir(), newProp(t)
	close(p.gate.open)
	const dies = "WINDLASS_FAULT=" + string(faultpoint.Started) + ":kill"
	life := func(env ...string) *harness.Process {
		return harness.LaunchFaultyUp(t, dir, append(env, p.model.Env()...))
	}
	first := life(dies)
	first.Await()
	url, _ := first.Ready["url"].(string)
	c := harness.NewClient(t, url)
	c.Must("POST", "/v1/agents", harness.JSON{"id": "a"})
	session := c.Session("a")
	_, _, _ = c.Do(t.Context(), http.MethodPost, "/v1/sessions/"+session+"/turns", harness.JSON{"input": "tell a story"}) // its answer may be lost
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
	turn := harness.JSON(turns[0].(map[string]any)).Str("id") //nolint:forcetypeassert // a list of objects
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
