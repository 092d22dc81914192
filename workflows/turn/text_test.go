package turn

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// journal is a doer over a journal with the given outcomes.
type journal struct {
	doer
	outcomes []*turnv1.StepOutcome
}

func (j journal) Outcomes(context.Context, contract.TurnInput) (*executionv1.GetOutcomesResponse, error) {
	return &executionv1.GetOutcomesResponse{Outcomes: j.outcomes, CurrentTime: timestamppb.Now()}, nil
}

// planning is what a planned turn has come to after its plan.
func planning() []*turnv1.StepOutcome {
	return []*turnv1.StepOutcome{
		{Key: "begin", Kind: turnv1.StepKind_STEP_KIND_BEGIN, Surface: &turnv1.Surface{
			Strategy: turnv1.Strategy_STRATEGY_PLAN, MaxSteps: 8, DeadlineMicros: time.Now().Add(time.Hour).UnixMicro(),
		}},
		{Key: "plan-1", Kind: turnv1.StepKind_STEP_KIND_PLAN, Plan: []string{"secret one", "secret two"}, MessageId: "msg_1"},
	}
}

func blank(in []*turnv1.StepOutcome) (out []*turnv1.StepOutcome) {
	for _, o := range in {
		out = append(out, withoutText(o))
	}
	return out
}

// TestAStepGetsTheTextThatHistoryLacks: the workflow decides by outcomes without text, and its activity reads the text in the journal.
func TestAStepGetsTheTextThatHistoryLacks(t *testing.T) {
	full := planning()
	ref := engine.Next(engine.State{Outcomes: blank(full), Now: time.Now()}).Steps[0]
	if ref.GetPlan().GetSteps()[0].GetTitle() != "" || len(ref.GetPlan().GetSteps()) != 2 {
		t.Fatalf("decided %v", ref)
	}
	a := &Activities{steps: journal{outcomes: full}}
	got, err := a.withText(t.Context(), input, ref)
	if want := engine.Next(engine.State{Outcomes: full, Now: time.Now()}).Steps[0]; err != nil || !proto.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if ref.GetPlan().GetSteps()[0].GetTitle() != "" {
		t.Error("the step of the workflow was changed")
	}

	further := append(full, &turnv1.StepOutcome{Key: "infer-1", Kind: turnv1.StepKind_STEP_KIND_INFER, FinishReason: "stop"})
	if _, err := (&Activities{steps: journal{outcomes: further}}).withText(t.Context(), input, ref); !errors.Is(err, step.ErrStale) {
		t.Errorf("a step that is done already: %v", err)
	}
}

// TestTheEndGetsTheMessageThatHistoryLacks: the user reads why the turn failed, though Temporal does not know.
func TestTheEndGetsTheMessageThatHistoryLacks(t *testing.T) {
	full := planning()
	full[1] = &turnv1.StepOutcome{
		Key: "plan-1", Kind: turnv1.StepKind_STEP_KIND_PLAN, Error: &turnv1.TurnError{Code: "model_rejected", Message: "secret"},
	}
	ref := engine.Next(engine.State{Outcomes: blank(full), Now: time.Now()}).Steps[0]
	if e := ref.GetEnding().GetError(); e.GetCode() != "model_rejected" || e.GetMessage() != "" {
		t.Fatalf("decided %v", ref)
	}
	got, err := (&Activities{steps: journal{outcomes: full}}).withText(t.Context(), input, ref)
	if err != nil || got.GetEnding().GetError().GetMessage() != "secret" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestWithoutText(t *testing.T) {
	plain := &turnv1.StepOutcome{Key: "infer-1", FinishReason: "stop"}
	if withoutText(plain) != plain {
		t.Error("an outcome without text was copied")
	}
	rerun := &turnv1.StepOutcome{Surface: &turnv1.Surface{ResumedPlan: &turnv1.PlanRef{Steps: []*turnv1.PlanStep{{Id: 1, Title: "secret"}}}}}
	if got := withoutText(rerun).GetSurface().GetResumedPlan().GetSteps(); len(got) != 1 || got[0].GetId() != 1 || got[0].GetTitle() != "" {
		t.Errorf("steps of a plan that is resumed: %v", got)
	}
	if rerun.GetSurface().GetResumedPlan().GetSteps()[0].GetTitle() == "" {
		t.Error("the outcome itself was changed")
	}
}
