package turn

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

var input = contract.TurnInput{Tenant: "default", TurnID: "trn_1", SessionID: "ses_1", AgentID: "helper"}

// script is a doer that answers from a table; a step that it does not name ends well.
type script struct {
	mu      sync.Mutex
	now     func() time.Time
	skew    time.Duration // how far Temporal's clock is ahead of the database's, which activities tell if it is not 0
	rounds  []int         // calls that each model step asks for
	steps   map[string]func(ctx context.Context, attempt int) (*turnv1.StepOutcome, error)
	tries   map[string]int
	done    []string
	running int
	most    int // steps at the same time
	// seen is what the eager run gives, or blind; later what is in the journal afterwards, besides what was done here.
	seen, later []*turnv1.StepOutcome
	blind       error
	// expire is what happens to the journal when waits are expired; expiries counts how often it was asked for.
	expire   func()
	expiries int
	over     bool // the turn was ended elsewhere
	// look is what happens after the journal was read for the n-th time; looks counts.
	look  func(n int)
	looks int
}

func newScript(rounds ...int) *script {
	return &script{rounds: rounds, steps: map[string]func(context.Context, int) (*turnv1.StepOutcome, error){}, tries: map[string]int{}}
}

func (s *script) Do(ctx context.Context, _ contract.TurnInput, ref *turnv1.StepRef) (*turnv1.StepOutcome, error) {
	s.mu.Lock()
	s.tries[ref.GetKey()]++
	attempt, special := s.tries[ref.GetKey()], s.steps[ref.GetKey()]
	s.running++
	s.most = max(s.most, s.running)
	s.mu.Unlock()
	out, err := s.usual(ref), error(nil)
	if special != nil {
		out, err = special(ctx, attempt)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	if err != nil {
		return nil, err
	}
	s.done = append(s.done, ref.GetKey())
	out.Key, out.Kind = ref.GetKey(), ref.GetKind()
	return out, nil
}

func (s *script) Finish(ctx context.Context, in contract.TurnInput, ref *turnv1.StepRef) (*turnv1.StepOutcome, error) {
	return s.Do(ctx, in, ref)
}

func (s *script) Outcomes(context.Context, contract.TurnInput) (*executionv1.GetOutcomesResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &executionv1.GetOutcomesResponse{Outcomes: slices.Clone(s.later), Ended: s.over}
	if s.looks++; s.look != nil {
		s.look(s.looks)
	}
	return out, nil
}

func (s *script) Now() time.Time {
	if s.skew == 0 {
		return time.Time{}
	}
	return s.now()
}

func (s *script) ExpireWaits(context.Context, contract.TurnInput) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expiries++
	if s.expire != nil {
		s.expire()
	}
	return nil
}

func (s *script) joinBriefly(context.Context, contract.TurnInput) ([]*turnv1.StepOutcome, error) {
	return s.seen, s.blind
}

func (s *script) usual(ref *turnv1.StepRef) *turnv1.StepOutcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch ref.GetKind() {
	case turnv1.StepKind_STEP_KIND_BEGIN:
		return surface(s.now(), 4)
	case turnv1.StepKind_STEP_KIND_INFER:
		n := 0
		for ref.GetKey() != stepkey.Infer(n+1) {
			n++
		}
		o := &turnv1.StepOutcome{FinishReason: "stop"}
		if n < len(s.rounds) {
			for range s.rounds[n] {
				o.Calls = append(o.Calls, &turnv1.ToolCallRef{CallId: "c", Tool: "x__echo", MessageId: "m"})
			}
		}
		return o
	case turnv1.StepKind_STEP_KIND_FINISH:
		e := ref.GetEnding()
		return &turnv1.StepOutcome{
			FinishReason: e.GetStopReason(), Error: e.GetError(), Cancelled: e.GetStatus() == turnv1.TurnStatus_TURN_STATUS_CANCELLED,
		}
	default:
		return &turnv1.StepOutcome{}
	}
}

func surface(now time.Time, parallel uint32) *turnv1.StepOutcome {
	return &turnv1.StepOutcome{Surface: &turnv1.Surface{
		Strategy: turnv1.Strategy_STRATEGY_REACT, MaxSteps: 10, MaxParallelTools: parallel, DeadlineMicros: now.Add(30 * time.Minute).UnixMicro(),
	}}
}

