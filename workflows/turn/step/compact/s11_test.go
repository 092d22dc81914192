package compact_test

import (
	"testing"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// TestS11ASummaryOfTaintedMessagesIsTainted: and so is what the model says after it has read nothing else of them.
func TestS11ASummaryOfTaintedMessagesIsTainted(t *testing.T) {
	for _, tainted := range []bool{true, false} {
		both(t, &sessionsv1.Agent{MaxContextTokens: 2000}, func(t *testing.T, w *steptest.World, run func() []*turnv1.StepOutcome) {
			messages := earlier(10)
			messages[3].Tainted = tainted
			w.Journal.Recall(in.TurnID, messages...)
			w.Model(summarising(turntest.Say("hi"), 0))
			run()
			if c := compactions(w); len(c) != 1 || c[0].GetTainted() != tainted {
				t.Errorf("tainted %t: compacted to %v", tainted, c)
			}
			for _, e := range w.Journal.Events(in.TurnID) {
				if m := e.GetMessageCompleted().GetMessage(); m.GetRole() == turnv1.Role_ROLE_ASSISTANT && m.GetTainted() != tainted {
					t.Errorf("tainted %t: the answer is %v", tainted, m)
				}
			}
		})
	}
}
