package crash

import (
	"fmt"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/test/harness"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// TestWorkerKilledWhileItCompacts kills the worker when it has an uncommitted summary: another worker writes it, once, and the turn
// continues from it.
func TestWorkerKilledWhileItCompacts(t *testing.T) {
	slot(t)
	s := &scene{t: t, prop: newProp(t)}
	close(s.gate.open)
	s.model = harness.NewModel(t, func(_ int, messages []any) harness.Answer {
		if strings.Contains(fmt.Sprint(messages), contract.MarkCompact) {
			return harness.Answer{Words: []string{"they ", "talked"}}
		}
		return harness.Answer{Words: words}
	})
	s.Mesh = harness.Split(t, harness.SplitOptions{Model: s.model, Workers: 2, Faults: true})
	s.client = s.Client
	s.client.Must("POST", "/v1/agents", harness.JSON{"id": "a", "max_context_tokens": 2000})
	s.session = s.client.Session("a")
	long := strings.Repeat("blah ", 250)
	for range 4 {
		s.client.Wait(s.client.Turn(s.session, long))
	}
	if n := s.model.Calls(); n != 4 {
		t.Fatalf("the model was asked %d times before", n)
	}
	s.Arm(faultpoint.CompactDone, "kill")
	s.turn = s.client.Turn(s.session, long)
	s.watcher = s.client.Watch("/v1/turns/" + s.turn + "/events")
	s.check(promise{modelCalls: [2]float64{2, 2}})
	if !s.Taken(faultpoint.CompactDone) {
		t.Error("no worker was killed")
	}
	n := 0
	for _, e := range s.watcher.Events() {
		if e.Type == "context.compacted" {
			n++
		}
	}
	usage, _ := s.client.Wait(s.turn)["usage"].(map[string]any)
	if n != 1 || usage["input_tokens"] != 20.0 || usage["output_tokens"] != 14.0 || usage["lost_calls"] != 1.0 {
		t.Errorf("%d compactions; usage = %v, want that of two calls, and one lost", n, usage)
	}
	if calls := s.model.Calls(); calls != 4+3 {
		t.Errorf("the model was asked %d times", calls)
	}
}
