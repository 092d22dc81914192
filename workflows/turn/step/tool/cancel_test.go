package tool_test

import (
	"testing"
	"time"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// What was said of a call before its turn was cancelled stands, nothing is sent any more, and a call that was sent is not said to have
// not run.
func TestTheCallOfACancelledTurn(t *testing.T) {
	approved := func(t *testing.T) *steptest.World {
		definition := "v1"
		return steptest.Waiting(t, &sessionsv1.Agent{}, steptest.Guarded(&definition))
	}
	asked := func(t *testing.T) *steptest.World { return steptest.Waiting(t, &sessionsv1.Agent{}, asking) }
	unknown := func(t *testing.T) *steptest.World {
		return steptest.Waiting(t, &sessionsv1.Agent{OnUnknownOutcome: "park"}, lost)
	}
	client := func(t *testing.T) *steptest.World {
		w := steptest.New(t, &sessionsv1.Agent{})
		w.Journal.ClientTools(in.TurnID, &sessionsv1.ClientTool{Name: "pick"})
		w.Model(turntest.CallTools("client__pick", 1))
		w.MustWait(1)
		return w
	}
	result := func(text string) func(*executionv1.Wait) {
		return func(w *executionv1.Wait) { w.Result = steptest.Said(text) }
	}
	none := func(*executionv1.Wait) {}
	for _, row := range []struct {
		name    string
		world   func(*testing.T) *steptest.World
		verdict turnv1.Verdict
		fill    func(*executionv1.Wait)
		calls   int
		want    string
	}{
		{"an approved call is not sent", approved, turnv1.Verdict_VERDICT_APPROVED, none, 1, "The call was not run: the turn was cancelled."},
		{
			"a denied call says who denied it", approved, turnv1.Verdict_VERDICT_DENIED, by("ann", "", false), 1,
			"The call was not run: ann refused it.",
		},
		{
			"a tool that asked may have acted", asked, turnv1.Verdict_VERDICT_ANSWERED, none, 1,
			"The call was not finished, and may have taken effect: the turn was cancelled.",
		},
		{"a call that was done has its result", unknown, turnv1.Verdict_VERDICT_ANSWERED, result("sent"), 2, "sent"},
		{
			"a call that was not done is not sent again", unknown, turnv1.Verdict_VERDICT_NOT_DONE, none, 1,
			"The call was not run again: the turn was cancelled.",
		},
		{"a call that nobody knows of stays unknown", unknown, turnv1.Verdict_VERDICT_GIVEN_UP, none, 2, "nobody knows"},
		{"the client has done it", client, turnv1.Verdict_VERDICT_ANSWERED, result("done"), 0, "done"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := row.world(t)
			w.Answer("tool-1.0", row.verdict, row.fill)
			ref := &turnv1.StepRef{
				Key: stepkey.Round("tool-1.0", 2), Kind: turnv1.StepKind_STEP_KIND_TOOL, Round: 2,
				Call: w.Outcome("infer-1").GetCalls()[0], Wait: w.Outcome("tool-1.0").GetWait(),
			}
			w.Journal.Cancel(in.TurnID)
			counted := w.Outcome("tool-1.0").GetUsage().GetToolCalls() + w.Do(ref).GetUsage().GetToolCalls()
			if got := w.Result().GetResult().GetContent()[0].GetText(); got != row.want || len(w.Called()) != row.calls || counted != 1 {
				t.Errorf("result %q after %d requests, %d calls counted; want %q after %d", got, len(w.Called()), counted, row.want, row.calls)
			}
		})
	}
}

// The worker that had the step may have sent the call before it died.
func TestALostCallOfACancelledTurnMayHaveTakenEffect(t *testing.T) {
	w, ref := steptest.AtTool(t, "x__echo")
	w.Journal.Seize(in.TurnID, ref.GetKey(), "dead", -time.Second)
	w.Journal.Cancel(in.TurnID)
	out := w.Do(ref)
	const want = "The call was not finished, and may have taken effect: the turn was cancelled."
	if got := w.Result().GetResult().GetContent()[0].GetText(); got != want || !out.GetCancelled() || len(w.Called()) != 0 {
		t.Errorf("result %q, outcome %v", got, out)
	}
}
