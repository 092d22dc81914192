package turn

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// parking is a turn that parks.
var parking = contract.TurnInput{
	Tenant: "default", TurnID: "trn_1", SessionID: "ses_1", AgentID: "helper", ParkAfter: contract.Duration(contract.ParkAfter),
}

// parked is the input of the run after one that parked.
func parked() contract.TurnInput {
	in := parking
	in.Parked = "since yesterday"
	return in
}

// startParked prepares that run.
func startParked(t *testing.T, s *script) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	env := start(t, s)
	env.SetContinuedExecutionRunID("the-first")
	return env
}

// parks runs the turn until it parks, and gives for how long.
func parks(t *testing.T, env *testsuite.TestWorkflowEnvironment, in contract.TurnInput) time.Duration {
	t.Helper()
	env.ExecuteWorkflow(contract.TurnWorkflow, in)
	var next *workflow.ContinueAsNewError
	if err := env.GetWorkflowError(); !errors.As(err, &next) || next.WorkflowType.Name != contract.TurnWorkflow {
		t.Fatalf("error %v, want to continue as new", err)
	}
	return next.BackoffStartInterval
}

// ends runs the turn to its end.
func ends(t *testing.T, env *testsuite.TestWorkflowEnvironment, in contract.TurnInput) contract.TurnResult {
	t.Helper()
	env.ExecuteWorkflow(contract.TurnWorkflow, in)
	return resultOf(t, env)
}

// resting is what the journal has of a turn that waits for an answer.
func (s *script) resting(expire time.Duration) []*turnv1.StepOutcome {
	wait := &turnv1.WaitRef{Id: "apr_1", Kind: turnv1.WaitKind_WAIT_KIND_APPROVAL}
	if expire != 0 {
		wait.ExpireMicros = s.now().Add(expire).UnixMicro()
	}
	return []*turnv1.StepOutcome{
		s.began(1), s.ahead("infer-1", inferKind, 2, calls(1)),
		s.ahead("tool-1.0", toolKind, 3, func(o *turnv1.StepOutcome) { o.Wait = wait }),
	}
}

func TestATurnParks(t *testing.T) {
	for _, row := range []struct {
		name       string
		expire     time.Duration // of its wait
		again      bool          // it was parked before
		called     bool          // a signal begins the run
		stay, park time.Duration
	}{
		{name: "until its wait expires", expire: 7 * day, stay: contract.ParkAfter, park: 7*day - contract.ParkAfter},
		{name: "for long when nothing expires", stay: contract.ParkAfter, park: longestPark},
		{name: "and looks now and then", expire: 90 * day, stay: contract.ParkAfter, park: longestPark},
		{name: "at once when nothing has happened since", expire: 7 * day, again: true, park: 7 * day},
		{name: "at once when it was called for nothing", expire: 7 * day, again: true, called: true, park: 7 * day},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newScript(1)
			env, in := start(t, s), parking
			if row.again {
				env, in = startParked(t, s), parked()
			}
			s.seen = s.resting(row.expire)
			if row.called {
				env.RegisterDelayedCallback(func() { env.SignalWorkflow(contract.SignalWake, nil) }, 0)
			}
			began := env.Now()
			if got := parks(t, env, in); got.Round(time.Second) != row.park {
				t.Errorf("parked for %v, want %v", got, row.park)
			}
			if stayed := env.Now().Sub(began).Round(time.Second); stayed != row.stay || len(s.done) > 0 || s.expiries > 0 {
				t.Errorf("stayed for %v, want %v; done %v, %d expiries", stayed, row.stay, s.done, s.expiries)
			}
		})
	}
}

func TestATurnDoesNotPark(t *testing.T) {
	approve := func(s *script, env *testsuite.TestWorkflowEnvironment) {
		s.journal("wait-1.0", waitKind, verdict(turnv1.Verdict_VERDICT_APPROVED, time.Hour, env.Now()))
		env.SignalWorkflow(contract.SignalWake, nil)
	}
	for _, row := range []struct {
		name   string
		expire time.Duration
		answer time.Duration // when, 0 = never
		busy   time.Duration // for so long another tool runs
	}{
		{name: "when the answer comes quickly", answer: contract.ParkAfter - time.Second},
		{name: "when its wait expires soon", expire: contract.ParkAfter},
		{name: "while another step runs", busy: 20 * time.Minute, answer: 20*time.Minute + time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newScript(1)
			if row.busy > 0 {
				s = newScript(2)
				s.steps["tool-1.1"] = func(_ context.Context, attempt int) (*turnv1.StepOutcome, error) {
					if attempt == 1 {
						return nil, &step.RetryError{Err: fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "away"), Delay: row.busy}
					}
					return &turnv1.StepOutcome{}, nil
				}
			}
			s.waits("tool-1.0", row.expire)
			env := start(t, s)
			s.expire = func() {
				s.later = append(s.later, s.ahead("wait-1.0", waitKind, 1, verdict(turnv1.Verdict_VERDICT_EXPIRED, time.Hour, env.Now())))
			}
			if row.answer > 0 {
				env.RegisterDelayedCallback(func() { approve(s, env) }, row.answer)
			}
			if r := ends(t, env, parking); r.StopReason != "end" {
				t.Errorf("result = %+v", r)
			}
		})
	}
}

// TestAParkedTurnGoesOn: its next run reads the answer, or ends the wait whose time is up.
func TestAParkedTurnGoesOn(t *testing.T) {
	t.Run("with an answer", func(t *testing.T) {
		s := newScript(1)
		env := startParked(t, s)
		s.seen = append(s.resting(7*day), s.ahead("wait-1.0", waitKind, 4, verdict(turnv1.Verdict_VERDICT_APPROVED, time.Hour, env.Now())))
		if r := ends(t, env, parked()); r.StopReason != "end" || strings.Join(s.done, " ") != "tool-1.0.2 infer-2 finish" {
			t.Errorf("result = %+v, done %v", r, s.done)
		}
	})
	t.Run("when its wait expires", func(t *testing.T) {
		s := newScript(1)
		env := startParked(t, s)
		s.seen = s.resting(-time.Millisecond)
		s.expire = func() { // the second time: the clock of sessions is a little late
			if s.expiries == 2 {
				s.later = append(s.later, s.ahead("wait-1.0", waitKind, 1, verdict(turnv1.Verdict_VERDICT_EXPIRED, time.Hour, env.Now())))
			}
		}
		began := env.Now()
		r := ends(t, env, parked())
		if took := env.Now().Sub(began); r.StopReason != "end" || s.expiries != 2 || took > leastWait+leastWait/2 {
			t.Errorf("result = %+v after %v and %d expiries", r, took, s.expiries)
		}
	})
	t.Run("to its end, when it is cancelled in Temporal", func(t *testing.T) {
		s := newScript(1)
		env := startParked(t, s)
		s.seen = s.resting(7 * day)
		env.RegisterDelayedCallback(env.CancelWorkflow, 0)
		if r := ends(t, env, parked()); r.Status != contract.StatusCancelled {
			t.Errorf("result = %+v", r)
		}
	})
}