// start prepares a turn in the time-skipping environment.
func start(t *testing.T, s *script) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	// Without an id the SDK reads the whole test program for one, which on a busy machine it takes for a deadlock.
	env.SetWorkerOptions(worker.Options{BuildID: "test", DeadlockDetectionTimeout: time.Minute})
	s.now = func() time.Time { return env.Now().Add(-s.skew) }
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: input.TurnID})
	env.RegisterWorkflowWithOptions(Turn, workflow.RegisterOptions{Name: contract.TurnWorkflow})
	env.RegisterActivity(&Activities{steps: s, runs: s, drain: time.Second})
	return env
}

// finish runs the turn and gives its result.
func finish(t *testing.T, env *testsuite.TestWorkflowEnvironment) contract.TurnResult {
	t.Helper()
	env.ExecuteWorkflow(contract.TurnWorkflow, input)
	if !env.IsWorkflowCompleted() {
		t.Fatal("the workflow did not complete")
	}
	return resultOf(t, env)
}

// resultOf is the result of a turn's workflow, however it closed.
func resultOf(t *testing.T, env *testsuite.TestWorkflowEnvironment) (r contract.TurnResult) {
	t.Helper()
	err := env.GetWorkflowError()
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		err = failed.Details(&r)
	} else if cancelled, ok := errors.AsType[*temporal.CanceledError](err); ok {
		err = cancelled.Details(&r)
	} else if err == nil {
		err = env.GetWorkflowResult(&r)
	}
	if err != nil {
		t.Fatalf("the workflow failed: %v", err)
	}
	return r
}

// TestAForeignWorkflowDoesNothing: an input that was copied from the workflow of a turn starts no second one.
func TestAForeignWorkflowDoesNothing(t *testing.T) {
	s := newScript(2, 1)
	env := start(t, s)
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: "forged"})
	env.ExecuteWorkflow(contract.TurnWorkflow, input)
	err, ok := errors.AsType[*temporal.ApplicationError](env.GetWorkflowError())
	if !ok || err.Type() != typeForeign || len(s.done) != 0 {
		t.Errorf("steps %q, %v", s.done, env.GetWorkflowError())
	}
}

func TestWalk(t *testing.T) {
	s := newScript(2, 1)
	r := finish(t, start(t, s))
	if (r != contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 3, ToolCalls: 3}) {
		t.Errorf("result = %+v", r)
	}
	slices.Sort(s.done[2:4])
	if got := strings.Join(s.done, " "); got != "begin infer-1 tool-1.0 tool-1.1 infer-2 tool-2.0 infer-3 finish" {
		t.Errorf("steps: %s", got)
	}
}

func TestToolsRunTogetherUpToTheLimit(t *testing.T) {
	s := newScript(9)
	all := make(chan struct{})
	var once sync.Once
	for i := range 9 {
		s.steps[stepkey.Tool(1, i)] = func(context.Context, int) (*turnv1.StepOutcome, error) {
			s.mu.Lock()
			if s.running == 4 {
				once.Do(func() { close(all) })
			}
			s.mu.Unlock()
			<-all // nobody ends before four are under way
			return &turnv1.StepOutcome{}, nil
		}
	}
	if r := finish(t, start(t, s)); r.ToolCalls != 9 || s.most != 4 {
		t.Errorf("result = %+v, %d at the same time", r, s.most)
	}
}

func TestRetriesFollowTheStep(t *testing.T) {
	s := newScript(1)
	away := &step.RetryError{Err: fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "away"), Delay: 7 * time.Minute}
	fails := func(_ context.Context, attempt int) (*turnv1.StepOutcome, error) {
		if attempt < 3 {
			return nil, away
		}
		return &turnv1.StepOutcome{FinishReason: "stop"}, nil
	}
	s.steps["infer-1"], s.steps["finish"] = fails, func(ctx context.Context, attempt int) (*turnv1.StepOutcome, error) {
		if attempt < 3 {
			return nil, &step.RetryError{Err: fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "away")}
		}
		return &turnv1.StepOutcome{FinishReason: "end"}, nil
	}
	env := start(t, s)
	began := env.Now()
	if r := finish(t, env); r.StopReason != "end" || s.tries["infer-1"] != 3 || s.tries["finish"] != 3 {
		t.Errorf("result = %+v, tries = %v", r, s.tries)
	}
	if took := env.Now().Sub(began); took < 14*time.Minute {
		t.Errorf("took %v of workflow time: the model's delay was not kept", took)
	}
}

