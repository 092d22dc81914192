package turn

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

const (
	waitKind  = turnv1.StepKind_STEP_KIND_WAIT
	steerKind = turnv1.StepKind_STEP_KIND_STEER
	day       = 24 * time.Hour
)

// waits has a tool's first round wait for approval.
func (s *script) waits(key string, expire time.Duration) {
	s.steps[key] = func(context.Context, int) (*turnv1.StepOutcome, error) {
		w := &turnv1.WaitRef{Id: "apr_1", Kind: turnv1.WaitKind_WAIT_KIND_APPROVAL}
		if expire > 0 {
			w.ExpireMicros = s.now().Add(expire).UnixMicro()
		}
		return &turnv1.StepOutcome{Wait: w}, nil
	}
}

// journal adds an outcome that sessions has recorded by itself.
func (s *script) journal(key string, kind turnv1.StepKind, fill func(*turnv1.StepOutcome)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.later = append(s.later, s.ahead(key, kind, s.now().UnixMicro(), fill))
}

func verdict(v turnv1.Verdict, moved time.Duration, now time.Time) func(*turnv1.StepOutcome) {
	return func(o *turnv1.StepOutcome) {
		o.Answer = &turnv1.WaitAnswer{WaitId: "apr_1", Verdict: v}
		o.DeadlineMicros = now.Add(moved).UnixMicro()
	}
}

func TestATurnWaitsThirtyDaysForAnAnswer(t *testing.T) {
	s := newScript(1)
	s.waits("tool-1.0", 0)
	env := start(t, s)
	began := env.Now()
	env.RegisterDelayedCallback(func() {
		s.journal("wait-1.0", waitKind, verdict(turnv1.Verdict_VERDICT_APPROVED, 20*time.Minute, env.Now()))
		env.SignalWorkflow(contract.SignalWake, nil)
	}, 30*day)
	r := finish(t, env)
	if (r != contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 2, ToolCalls: 1}) {
		t.Errorf("result = %+v", r)
	}
	if got := strings.Join(s.done, " "); got != "begin infer-1 tool-1.0 tool-1.0.2 infer-2 finish" {
		t.Errorf("steps: %s", got)
	}
	if took := env.Now().Sub(began); took < 30*day || s.expiries > 0 {
		t.Errorf("took %v, %d expiries", took, s.expiries)
	}
}

func TestAWaitThatNobodyAnswersExpires(t *testing.T) {
	s := newScript(1)
	s.waits("tool-1.0", 7*day)
	env := start(t, s)
	s.expire = func() { // the second time: the clock of sessions is a little late
		if s.expiries == 2 {
			s.later = append(s.later, s.ahead("wait-1.0", waitKind, 1, verdict(turnv1.Verdict_VERDICT_EXPIRED, time.Minute, env.Now())))
		}
	}
	began := env.Now()
	r := finish(t, env)
	if took := env.Now().Sub(began); r.StopReason != "end" || r.ToolCalls != 1 || s.expiries != 2 || took < 7*day || took > 7*day+time.Minute {
		t.Errorf("result = %+v after %v and %d expiries", r, took, s.expiries)
	}
}

func TestACancelEndsATurnThatWaits(t *testing.T) {
	s := newScript(1)
	s.waits("tool-1.0", 7*day)
	env := start(t, s)
	began := env.Now()
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(contract.SignalCancel, nil) }, day)
	if r := finish(t, env); r.Status != "cancelled" || env.Now().Sub(began) > day+time.Minute {
		t.Errorf("result = %+v after %v", r, env.Now().Sub(began))
	}
}

func TestAnAnswerIsHeardWhileAnotherStepRuns(t *testing.T) {
	s := newScript(2)
	s.waits("tool-1.0", 7*day)
	env := start(t, s)
	second := make(chan struct{})
	s.steps["tool-1.0.2"] = func(context.Context, int) (*turnv1.StepOutcome, error) {
		close(second)
		return &turnv1.StepOutcome{}, nil
	}
	s.steps["tool-1.1"] = func(context.Context, int) (*turnv1.StepOutcome, error) {
		s.journal("wait-1.0", waitKind, verdict(turnv1.Verdict_VERDICT_APPROVED, time.Hour, env.Now()))
		env.SignalWorkflow(contract.SignalWake, nil)
		<-second
		return &turnv1.StepOutcome{}, nil
	}
	if r := finish(t, env); r.StopReason != "end" || r.ToolCalls != 2 {
		t.Errorf("result = %+v", r)
	}
}

// TestNewsThatComeDuringARead: the journal may have been read before they were written.
func TestNewsThatComeDuringARead(t *testing.T) {
	s := newScript(1)
	env := start(t, s)
	s.seen = s.resting(7 * day)
	s.look = func(n int) {
		if n == 1 { // it has read already
			s.later = append(s.later, s.ahead("wait-1.0", waitKind, 4, verdict(turnv1.Verdict_VERDICT_APPROVED, 8*day, env.Now())))
			env.SignalWorkflow(contract.SignalWake, nil)
		}
	}
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(contract.SignalWake, nil) }, time.Second)
	began := env.Now()
	if r := ends(t, env, parking); r.StopReason != "end" || env.Now().Sub(began) > 2*time.Second || s.expiries > 0 {
		t.Errorf("result = %+v after %v and %d expiries", r, env.Now().Sub(began), s.expiries)
	}
}

func TestAnEndThatIsStaleIsDecidedAnew(t *testing.T) {
	s := newScript()
	s.steps["finish"] = func(_ context.Context, attempt int) (*turnv1.StepOutcome, error) {
		if attempt == 1 {
			s.journal("steer-1", steerKind, nil)
			return nil, step.ErrStale
		}
		return &turnv1.StepOutcome{FinishReason: "end"}, nil
	}
	s.steps["infer-2"] = func(context.Context, int) (*turnv1.StepOutcome, error) {
		return &turnv1.StepOutcome{FinishReason: "stop", Inputs: 1}, nil
	}
	if r := finish(t, start(t, s)); r.StopReason != "end" || r.ModelCalls != 2 || !slices.Contains(s.done, "infer-2") {
		t.Errorf("result = %+v, done %v", r, s.done)
	}
}

func TestATurnThatWasEndedElsewhereWhileItWaited(t *testing.T) {
	s := newScript(1)
	s.waits("tool-1.0", 7*day)
	env := start(t, s)
	env.RegisterDelayedCallback(func() {
		s.mu.Lock()
		s.over = true
		s.mu.Unlock()
		env.SignalWorkflow(contract.SignalWake, nil)
	}, day)
	s.steps["finish"] = func(context.Context, int) (*turnv1.StepOutcome, error) { // tells how the turn stands
		return &turnv1.StepOutcome{FinishReason: "cancelled", Cancelled: true}, nil
	}
	if r := finish(t, env); r.Status != "cancelled" {
		t.Errorf("result = %+v", r)
	}
}
