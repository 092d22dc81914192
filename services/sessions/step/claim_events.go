package step

import (
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// claimEvents tells of a claim, of a step whose model calls were attempted so far as made says. The event that deltas hang on comes last.
func claimEvents(step store.Step, previous string, c Claim, made []*turnv1.ModelAttempt) []*turnv1.Event {
	var events []*turnv1.Event
	add := func(e *turnv1.Event) { events = append(events, e) }
	first := step.Attempt == 1
	if !first && previous != "" && previous != step.Owner { // "" = it was given back
		add(&turnv1.Event{Data: &turnv1.Event_TurnRecovered{TurnRecovered: &turnv1.TurnRecovered{PreviousOwner: previous, Owner: step.Owner}}})
	}
	if first {
		add(&turnv1.Event{Data: &turnv1.Event_StepStarted{StepStarted: &turnv1.StepStarted{
			Kind: stepkey.KindName(step.Kind), Title: c.Step.GetTitle(),
		}}})
	}
	switch step.Kind {
	case turnv1.StepKind_STEP_KIND_TOOL:
		if first && c.ToolCall != nil && c.Step.GetRound() <= 1 {
			add(&turnv1.Event{Data: &turnv1.Event_ToolCallStarted{ToolCallStarted: c.ToolCall}})
		}
	case turnv1.StepKind_STEP_KIND_INFER:
		if first {
			add(&turnv1.Event{Data: &turnv1.Event_MessageStarted{MessageStarted: &turnv1.MessageStarted{MessageId: step.MessageID, Model: c.Model}}})
			break
		}
		reason := "the step was given back"
		switch n := len(made); {
		case previous != "":
			reason = "worker lost"
		case n > 0 && made[n-1].GetClass() != turnv1.AttemptClass_ATTEMPT_CLASS_ANSWERED:
			reason = made[n-1].GetModel() + ": " + made[n-1].GetMessage()
		}
		add(&turnv1.Event{Data: &turnv1.Event_MessageReset{MessageReset: &turnv1.MessageReset{MessageId: step.MessageID, Reason: reason}}})
	}
	return events
}