func TestEndings(t *testing.T) {
	fail := func(err error) func(context.Context, int) (*turnv1.StepOutcome, error) {
		return func(context.Context, int) (*turnv1.StepOutcome, error) { return nil, err }
	}
	final := step.Final(fault.NotFound("no such turn"))
	for _, row := range []struct {
		name string
		step string
		do   func(context.Context, int) (*turnv1.StepOutcome, error)
		want contract.TurnResult
	}{
		{
			name: "a model's error fails the turn", step: "infer-1",
			want: contract.TurnResult{Status: "failed", StopReason: "error", ErrorCode: "model_rejected", ModelCalls: 1},
			do: func(context.Context, int) (*turnv1.StepOutcome, error) {
				return &turnv1.StepOutcome{Error: &turnv1.TurnError{Code: "model_rejected"}}, nil
			},
		},
		{
			name: "a step that cannot be done fails the turn", step: "infer-1", do: fail(final),
			want: contract.TurnResult{Status: "failed", StopReason: "error", ErrorCode: "not_found"},
		},
		{
			name: "so does begin", step: "begin", do: fail(final),
			want: contract.TurnResult{Status: "failed", StopReason: "error", ErrorCode: "not_found"},
		},
		{
			name: "a turn that ended elsewhere", step: "infer-1", do: fail(step.ErrTurnEnded),
			want: contract.TurnResult{Status: "failed", StopReason: "error", ErrorCode: "turn_ended"},
		},
		{
			name: "an ending that another worker wrote", step: "finish",
			want: contract.TurnResult{Status: "cancelled", StopReason: "cancelled", ModelCalls: 1},
			do: func(context.Context, int) (*turnv1.StepOutcome, error) {
				return &turnv1.StepOutcome{Cancelled: true, FinishReason: "cancelled"}, nil
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newScript()
			s.steps[row.step] = row.do
			if r := finish(t, start(t, s)); r != row.want {
				t.Errorf("result = %+v, want %+v", r, row.want)
			}
		})
	}
}

func TestAToolThatCannotBeDoneLetsTheOthersEnd(t *testing.T) {
	s := newScript(2)
	s.steps["tool-1.0"] = func(context.Context, int) (*turnv1.StepOutcome, error) {
		return nil, step.Final(fault.NotFound("gone"))
	}
	r := finish(t, start(t, s))
	if r.Status != "failed" || !slices.Contains(s.done, "tool-1.1") {
		t.Errorf("result = %+v, done %v", r, s.done)
	}
}

func TestCancel(t *testing.T) {
	for _, row := range []struct {
		name   string
		cancel func(env *testsuite.TestWorkflowEnvironment)
	}{
		{"by signal", func(env *testsuite.TestWorkflowEnvironment) {
			env.SignalWorkflow(contract.SignalCancel, nil)
		}},
		{"by Temporal", func(env *testsuite.TestWorkflowEnvironment) { env.CancelWorkflow() }},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newScript()
			over := make(chan struct{}) // the environment does not wait for what it cancels
			t.Cleanup(func() { close(over) })
			s.steps["infer-1"] = func(ctx context.Context, _ int) (*turnv1.StepOutcome, error) {
				select {
				case <-ctx.Done():
				case <-over:
				}
				return &turnv1.StepOutcome{Cancelled: true, FinishReason: "cancelled"}, nil
			}
			env := start(t, s)
			env.RegisterDelayedCallback(func() { row.cancel(env) }, time.Second)
			// That what the step leaves is waited for shows on a real server only, see TestShapes.
			if r := finish(t, env); r.Status != "cancelled" {
				t.Errorf("result = %+v", r)
			}
		})
	}
}

