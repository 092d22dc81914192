package step_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

func TestWhatIsLeftOfAModelCall(t *testing.T) {
	now := time.Now()
	failed := func(ago time.Duration, cost int64) *turnv1.ModelAttempt {
		return &turnv1.ModelAttempt{
			Class: turnv1.AttemptClass_ATTEMPT_CLASS_SERVER, StartTime: timestamppb.New(now.Add(-ago)), Usage: &turnv1.Usage{CostMicros: cost},
		}
	}
	answered := &turnv1.ModelAttempt{Class: turnv1.AttemptClass_ATTEMPT_CLASS_ANSWERED, Usage: &turnv1.Usage{CostMicros: 1000}}
	for _, row := range []struct {
		name   string
		budget step.CallBudget
		made   []*turnv1.ModelAttempt
		left   bool
		time   time.Duration
	}{
		{name: "no limits", made: []*turnv1.ModelAttempt{failed(time.Hour, 10)}, left: true},
		{name: "attempts are left", budget: step.CallBudget{Attempts: 2}, made: []*turnv1.ModelAttempt{failed(0, 0)}, left: true},
		{name: "no attempt is left", budget: step.CallBudget{Attempts: 1}, made: []*turnv1.ModelAttempt{failed(0, 0)}},
		{name: "an answer ends the call", budget: step.CallBudget{Attempts: 1}, made: []*turnv1.ModelAttempt{failed(0, 0), answered}, left: true},
		{
			name: "the chain is called from its start after a conversation that was too long", budget: step.CallBudget{Attempts: 1}, left: true,
			made: []*turnv1.ModelAttempt{{Class: turnv1.AttemptClass_ATTEMPT_CLASS_CONTEXT}},
		},
		{name: "the whole time", budget: step.CallBudget{Time: time.Minute}, left: true, time: time.Minute},
		{
			name: "time is left", budget: step.CallBudget{Time: time.Minute}, made: []*turnv1.ModelAttempt{failed(20*time.Second, 0)}, left: true,
			time: 40 * time.Second,
		},
		{
			name: "no time is left", budget: step.CallBudget{Time: time.Minute}, made: []*turnv1.ModelAttempt{failed(time.Hour, 0)},
			time: time.Millisecond,
		},
		{name: "money is left", budget: step.CallBudget{Cost: 10}, made: []*turnv1.ModelAttempt{failed(0, 9)}, left: true},
		{name: "no money is left", budget: step.CallBudget{Cost: 10}, made: []*turnv1.ModelAttempt{failed(0, 5), failed(0, 5)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var a step.Attempts
			for _, m := range row.made {
				a.Add(m)
			}
			_, budget, left := row.budget.Left(&a, now)
			if left != row.left || budget.GetTime().AsDuration() != row.time {
				t.Errorf("left %v, %v", left, budget)
			}
		})
	}
}
