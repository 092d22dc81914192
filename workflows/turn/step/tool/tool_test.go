package tool_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step/runner"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

func TestToolResultGoesToJournalAndConversation(t *testing.T) {
	w, ref := steptest.AtTool(t, "x__echo")
	out := w.Do(ref)
	if out.GetIsError() || out.GetCallHash() == "" || out.GetUsage().GetToolCalls() != 1 {
		t.Errorf("outcome = %v", out)
	}
	if got := w.Result(); got.GetResult().GetContent()[0].GetText() != `{"round":0,"call":0}` || got.GetExecutionId() != "exe_1" {
		t.Errorf("completed = %v", got)
	}
	messages := w.Journal.Messages(in.TurnID)
	last := messages[len(messages)-1]
	if last.GetRole() != turnv1.Role_ROLE_TOOL || last.GetToolResult().GetCallId() != "own-0-0" || last.GetId() != out.GetMessageId() {
		t.Errorf("message = %v", last)
	}
	for _, e := range w.Journal.Events(in.TurnID) {
		if s := e.GetToolCallStarted(); s != nil {
			if s.GetEffect() != turnv1.EffectClass_EFFECT_CLASS_READ || s.GetArguments().GetFields()["round"] == nil {
				t.Errorf("started = %v", s)
			}
		}
	}
}

func TestASlowCallIsJournaledWhileItRuns(t *testing.T) {
	w, ref := steptest.AtTool(t, "x__echo")
	sub := w.Transient()
	open := make(chan struct{})
	w.Tool(func(req *registryv1.CallToolRequest, stream grpc.ServerStreamingServer[registryv1.CallToolResponse]) error {
		for _, m := range []*registryv1.CallToolResponse{
			{Event: &registryv1.CallToolResponse_Decided{Decided: &registryv1.Decided{DecisionId: "dec_1", Allowed: true}}},
			{Event: &registryv1.CallToolResponse_Executing{Executing: &registryv1.Executing{ExecutionId: "exe_1"}}},
			{Event: &registryv1.CallToolResponse_Progress{Progress: &registryv1.Progress{Progress: 1, Total: 2, Message: "half"}}},
		} {
			if err := stream.Send(m); err != nil {
				return err
			}
		}
		<-open
		return turntest.Complete(stream, &registryv1.Completed{Result: &turnv1.ToolResult{}})
	})
	c := steptest.Async(t.Context(), w.Runner, ref)
	if e := w.Next(sub); e.GetToolCallProgress().GetMessage() != "half" || e.GetDelta() != 0 || e.GetSeq() == 0 {
		t.Errorf("progress = %v", e)
	}
	for deadline := time.After(time.Minute); !strings.Contains(strings.Join(w.Kinds(), " "), "policy_decided tool_call_executing"); {
		select {
		case <-deadline:
			t.Fatalf("events so far: %v", w.Kinds())
		case <-time.After(5 * time.Millisecond):
		}
	}
	close(open)
	w.Wait(c)
	if n := strings.Count(strings.Join(w.Kinds(), " "), "tool_call_executing"); n != 1 {
		t.Errorf("executing was journaled %d times", n)
	}
}

func TestAnUnresolvedCallIsReported(t *testing.T) {
	w, ref := steptest.AtTool(t, "x__echo")
	w.Tool(func(_ *registryv1.CallToolRequest, stream grpc.ServerStreamingServer[registryv1.CallToolResponse]) error {
		return turntest.Complete(stream, &registryv1.Completed{
			Unresolved: true, ExecutionId: "exe_9", Code: "outcome_unknown", Result: &turnv1.ToolResult{},
		})
	})
	if out := w.Do(ref); !out.GetIsError() {
		t.Errorf("outcome = %v", out)
	}
	if events := strings.Join(w.Kinds(), " "); !strings.Contains(events, "tool_call_unresolved tool_call_completed") {
		t.Errorf("events = %s", events)
	}
}

