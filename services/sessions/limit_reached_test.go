package sessions_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testwant"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// TestALimitIsTold: a turn that a limit ended says so in the turn, in its terminal event and in words, and is completed.
func TestALimitIsTold(t *testing.T) {
	for _, row := range []struct {
		limit         *turnv1.LimitReached
		message, hint string
	}{
		{&turnv1.LimitReached{Limit: "max_steps", Value: 25, Scope: "turn"}, "it may take 25 model steps", "limits.max_steps"},
		{&turnv1.LimitReached{Limit: "max_tool_calls", Value: 9, Scope: "turn"}, "it may make 9 tool calls", "limits.max_tool_calls"},
		{&turnv1.LimitReached{Limit: "max_identical_calls", Value: 3, Scope: "turn"}, "3 times in a row", "limits.max_identical_calls of agent"},
		{&turnv1.LimitReached{Limit: "turn_seconds", Value: 1800, Scope: "turn"}, "1800 s", "limits.turn_seconds"},
		{&turnv1.LimitReached{Limit: "turn_seconds", Scope: "turn"}, "its time is up", "limits.turn_seconds"},
		{&turnv1.LimitReached{Limit: "max_output_tokens", Scope: "turn"}, "its window is full", "max_output_tokens of agent"},
		{&turnv1.LimitReached{Limit: "max_output_tokens", Value: 50, Scope: "turn"}, "may have 50 tokens", "max_output_tokens of agent"},
		{
			&turnv1.LimitReached{Limit: "max_tokens", Value: 700, Scope: "agent", BudgetId: "bgt_1"}, "by budget bgt_1 of the agent",
			"Raise max_tokens of budget bgt_1",
		},
		{&turnv1.LimitReached{Limit: "max_cost", Value: 250_000, Scope: "turn"}, "cost 0.25", "limits.max_cost"},
		{
			&turnv1.LimitReached{Limit: "max_tool_calls", Value: 3, Scope: "turn", BudgetId: "trn_above"},
			"it and the turn trn_above that it works for may together make 3 tool calls",
			"Raise limits.max_tool_calls of the request of turn trn_above",
		},
	} {
		t.Run(row.limit.GetLimit()+" "+row.limit.GetBudgetId(), func(t *testing.T) {
			k := newKit(t, options{})
			w := k.worker(k.newTurn("hello"))
			w.beginWith(&turnv1.Surface{})
			l := w.lease("finish")
			w.commit("finish", l, func(r *executionv1.CommitStepRequest) {
				r.Ending = &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, StopReason: "max_steps", LimitReached: row.limit}
			})
			turn, err := k.turns.GetTurn(t.Context(), &sessionsv1.GetTurnRequest{TurnId: w.turn.GetId()})
			must(t, err)
			got := turn.GetLimitReached()
			testwant.Equal(t, "the turn says: Code", got.GetCode(), "limit_reached")
			testwant.Equal(t, "the turn says: Limit", got.GetLimit(), row.limit.GetLimit())
			testwant.Equal(t, "the turn says: Value", got.GetValue(), row.limit.GetValue())
			testwant.Equal(t, "the turn says: Contains(got.Message, row.message)", strings.Contains(got.GetMessage(), row.message), true)
			testwant.Equal(t, "the turn says: Contains(got.Hint, row.hint)", strings.Contains(got.GetHint(), row.hint), true)
			if turn.GetStatus() != turnv1.TurnStatus_TURN_STATUS_COMPLETED || turn.GetError() != nil {
				t.Errorf("turn = %v", turn)
			}
			events := k.events(w.turn.GetSessionId(), "turn.completed")
			if len(events) != 1 || events[0].GetTurnEnded().GetLimitReached().GetCode() != "limit_reached" {
				t.Errorf("events %v", events)
			}
		})
	}
}
