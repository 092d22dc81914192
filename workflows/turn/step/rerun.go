package step

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// codeNotRecorded is the code of a call in a re-run that has no recorded result.
const codeNotRecorded = "not_recorded"

// recorded ends a call of a re-run with the result that the same call had in the turn that is run again, or with an error for the model when
// there is none. It gives the zero value for a call that shall be run all the same.
func (t tool) recorded(ctx context.Context, w *work) (round, error) {
	got, err := t.deps.Sessions.GetRecording(ctx, &sessionsv1.GetRecordingRequest{
		TurnId: w.turn.TurnID, MessageId: w.ref.GetCall().GetMessageId(), CallId: w.call.GetCallId(),
	})
	if err != nil {
		return round{}, fmt.Errorf("read recording: %w", err)
	}
	if result := got.GetResult(); result != nil {
		c := &registryv1.Completed{Result: result}
		if result.GetIsError() {
			c.Code = "tool_error"
		}
		return round{completed: c, recorded: true}, nil
	}
	if live, err := t.mayRun(ctx, w); err != nil || live {
		return round{}, err
	}
	return round{completed: refused(w, codeNotRecorded,
		"The call was not run: this turn runs an earlier one again with the results recorded then, and there is none for this call.")}, nil
}

// mayRun tells whether a call without a recording is run: reading what the session itself keeps, and what the re-run leaves free.
func (t tool) mayRun(ctx context.Context, w *work) (bool, error) {
	switch {
	case w.call.GetTool() == contract.ReadArtifact:
		return true, nil
	case w.loaded.GetRerun().GetMissing() != contract.MissingLiveRead:
		return false, nil
	}
	for _, p := range w.loaded.GetTools() {
		if p.GetName() == w.call.GetTool() {
			if err := t.fetchDefinitions(ctx, []*sessionsv1.PinnedTool{p}); err != nil {
				return false, err
			}
		}
	}
	return w.effect() == turnv1.EffectClass_EFFECT_CLASS_READ, nil
}

// resume has a re-run go on as the turn that it runs again: nothing is chosen or planned that was chosen or planned before its first step.
func resume(r *turnv1.TurnRerun, surface *turnv1.Surface, strategy turnv1.Strategy, reason string) (turnv1.Strategy, string) {
	if r.GetStrategy() == turnv1.Strategy_STRATEGY_UNSPECIFIED {
		return strategy, reason
	}
	if plan := r.GetPlan(); plan != nil {
		surface.ResumedPlan = &turnv1.PlanRef{MessageId: plan.GetMessageId(), Steps: plan.GetSteps()}
		surface.ResumedPlans = r.GetPlans()
	}
	return r.GetStrategy(), "the turn that is run again thought so"
}

// resumedPlan tells watchers of the plan that a re-run goes on with.
func resumedPlan(r *turnv1.TurnRerun) []*turnv1.Event {
	if r.GetPlan() == nil {
		return nil
	}
	return []*turnv1.Event{{Data: &turnv1.Event_PlanUpdated{PlanUpdated: r.GetPlan()}}}
}

// adopted gives a re-run what it took over as its own: what stands behind its request. It is still named after the turn that is run again, so that its
// calls are told from the new ones. Other turns have nothing there that is not theirs.
func adopted(messages []*turnv1.Message, turnID string) []*turnv1.Message {
	var out []*turnv1.Message
	began := false
	for i, m := range messages {
		foreign := began && m.GetTurnId() != turnID && m.GetTurnId() != ""
		began = began || m.GetTurnId() == turnID
		if foreign && out == nil {
			out = slices.Clone(messages)
		}
		if foreign {
			m = proto.CloneOf(m)
			m.TurnId, out[i] = turnID, m
		}
	}
	if out == nil {
		return messages
	}
	return out
}

// fromRecord marks the result of a commit as recorded.
func fromRecord(req *sessionsv1.CommitStepRequest) *sessionsv1.CommitStepRequest {
	for _, e := range req.GetEvents() {
		if c := e.GetToolCallCompleted(); c != nil {
			c.Recorded = true
		}
	}
	return req
}