func TestRegistryErrors(t *testing.T) {
	away := fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "away")
	t.Run("one that may pass is tried again with the same key", func(t *testing.T) {
		w, ref := steptest.AtTool(t, "x__echo")
		w.Fail("CallTool", away)
		if _, err := w.Runner.Do(t.Context(), in, ref); steptest.AsRetry(err) == nil || !w.Journal.Released(in.TurnID, ref.GetKey()) {
			t.Fatalf("err = %v", err)
		}
		w.Do(ref)
		if calls := w.Called(); len(calls) != 2 || calls[0].GetKey() != calls[1].GetKey() {
			t.Errorf("calls = %v", calls)
		}
	})
	t.Run("one that stays becomes a result", func(t *testing.T) {
		w, ref := steptest.AtTool(t, "x__echo")
		for range 10 {
			w.Fail("CallTool", away)
		}
		var rests []time.Duration
		for range 9 {
			if _, err := w.Runner.Do(t.Context(), in, ref); steptest.AsRetry(err) == nil {
				t.Fatalf("err = %v", err)
			}
			rests = append(rests, w.Journal.EndRest(in.TurnID, ref.GetKey()))
		}
		if got := fmt.Sprint(rests); got != "[200ms 400ms 800ms 1.6s 3.2s 5s 5s 5s 5s]" {
			t.Errorf("it rests %s", got)
		}
		if out := w.Do(ref); !out.GetIsError() || out.GetError() != nil || w.Result().GetCode() != "unavailable" {
			t.Errorf("outcome = %v, result = %v", out, w.Result())
		}
	})
	t.Run("a refusal becomes a result", func(t *testing.T) {
		w, ref := steptest.AtTool(t, "")
		out := w.Do(ref) // the registry refuses a call without a name
		if !out.GetIsError() || w.Result().GetCode() != "invalid_argument" {
			t.Errorf("outcome = %v, result = %v", out, w.Result())
		}
	})
	t.Run("a tool that the model made up is passed on unpinned", func(t *testing.T) {
		w, ref := steptest.AtTool(t, "x__nope")
		w.Do(ref)
		if got := w.Called()[0]; got.GetTool() != "x__nope" || got.GetDefinitionHash() != "" {
			t.Errorf("call = %v", got)
		}
	})
}

func TestCancelStopsACall(t *testing.T) {
	w, ref := steptest.AtTool(t, "x__echo")
	called := make(chan struct{})
	w.Tool(func(_ *registryv1.CallToolRequest, stream grpc.ServerStreamingServer[registryv1.CallToolResponse]) error {
		close(called)
		<-stream.Context().Done()
		return stream.Context().Err()
	})
	c := steptest.Async(t.Context(), w.Runner, ref)
	<-called
	w.Journal.Cancel(in.TurnID)
	got := w.Wait(c)
	if got.Err != nil || !got.Out.GetCancelled() || !got.Out.GetIsError() || w.Result().GetCode() != "cancelled" {
		t.Errorf("got %v, %v; result %v", got.Out, got.Err, w.Result())
	}
	if stopped, want := w.Stopped(), w.Called()[0].GetKey(); len(stopped) != 1 || stopped[0] != want {
		t.Errorf("the registry was told to stop %q, want %q", stopped, want)
	}
}

// A message on the bus has the worker ask whether the turn is cancelled. It does not cancel.
func TestACancelThatTheJournalDoesNotHaveStopsNothing(t *testing.T) {
	w, ref := steptest.AtTool(t, "x__echo")
	patient, err := runner.New(runner.Config{Owner: "worker-1", LeaseTTL: time.Minute}, w.Deps())
	if err != nil {
		t.Fatal(err)
	}
	called, asked := make(chan struct{}), make(chan struct{}, 8)
	w.Tool(func(_ *registryv1.CallToolRequest, stream grpc.ServerStreamingServer[registryv1.CallToolResponse]) error {
		close(called)
		select {
		case <-asked: // the lease is not renewed by itself for long
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
		return turntest.Echo(&registryv1.CallToolRequest{ArgumentsJson: `{}`}, stream)
	})
	w.Journal.OnRenew(func() { asked <- struct{}{} })
	c := steptest.Async(t.Context(), patient, ref)
	<-called
	if err := w.Bus.Publish(contract.CancelSubject(in.Tenant, in.SessionID), []byte(in.TurnID)); err != nil {
		t.Fatal(err)
	}
	if got := w.Wait(c); got.Err != nil || got.Out.GetCancelled() || got.Out.GetIsError() {
		t.Errorf("got %v, %v", got.Out, got.Err)
	}
}

func TestACancelledTurnRunsNoTool(t *testing.T) {
	w, ref := steptest.AtTool(t, "x__echo")
	w.Journal.Cancel(in.TurnID)
	if out := w.Do(ref); !out.GetCancelled() || len(w.Called()) != 0 || w.Result().GetCode() != "cancelled" {
		t.Errorf("outcome = %v, %d calls", out, len(w.Called()))
	}
}

func TestInvalidArgumentsReachTheRegistryAsTheyAre(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"*"}}, turntest.Tool("x__echo"))
	w.Model(brokenArguments)
	w.Do(w.UpTo(turnv1.StepKind_STEP_KIND_TOOL))
	if got := w.Called()[0].GetArgumentsJson(); got != `{"a":` {
		t.Errorf("arguments = %q", got)
	}
	for _, e := range w.Journal.Events(in.TurnID) {
		if s := e.GetToolCallStarted(); s != nil && s.GetArguments() != nil {
			t.Errorf("invalid arguments are shown as %v", s.GetArguments())
		}
	}
}

func brokenArguments(_ *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
	return turntest.End(stream, &inferencev1.Finished{
		FinishReason: "tool_calls", ToolCalls: []*turnv1.ToolCall{{CallId: "c", Tool: "x__echo", ArgumentsJson: `{"a":`}},
	})
}
