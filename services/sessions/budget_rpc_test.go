package sessions_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func TestBudgetsAreChecked(t *testing.T) {
	k := newKit(t, options{})
	for _, tt := range []struct {
		name, code string
		budget     *sessionsv1.Budget
		field      []string
	}{
		{name: "no scope", budget: &sessionsv1.Budget{MaxTokens: 1}, code: "invalid_argument", field: []string{"budget.scope"}},
		{
			name: "unknown scope", budget: &sessionsv1.Budget{Scope: "world", MaxTokens: 1}, code: "invalid_argument",
			field: []string{"budget.scope"},
		},
		{name: "no limit", budget: &sessionsv1.Budget{Scope: "tenant"}, code: "invalid_argument", field: []string{"budget"}},
		{name: "no target", budget: &sessionsv1.Budget{Scope: "agent", MaxTokens: 1}, code: "invalid_argument", field: []string{"budget.target"}},
		{
			name: "a target too many", budget: &sessionsv1.Budget{Scope: "tenant", Target: "x", MaxTokens: 1}, code: "invalid_argument",
			field: []string{"budget.target"},
		},
		{name: "no such session", budget: &sessionsv1.Budget{Scope: "session", Target: "ses_x", MaxTokens: 1}, code: "not_found"},
		{
			name: "a cost that is no number", budget: &sessionsv1.Budget{Scope: "tenant", MaxCost: "1e9"}, code: "invalid_argument",
			field: []string{"budget.max_cost"},
		},
		{
			name: "an unknown period", budget: &sessionsv1.Budget{Scope: "tenant", MaxTokens: 1, Period: "week"}, code: "invalid_argument",
			field: []string{"budget.period"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := k.budgets().CreateBudget(t.Context(), &sessionsv1.CreateBudgetRequest{Budget: tt.budget})
			wantFault(t, err, tt.code, tt.field...)
		})
	}
}

func TestABudgetIsChanged(t *testing.T) {
	k := newKit(t, options{})
	b := k.budget(&sessionsv1.Budget{Scope: "tenant", Period: "month", MaxTokens: 100, MaxCost: "2.50"})
	if b.GetWarnAt() != 80 || b.GetMaxCost() != "2.5" || b.GetPeriodStart().AsTime().Day() != 1 {
		t.Errorf("made %v", b)
	}
	change := func(to *sessionsv1.Budget, paths ...string) (*sessionsv1.Budget, error) {
		to.Id = b.GetId()
		req := &sessionsv1.UpdateBudgetRequest{Budget: to}
		if len(paths) > 0 {
			req.UpdateMask = &fieldmaskpb.FieldMask{Paths: paths}
		}
		return k.budgets().UpdateBudget(t.Context(), req)
	}
	now, err := change(&sessionsv1.Budget{MaxToolCalls: 7})
	must(t, err)
	if now.GetMaxToolCalls() != 7 || now.GetMaxTokens() != 100 {
		t.Errorf("changed to %v", now)
	}
	now, err = change(&sessionsv1.Budget{}, "max_tokens", "max_cost")
	must(t, err)
	if now.GetMaxTokens() != 0 || now.GetMaxCost() != "" || now.GetMaxToolCalls() != 7 {
		t.Errorf("cleared to %v", now)
	}
	_, err = change(&sessionsv1.Budget{}, "max_tool_calls")
	wantFault(t, err, "invalid_argument", "budget")
	_, err = change(&sessionsv1.Budget{Scope: "agent"})
	wantFault(t, err, "invalid_argument", "budget.scope")
	_, err = change(&sessionsv1.Budget{}, "nothing")
	wantFault(t, err, "invalid_argument", "update_mask")
	_, err = k.budgets().GetBudget(t.Context(), &sessionsv1.GetBudgetRequest{BudgetId: "bgt_none"})
	wantFault(t, err, "not_found")
	_, err = k.budgets().DeleteBudget(t.Context(), &sessionsv1.DeleteBudgetRequest{BudgetId: "bgt_none"})
	wantFault(t, err, "not_found")
}

func TestATurnLowersItsAgentsLimits(t *testing.T) {
	k := newKit(t, options{})
	_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{
		Id: "assistant", Limits: &sessionsv1.Limits{MaxSteps: 10, MaxCost: "0.50", MaxToolCalls: 8},
	}})
	must(t, err)
	ses := k.session().GetId()
	create := func(l *sessionsv1.Limits) (*sessionsv1.Turn, error) {
		return k.turns.CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{SessionId: ses, Input: "hello", Limits: l})
	}
	for field, l := range map[string]*sessionsv1.Limits{
		"limits.max_steps": {MaxSteps: 11}, "limits.max_cost": {MaxCost: "0.51"}, "limits.max_tool_calls": {MaxToolCalls: 9},
		"limits.turn_seconds": {TurnSeconds: 1801},
	} {
		_, err := create(l)
		wantFault(t, err, "invalid_argument", field)
	}
	_, err = create(&sessionsv1.Limits{MaxCost: "much"})
	wantFault(t, err, "invalid_argument", "limits.max_cost")
	turn, err := create(&sessionsv1.Limits{MaxSteps: 3, MaxTokens: 900, MaxCost: "0.10"})
	must(t, err)
	if turn.GetLimits().GetMaxSteps() != 3 || turn.GetLimits().GetMaxCost() != "0.1" {
		t.Errorf("turn %v", turn)
	}
	loaded, err := k.exec.LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: turn.GetId()})
	must(t, err)
	want := &sessionsv1.Limits{
		MaxSteps: 3, MaxTokens: 900, MaxCost: "0.1", MaxToolCalls: 8, MaxParallelTools: 16, MaxIdenticalCalls: 3, TurnSeconds: 1800,
	}
	if got := loaded.GetAgent().GetLimits(); !proto.Equal(got, want) {
		t.Errorf("limits %v, want %v", got, want)
	}
}
