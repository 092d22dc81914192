package sessions_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

// TestStepsOfChoicesAndPlans: they are kept like others, their calls are model calls, and a plan is a message.
func TestStepsOfChoicesAndPlans(t *testing.T) {
	k := newKit(t, options{})
	turn := k.newTurn("first this, then that")
	w := k.worker(turn)
	w.begin()
	do := func(key string, kind turnv1.StepKind, fill func(*executionv1.CommitStepRequest)) *turnv1.StepOutcome {
		claim, err := k.exec.ClaimStep(t.Context(), &executionv1.ClaimStepRequest{
			TurnId: turn.GetId(), Step: &turnv1.StepRef{Key: key, Kind: kind, Title: key}, Owner: "w1", Ttl: durationpb.New(30 * time.Second),
		})
		must(t, err)
		return w.commit(key, claim.GetLease(), fill).GetOutcome()
	}
	chosen := do("select", turnv1.StepKind_STEP_KIND_SELECT, func(r *executionv1.CommitStepRequest) {
		r.Outcome.Strategy, r.Outcome.Usage = turnv1.Strategy_STRATEGY_PLAN, &turnv1.Usage{InputTokens: 7, ModelCalls: 1}
	})
	if chosen.GetStrategy() != turnv1.Strategy_STRATEGY_PLAN {
		t.Errorf("chosen = %v", chosen)
	}
	planned := do("plan-1", turnv1.StepKind_STEP_KIND_PLAN, func(r *executionv1.CommitStepRequest) {
		m := &turnv1.Message{Id: "msg_plan", Role: turnv1.Role_ROLE_ASSISTANT, Content: executiontest.Text("Plan: …")}
		r.Messages = []*turnv1.Message{m}
		r.Outcome.Plan, r.Outcome.MessageId, r.Outcome.Usage = []string{"this", "that"}, m.GetId(), &turnv1.Usage{InputTokens: 5, ModelCalls: 2}
		r.Events = []*turnv1.Event{
			{Data: &turnv1.Event_MessageCompleted{MessageCompleted: &turnv1.MessageCompleted{Message: m}}},
			{Data: &turnv1.Event_PlanUpdated{PlanUpdated: &turnv1.PlanUpdated{
				MessageId: m.GetId(),
				Steps:     []*turnv1.PlanStep{{Id: 1, Title: "this"}},
			}}},
		}
	})
	if fmt.Sprint(planned.GetPlan()) != "[this that]" || planned.GetMessageId() != "msg_plan" {
		t.Errorf("planned = %v", planned)
	}
	w.answer("infer-1", w.lease("infer-1"), &turnv1.Message{Content: executiontest.Text("done")}, 0)
	w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")
	done, err := k.turns.GetTurn(t.Context(), &sessionsv1.GetTurnRequest{TurnId: turn.GetId()})
	must(t, err)
	if u := done.GetUsage(); done.GetOutput() != "done" || u.GetModelCalls() != 4 || u.GetToolCalls() != 0 || u.GetInputTokens() != 22 {
		t.Errorf("ended: %v", done)
	}
	var types []string
	for _, e := range k.watchTurn(turn, "") {
		types = append(types, e.GetEvent().GetType())
	}
	want := "[turn.queued step.started turn.started step.finished step.started usage.updated step.finished " +
		"step.started message.completed plan.updated usage.updated step.finished " +
		"step.started message.started message.completed usage.updated step.finished step.started step.finished turn.completed]"
	if fmt.Sprint(types) != want {
		t.Errorf("events %v, want %v", types, want)
	}
}
