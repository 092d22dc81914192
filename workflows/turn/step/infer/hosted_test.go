package infer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testwant"
	executorv1 "github.com/windlass-dev/windlass/proto/gen/windlass/executor/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/executor"
	"github.com/windlass-dev/windlass/workflows/turn/step/runner"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// hosts is an executor that is a function.
type hosts struct {
	mu        sync.Mutex
	rounds    []executor.Round
	forgotten []string
	run       func(ctx context.Context, r executor.Round, sink executor.Sink) (*executor.Answer, error)
}

func (h *hosts) Run(ctx context.Context, r executor.Round, sink executor.Sink) (*executor.Answer, error) {
	h.mu.Lock()
	h.rounds = append(h.rounds, r)
	h.mu.Unlock()
	return h.run(ctx, r, sink)
}

func (h *hosts) Forget(turn string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forgotten = append(h.forgotten, turn)
}

// hosting is a world whose agent has an executor.
func hosting(t *testing.T, run func(context.Context, executor.Round, executor.Sink) (*executor.Answer, error)) (*steptest.World, *hosts) {
	t.Helper()
	agent := &sessionsv1.Agent{Tools: []string{"*"}, Instructions: "be kind", Executor: &sessionsv1.Executor{
		Kind: "process", Command: []string{"x"},
	}}
	w, h := steptest.New(t, agent, turntest.Tool("x__echo")), &hosts{run: run}
	deps := w.Deps()
	deps.Executors = h
	var err error
	if w.Runner, err = runner.New(runner.Config{Owner: "worker-1"}, deps); err != nil {
		t.Fatal(err)
	}
	return w, h
}

func TestAnExecutorDoesATurn(t *testing.T) {
	w, h := hosting(t, func(ctx context.Context, r executor.Round, sink executor.Sink) (*executor.Answer, error) {
		if len(r.Invocation.GetToolResults()) > 0 {
			return &executor.Answer{Text: "done", FinishReason: "stop", Usage: &turnv1.Usage{InputTokens: 5}}, nil
		}
		if err := sink.Attached(ctx, "mine"); err != nil {
			return nil, err
		}
		call := &turnv1.ToolCall{CallId: "own-id", Tool: "x__echo", ArgumentsJson: `{"a":1}`}
		sink.Call(0, call)
		return &executor.Answer{Calls: []*turnv1.ToolCall{call}, FinishReason: "tool_calls"}, nil
	})
	all, err := w.Runner.Advance(t.Context(), in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Asked()) != 0 || len(w.Called()) != 1 || steptest.Text(w.Completed().GetMessage()) != "done" || len(all) != 5 {
		t.Errorf("%d model calls, %d tool calls, %d steps", len(w.Asked()), len(w.Called()), len(all))
	}
	first, second := h.rounds[0].Invocation, h.rounds[1].Invocation
	if first.GetMode() != executorv1.Mode_MODE_START || first.GetInvocationId() != in.TurnID+"/infer-1" ||
		first.GetAgent().GetInstructions() != "be kind" ||
		len(first.GetAgent().GetTools()) != 1 || len(first.GetInput()) != 1 || first.GetSubject() == "" || first.GetDeadline() == nil {
		t.Errorf("first = %v", first)
	}
	if len(second.GetToolResults()) != 1 || second.GetToolResults()[0].GetCallId() != "own-id" || len(second.GetInput()) != 0 ||
		!slices.ContainsFunc(h.rounds[1].Asked, func(c *turnv1.ToolCall) bool { return c.GetCallId() == "own-id" }) ||
		!h.rounds[1].Used["own-id"] {
		t.Errorf("second = %v", second)
	}
	attached := 0
	for _, e := range w.Journal.Events(in.TurnID) {
		if a := e.GetExecutorAttached(); a.GetExecutorSessionId() == "mine" && a.GetKind() == "process" && e.GetStep() == "infer-1" {
			attached++
		}
	}
	if attached != 1 || !slices.Contains(h.forgotten, in.TurnID) {
		t.Errorf("attached %d times, forgotten %v", attached, h.forgotten)
	}
}

func TestAnExecutorThatDiesIsResumed(t *testing.T) {
	w, h := hosting(t, nil)
	h.run = func(ctx context.Context, _ executor.Round, sink executor.Sink) (*executor.Answer, error) {
		if len(h.rounds) > 1 {
			return &executor.Answer{Text: "whole", FinishReason: "stop"}, nil
		}
		sink.Text("half")
		return nil, errors.Join(sink.Attached(ctx, "mine"), fault.Unavailable(faultv1.Reason_REASON_EXECUTOR_UNAVAILABLE, "killed"))
	}
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
	if _, err := w.Runner.Do(t.Context(), in, ref); fault.CodeOf(steptest.AsRetry(err)) != "executor_unavailable" {
		t.Fatalf("err = %v", err)
	}
	w.Do(ref)
	second := h.rounds[1].Invocation
	testwant.Equal(t, "second: Mode", second.GetMode(), executorv1.Mode_MODE_RESUME)
	testwant.Equal(t, "second: ExecutorSessionId", second.GetExecutorSessionId(), "mine")
	testwant.Equal(t, "second: Attempt", second.GetAttempt(), 2)
	testwant.Equal(t, "second: InvocationId", second.GetInvocationId(), h.rounds[0].Invocation.GetInvocationId())
	testwant.Equal(t, "second: Text(w.Completed.Message)", steptest.Text(w.Completed().GetMessage()), "whole")
}

func TestAnExecutorThatFailsEndsTheTurn(t *testing.T) {
	w, _ := hosting(t, func(context.Context, executor.Round, executor.Sink) (*executor.Answer, error) {
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_EXECUTOR_FAILED, "no credit")
	})
	if out := w.Do(w.UpTo(turnv1.StepKind_STEP_KIND_INFER)); out.GetError().GetCode() != "executor_failed" {
		t.Errorf("outcome = %v", out)
	}
}

// TestAnOutcomeThatIsTooLargeEndsTheTurn has an answer that no message of the mesh can carry to the journal.
func TestAnOutcomeThatIsTooLargeEndsTheTurn(t *testing.T) {
	for size, want := range map[int]string{8 << 20: "", 15 << 20: "too_large"} { // in a commit it is there twice
		w, h := hosting(t, func(context.Context, executor.Round, executor.Sink) (*executor.Answer, error) {
			return &executor.Answer{Text: strings.Repeat("x", size), FinishReason: "stop"}, nil
		})
		out := w.Do(w.UpTo(turnv1.StepKind_STEP_KIND_INFER))
		if out.GetError().GetCode() != want || len(h.rounds) != 1 {
			t.Errorf("%d bytes: %v after %d rounds", size, out, len(h.rounds))
		}
		w.Walk()
		ended := w.Journal.Events(in.TurnID)
		if want != "" && ended[len(ended)-1].GetTurnEnded().GetError().GetCode() != want {
			t.Errorf("%d bytes: the last event is %v", size, steptest.Payload(ended[len(ended)-1]))
		}
	}
}

func TestACancelKeepsWhatAnExecutorSaid(t *testing.T) {
	said := make(chan struct{})
	w, _ := hosting(t, func(ctx context.Context, _ executor.Round, sink executor.Sink) (*executor.Answer, error) {
		sink.Text("so far")
		close(said)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
	c := steptest.Async(t.Context(), w.Runner, ref)
	<-said
	w.Journal.Cancel(in.TurnID)
	if got := w.Wait(c); got.Err != nil || !got.Out.GetCancelled() || steptest.Text(w.Completed().GetMessage()) != "so far" {
		t.Errorf("got %v, %v", got.Out, got.Err)
	}
}