func TestCancelBetweenSteps(t *testing.T) {
	s := newScript()
	env := start(t, s)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(contract.SignalCancel, nil) }, 0)
	if r := finish(t, env); r.Status != "cancelled" {
		t.Errorf("result = %+v", r)
	}
}

// ahead is the outcome of a step that was done elsewhere.
func (s *script) ahead(key string, kind turnv1.StepKind, at int64, fill func(*turnv1.StepOutcome)) *turnv1.StepOutcome {
	o := &turnv1.StepOutcome{Key: key, Kind: kind, CommittedMicros: at, FinishReason: "stop"}
	if fill != nil {
		fill(o)
	}
	return o
}

func (s *script) began(at int64) *turnv1.StepOutcome {
	return s.ahead("begin", turnv1.StepKind_STEP_KIND_BEGIN, at, func(o *turnv1.StepOutcome) { o.Surface = surface(s.now(), 4).GetSurface() })
}

func calls(n int) func(*turnv1.StepOutcome) {
	return func(o *turnv1.StepOutcome) {
		for range n {
			o.Calls = append(o.Calls, &turnv1.ToolCallRef{CallId: "c", Tool: "x__echo", MessageId: "m"})
		}
	}
}

const (
	inferKind  = turnv1.StepKind_STEP_KIND_INFER
	toolKind   = turnv1.StepKind_STEP_KIND_TOOL
	finishKind = turnv1.StepKind_STEP_KIND_FINISH
)

func TestATurnThatIsOverWhenJoinedNeedsNoActivity(t *testing.T) {
	s := newScript()
	env := start(t, s)
	s.seen = []*turnv1.StepOutcome{
		s.began(1), s.ahead("infer-1", inferKind, 2, nil),
		s.ahead("finish", finishKind, 2, func(o *turnv1.StepOutcome) { o.FinishReason = "end" }),
	}
	r := finish(t, env)
	if (r != contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 1}) || len(s.done) > 0 {
		t.Errorf("result = %+v, done here %v", r, s.done)
	}
}

func TestTheWalkGoesOnWhereTheEagerRunEnded(t *testing.T) {
	s := newScript(2, 1)
	env := start(t, s)
	s.seen = []*turnv1.StepOutcome{s.began(1), s.ahead("infer-1", inferKind, 2, calls(2)), s.ahead("tool-1.0", toolKind, 3, nil)}
	// While the walk does tool-1.1, the turn runs ahead to the next tool.
	s.later = append(s.seen, s.ahead("infer-2", inferKind, 5, calls(1)))
	r := finish(t, env)
	if r.ModelCalls != 3 || r.ToolCalls != 3 || strings.Join(s.done, " ") != "tool-1.1 tool-2.0 infer-3 finish" {
		t.Errorf("result = %+v, done here %v", r, s.done)
	}
}

func TestWithoutAnEagerRunTheTurnIsWalked(t *testing.T) {
	s := newScript()
	s.blind = fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "away")
	if r := finish(t, start(t, s)); r.Status != "completed" || len(s.done) != 3 {
		t.Errorf("result = %+v, done here %v", r, s.done)
	}
}

func TestAnEndThatIsLearntWaitsForTheActivitiesUnderWay(t *testing.T) {
	s := newScript(2)
	env := start(t, s)
	other := make(chan struct{})
	s.steps["tool-1.0"] = func(context.Context, int) (*turnv1.StepOutcome, error) { <-other; return &turnv1.StepOutcome{}, nil }
	s.steps["tool-1.1"] = func(context.Context, int) (*turnv1.StepOutcome, error) {
		defer close(other)
		return &turnv1.StepOutcome{}, nil
	}
	s.seen = []*turnv1.StepOutcome{s.began(1), s.ahead("infer-1", inferKind, 2, calls(2))}
	s.later = []*turnv1.StepOutcome{
		s.ahead("tool-1.0", toolKind, 3, nil), s.ahead("infer-2", inferKind, 4, nil),
		s.ahead("finish", finishKind, 4, func(o *turnv1.StepOutcome) { o.FinishReason = "end" }),
	}
	if r := finish(t, env); r.ModelCalls != 2 || r.ToolCalls != 2 || r.StopReason != "end" {
		t.Errorf("result = %+v", r)
	}
}
