package runner_test

import (
	"testing"
	"time"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
	"github.com/windlass-dev/windlass/workflows/turn/step/runner"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// TestWorkersWithWrongClocks: a turn's deadline is set and judged by the time of the sessions service's database, whichever worker does it.
func TestWorkersWithWrongClocks(t *testing.T) {
	for name, skew := range map[string]time.Duration{"an hour ahead": time.Hour, "an hour behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"x__*"}}, turntest.Tool("x__echo"))
			w.Model(turntest.CallTools("x__echo", 1, 1))
			deps := w.Deps()
			deps.HostTime = func() time.Time { return time.Now().Add(skew) }
			wrong, err := runner.New(runner.Config{Owner: "worker-2", LeaseTTL: 300 * time.Millisecond, CommitPatience: 2 * time.Second}, deps)
			if err != nil {
				t.Fatal(err)
			}
			right := w.Runner
			w.Runner = wrong
			if _, err := wrong.Outcomes(t.Context(), in); err != nil { // it knows the time from any answer
				t.Fatal(err)
			}
			begin := w.Do(&turnv1.StepRef{Key: stepkey.Begin, Kind: turnv1.StepKind_STEP_KIND_BEGIN})
			turnTime := time.Duration(begin.GetSurface().GetTurnSeconds()) * time.Second
			if off := time.UnixMicro(begin.GetSurface().GetDeadlineMicros()).Sub(time.Now().Add(turnTime)).Abs(); off > 30*time.Minute {
				t.Errorf("the deadline is off by %s", off)
			}
			w.Runner = right
			w.Do(&turnv1.StepRef{Key: stepkey.Infer(1), Kind: turnv1.StepKind_STEP_KIND_INFER})
			w.Runner = wrong
			w.Advance()
			w.Once("begin finish infer-1 infer-2 infer-3 tool-1.0 tool-2.0")
			for _, e := range w.Journal.Events(in.TurnID) {
				if end := e.GetTurnEnded(); end != nil && end.GetStopReason() != engine.StopEnd {
					t.Errorf("the turn ended with %q", end.GetStopReason())
				}
			}
		})
	}
}
