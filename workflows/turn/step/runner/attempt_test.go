package runner_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// broken streams words, and says that the attempt broke off.
func broken(retry time.Duration) turntest.Generate {
	return func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		failed := &turnv1.ModelAttempt{
			Model: turntest.ModelName, Class: turnv1.AttemptClass_ATTEMPT_CLASS_BROKEN_STREAM, Message: "it broke off",
			Usage: &turnv1.Usage{InputTokens: 100, OutputTokens: 7, ModelCalls: 1},
		}
		for _, m := range []*inferencev1.GenerateResponse{
			{Event: &inferencev1.GenerateResponse_TextDelta{TextDelta: "half of "}}, {Event: &inferencev1.GenerateResponse_Attempt{Attempt: failed}},
		} {
			if err := stream.Send(m); err != nil {
				return err
			}
		}
		return fault.Unavailable(faultv1.Reason_REASON_MODEL_UNAVAILABLE, "no model answered").RetryAfter(retry)
	}
}

func TestAnAnswerThatBrokeOffContinuesWithTheRestOfTheChain(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Fallbacks: []string{"other/model"}})
	calls := 0
	w.Model(func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		if calls++; calls == 1 {
			return broken(time.Millisecond)(req, stream)
		}
		return stream.Send(&inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_Finished{Finished: &inferencev1.Finished{
			FinishReason: "stop", Text: "all", Model: "other/model", Usage: &turnv1.Usage{InputTokens: 50, OutputTokens: 3},
		}}})
	})
	w.Advance()
	asked := w.Asked()
	if len(asked) != 2 || len(asked[1].GetAttempts()) != 1 || !slices.Equal(asked[0].GetFallbacks(), []string{"other/model"}) {
		t.Fatalf("asked %v", asked)
	}
	if kinds := w.Kinds(); !slices.Contains(kinds, "message_reset") {
		t.Errorf("events %v", kinds)
	}
	out := w.Outcome("infer-1")
	made, used := out.GetModelAttempts(), out.GetUsage()
	if len(made) != 2 || made[1].GetClass() != turnv1.AttemptClass_ATTEMPT_CLASS_ANSWERED || made[1].GetModel() != "other/model" {
		t.Errorf("attempts %v", made)
	}
	if used.GetInputTokens() != 150 || used.GetOutputTokens() != 10 || used.GetModelCalls() != 2 {
		t.Errorf("usage %v", used)
	}
	if m := w.Completed().GetMessage(); steptest.Text(m) != "all" || m.GetModel() != "other/model" {
		t.Errorf("message %v", m)
	}
}

// TestTheEventsOfAnswersHaveTheirCost, each by the price of the model that answered, and steps have that of all attempts.
func TestTheEventsOfAnswersHaveTheirCost(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{
		Fallbacks: []string{"other/model"}, Strategy: turnv1.Strategy_STRATEGY_PLAN, Tools: []string{"*"},
	}, turntest.Tool("x__echo"))
	w.Prices(map[string]*turnv1.Price{
		turntest.ModelName: {InputMicros: 1_000_000, OutputMicros: 1_000_000}, "other/model": {InputMicros: 3_000_000, OutputMicros: 5_000_000},
	})
	w.Model(func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
		if len(req.GetAttempts()) == 0 {
			return broken(time.Millisecond)(req, stream)
		}
		text := "all"
		if strings.Contains(req.GetInstructions(), contract.MarkPlan) {
			text = `{"steps":[{"title":"A","goal":"do a"}]}`
		}
		return stream.Send(&inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_Finished{Finished: &inferencev1.Finished{
			FinishReason: "stop", Text: text, Model: "other/model", Usage: &turnv1.Usage{InputTokens: 50, OutputTokens: 3},
		}}})
	})
	w.Advance()
	said := 0
	for _, e := range w.Journal.Events(in.TurnID) {
		m := e.GetMessageCompleted()
		if m.GetMessage().GetRole() != turnv1.Role_ROLE_ASSISTANT {
			continue
		}
		said++
		if m.GetMessage().GetModel() != "other/model" || m.GetUsage().GetCostMicros() != 50*3+3*5 {
			t.Errorf("message of %q by %s: usage %v", steptest.Text(m.GetMessage()), m.GetMessage().GetModel(), m.GetUsage())
		}
	}
	for _, key := range []string{"plan-1", "infer-1"} {
		if cost := w.Outcome(key).GetUsage().GetCostMicros(); cost != 107+165 {
			t.Errorf("%s cost %d", key, cost)
		}
	}
	if said < 2 {
		t.Errorf("%d messages", said)
	}
}

func TestAttemptsAreCountedOverWorkers(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{})
	w.Model(broken(time.Minute)) // after which any worker continues
	ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
	for n := 1; n < 5; n++ {
		if _, err := w.Another("worker").Do(t.Context(), in, ref); steptest.AsRetry(err) == nil {
			t.Fatalf("attempt %d: %v", n, err)
		}
		w.Journal.EndRest(in.TurnID, ref.GetKey())
	}
	out, err := w.Another("worker").Do(t.Context(), in, ref)
	if err != nil || out.GetError() == nil || len(out.GetModelAttempts()) != 5 || out.GetUsage().GetInputTokens() != 500 {
		t.Errorf("%v, %v", out, err)
	}
	for n, req := range w.Asked() {
		if len(req.GetAttempts()) != n || req.GetBudget().GetAttempts() != 5 {
			t.Errorf("call %d: %d attempts, budget %v", n, len(req.GetAttempts()), req.GetBudget())
		}
	}
}
