package infer_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

func TestDeltasAddUpToTheMessage(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
	sub := w.Transient()
	w.Model(turntest.Say("a", "b", "c", "d", "e"))
	w.Do(ref)
	done := w.Completed()
	var said strings.Builder
	for n := uint32(1); n <= done.GetDeltas(); n++ {
		e := w.Next(sub)
		if e.GetDelta() != n || e.GetType() != "message.delta" || e.GetAttempt() != 1 || e.GetSeq() == 0 || e.GetStep() != "infer-1" {
			t.Errorf("delta %d = %v", n, e)
		}
		if e.GetMessageDelta().GetMessageId() != done.GetMessage().GetId() {
			t.Errorf("delta %d belongs to %s", n, e.GetMessageDelta().GetMessageId())
		}
		said.WriteString(e.GetMessageDelta().GetText())
	}
	if said.String() != "abcde" || steptest.Text(done.GetMessage()) != "abcde" {
		t.Errorf("deltas say %q, the message %q", said.String(), steptest.Text(done.GetMessage()))
	}
	if done.GetFinishReason() != "stop" || done.GetUsage().GetInputTokens() != 10 || done.GetUsage().GetModelCalls() != 1 {
		t.Errorf("completed = %v", done)
	}
}

func TestAnAnswerKeepsWhatItsProviderWantsBackAndWarns(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
	w.Model(func(_ *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		return turntest.End(stream, &inferencev1.Finished{
			FinishReason: "stop", Text: "hi", Verbatim: &turnv1.Verbatim{Issuer: "x"}, Warnings: []string{"s__odd is not offered"},
		})
	})
	w.Do(ref)
	if done := w.Completed(); done.GetMessage().GetVerbatim().GetIssuer() != "x" || len(done.GetWarnings()) != 1 {
		t.Errorf("completed = %v", done)
	}
}

// TestACallThatNothingRunsIsNoAnswer: the agent has no tools, so that its strategy runs none.
func TestACallThatNothingRunsIsNoAnswer(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
	w.Model(func(_ *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		return turntest.End(stream, &inferencev1.Finished{
			FinishReason: "tool_calls", ToolCalls: []*turnv1.ToolCall{{CallId: "a", Tool: "x__echo", ArgumentsJson: `{}`}},
		})
	})
	if out := w.Do(ref); out.GetError().GetCode() != "model_stream_broken" || !strings.Contains(out.GetError().GetMessage(), "x__echo") {
		t.Errorf("outcome = %v", out)
	}
}

func TestReasoningAndArgumentsAreStreamedToo(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Tools: []string{"*"}}, turntest.Tool("x__echo"))
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
	sub := w.Transient()
	w.Model(func(_ *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		for _, m := range []*inferencev1.GenerateResponse{
			{Event: &inferencev1.GenerateResponse_ReasoningDelta{ReasoningDelta: "hm"}},
			{Event: &inferencev1.GenerateResponse_ToolCallDelta{ToolCallDelta: &inferencev1.ToolCallDelta{
				CallId: "bad id!", Tool: "x__echo", ArgumentsDelta: `{"a"`,
			}}},
			{Event: &inferencev1.GenerateResponse_ToolCallDelta{ToolCallDelta: &inferencev1.ToolCallDelta{ArgumentsDelta: `:1}`}}},
		} {
			if err := stream.Send(m); err != nil {
				return err
			}
		}
		return turntest.End(stream, &inferencev1.Finished{
			FinishReason: "tool_calls", Reasoning: "hm",
			ToolCalls: []*turnv1.ToolCall{{CallId: "bad id!", Tool: "x__echo", ArgumentsJson: `{"a":1}`}},
		})
	})
	out := w.Do(ref)
	if len(out.GetCalls()) != 1 || out.GetCalls()[0].GetCallId() != "call_1_0" || out.GetCalls()[0].GetTool() != "x__echo" {
		t.Fatalf("calls = %v", out.GetCalls())
	}
	if e := w.Next(sub); e.GetReasoningDelta().GetText() != "hm" {
		t.Errorf("first delta = %v", e)
	}
	arguments := ""
	for n := uint32(1); n < w.Completed().GetDeltas(); n++ {
		e := w.Next(sub).GetToolCallArgumentsDelta()
		if e.GetCallId() != "call_1_0" || e.GetTool() != "x__echo" {
			t.Errorf("arguments delta = %v", e)
		}
		arguments += e.GetText()
	}
	if arguments != `{"a":1}` {
		t.Errorf("arguments = %q", arguments)
	}
}

