package crash

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// maxCancel bounds the time from a cancel to the turn's end, and until model and tool are notified.
const (
	maxCancel = 5 * time.Second
	maxReach  = 2 * time.Second
)

// TestCancelAtEachMoment cancels turns that stay held at a moment: the cancel has to reach what holds them.
func TestCancelAtEachMoment(t *testing.T) { eachTopology(t, cancels) }

func cancels(t *testing.T, on topology) {
	if on.Topology != harness.Small && os.Getenv(chaosEnv) == "" {
		t.Skip("`make chaos` runs it")
	}
	slot(t)
	h := newTheatre(t, on)
	var report []string
	for i, m := range moments {
		if os.Getenv(chaosEnv) == "" && !slices.Contains(shortCancels, m.name) {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			took := cancelAt(t, h, fmt.Sprintf("cancel-%d", i), m)
			h.count("cancels", 1)
			report = append(report, fmt.Sprintf("%-40s cancelled within %v", m.name, took))
		})
		h.restore()
	}
	t.Logf("\n%s", strings.Join(report, "\n"))
}

// shortCancels are the moments of `make test`: e2e tests cover the other ways of cancelling.
var shortCancels = []string{"started", "model sent", "model half-streamed", "model done not reported", "policy asked", "tool sent"}

func cancelAt(t *testing.T, h *theatre, id string, m moment) time.Duration {
	r := h.trial(t, h.play(t, id, m.holdAt, m.toolWaits), m.agent)
	m.hold(r)
	if r.turn == "" { // unanswered, but it exists
		turns, _ := r.client.Must("GET", "/v1/sessions/"+r.session+"/turns", nil)["turns"].([]any)
		r.turn = harness.JSON(turns[0].(map[string]any)).Str("id")
	}
	from := time.Now()
	status, out, err := r.client.Do(t.Context(), "POST", "/v1/turns/"+r.turn+":cancel", harness.JSON{"reason": "enough"})
	if m.over {
		if err != nil || out.Str("code") != "turn_ended" {
			t.Errorf("a cancel after the end: %d %v %v", status, out, err)
		}
		m.letGo(r)
		r.verify(leeway{})
		return since(from)
	}
	if err != nil || status != 200 {
		t.Fatalf("cancel: %d %v %v", status, out, err)
	}
	end := r.client.Wait(r.turn)
	took := since(from)
	if end.Str("status") != "cancelled" || took > maxCancel {
		t.Errorf("after %v the turn is %v", took, end)
	}
	if m.toolWaits && !harness.Eventually(maxReach-min(took, maxReach)+time.Millisecond, func() bool { return len(r.cancelled()) == 1 }) {
		t.Errorf("the tool server was told of %d cancels within %v", len(r.cancelled()), maxReach)
	}
	m.letGo(r)
	if r.watcher == nil {
		r.watch()
	}
	live := r.watcher.End()
	harness.CheckStream(t, live)
	late := r.client.Watch("/v1/turns/" + r.turn + "/events").End()
	harness.CheckStream(t, late)
	r.checkJournal(live, late)
	if m.holdAt > 0 && !strings.HasPrefix(end.Str("output"), strings.Join(thoughts[:m.holdAt], "")) {
		t.Errorf("of what was said %q is kept", end.Str("output"))
	}
	if calls := len(r.h.calls(id + "-once")); calls > 1 {
		t.Errorf("the tool acted %d times", calls)
	}
	return took
}

// cancelled lists the calls that the tool server was told to cancel.
func (r *trial) cancelled() []harness.JSON {
	return slices.DeleteFunc(r.h.cancels(), func(c harness.JSON) bool { return c.Str("call_id") != r.play.id+"-once" })
}