func TestModelErrors(t *testing.T) {
	limited := fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_RATE_LIMITED, "slow down").RetryAfter(1500 * time.Millisecond)
	for _, row := range []struct {
		name  string
		err   error
		code  string        // of the outcome, "" = to be tried again
		delay time.Duration // of the retry
	}{
		{name: "a refusal is final", err: fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, "wrong key"), code: "model_rejected"},
		{name: "a limit is waited for", err: limited, delay: 1500 * time.Millisecond},
		{name: "a model that is away", err: fault.Unavailable(faultv1.Reason_REASON_MODEL_UNAVAILABLE, "away")},
		{name: "a model that is silent", err: fault.New(codes.DeadlineExceeded, faultv1.Reason_REASON_DEADLINE_EXCEEDED, "silence")},
		{
			name: "a limit beyond the turn's deadline is final", code: "rate_limited",
			err: fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_RATE_LIMITED, "slow down").RetryAfter(time.Hour),
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := steptest.New(t, &sessionsv1.Agent{})
			ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
			w.Fail("Generate", row.err)
			out, err := w.Runner.Do(t.Context(), in, ref)
			if row.code != "" {
				if err != nil || out.GetError().GetCode() != row.code || out.GetError().GetMessage() == "" {
					t.Errorf("got %v, %v", out, err)
				}
				return
			}
			retry := steptest.AsRetry(err)
			if retry == nil || retry.Delay != row.delay || !w.Journal.Released(in.TurnID, ref.GetKey()) {
				t.Fatalf("got %v, %v", out, err)
			}
			if out := w.Do(ref); out.GetFinishReason() != "stop" {
				t.Errorf("the next attempt gave %v", out)
			}
		})
	}
}

func TestAttemptsAreBounded(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
	silent := fault.New(codes.DeadlineExceeded, faultv1.Reason_REASON_DEADLINE_EXCEEDED, "silence")
	w.Fail("Generate", silent, silent, silent, silent, silent)
	for range 4 {
		if _, err := w.Runner.Do(t.Context(), in, ref); steptest.AsRetry(err) == nil {
			t.Fatalf("err = %v", err)
		}
	}
	// The model's deadline is not the turn's: it must not end the turn as if the turn's time were up.
	if out := w.Do(ref); out.GetError().GetCode() != "unavailable" {
		t.Errorf("outcome = %v", out)
	}
}

func TestABrokenStreamIsTriedAgain(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
	w.Model(func(_ *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		return stream.Send(&inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_TextDelta{TextDelta: "half"}})
	})
	if _, err := w.Runner.Do(t.Context(), in, ref); fault.CodeOf(steptest.AsRetry(err)) != "model_stream_broken" {
		t.Fatalf("err = %v", err)
	}
	w.Model(turntest.Say("whole"))
	w.Do(ref)
	if got := steptest.Text(w.Completed().GetMessage()); got != "whole" {
		t.Errorf("message = %q", got)
	}
}

func TestCancelKeepsWhatWasSaid(t *testing.T) {
	for _, row := range []struct {
		name   string
		cancel func(w *steptest.World, stop context.CancelCauseFunc)
	}{
		{"by the journal", func(w *steptest.World, _ context.CancelCauseFunc) { w.Journal.Cancel(in.TurnID) }},
		{"by the workflow", func(_ *steptest.World, stop context.CancelCauseFunc) { stop(step.ErrCancelled) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := steptest.New(t, &sessionsv1.Agent{})
			ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
			sub := w.Transient()
			g := steptest.NewGate()
			w.Model(g.Generate("so ", "far"))
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			c := steptest.Async(ctx, w.Runner, ref)
			<-g.Asked
			for said := ""; said != "so far"; { // the runner has read it all
				said += w.Next(sub).GetMessageDelta().GetText()
			}
			row.cancel(w, stop)
			got := w.Wait(c)
			if got.Err != nil || !got.Out.GetCancelled() || got.Out.GetFinishReason() != "cancelled" || got.Out.GetError() != nil {
				t.Fatalf("got %v, %v", got.Out, got.Err)
			}
			if said := steptest.Text(w.Completed().GetMessage()); said != "so far" {
				t.Errorf("kept %q", said)
			}
		})
	}
}

func TestCancelBeforeAnythingWasSaid(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
	w.Journal.Cancel(in.TurnID)
	if out := w.Do(ref); !out.GetCancelled() || len(w.Asked()) != 0 || len(w.Journal.Messages(in.TurnID)) != 1 {
		t.Errorf("outcome = %v, %d model calls", out, len(w.Asked()))
	}
}

func TestTheDeadlineKeepsWhatWasSaid(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Limits: &sessionsv1.Limits{TurnSeconds: 1}})
	w.Prices(map[string]*turnv1.Price{turntest.ModelName: {OutputMicros: 1_000_000_000}})
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
	w.Model(steptest.NewGate().Generate("so far"))
	out := w.Do(ref)
	if cost := w.Completed().GetUsage().GetCostMicros(); cost == 0 || cost != out.GetUsage().GetCostMicros() {
		t.Errorf("cost %d, of the step %d", cost, out.GetUsage().GetCostMicros())
	}
	if out.GetError().GetCode() != "deadline_exceeded" || out.GetCancelled() {
		t.Errorf("outcome = %v", out)
	}
	if said := steptest.Text(w.Completed().GetMessage()); said != "so far" {
		t.Errorf("kept %q", said)
	}
}
