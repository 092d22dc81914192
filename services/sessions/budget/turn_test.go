package budget_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/testmain"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/budget"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/step"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/budgetdb"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func newKit(t *testing.T) *sessionstest.Kit { return sessionstest.New(t, sessionstest.Config{}) }

func create(k *sessionstest.Kit, spec budget.Spec) budgetdb.Budget {
	k.Helper()
	b, err := k.Budgets.Create(k.Ctx(), spec)
	k.Must(err)
	return b
}

func read(k *sessionstest.Kit, id string) budgetdb.Budget {
	k.Helper()
	b, err := k.Budgets.Get(k.Ctx(), id)
	k.Must(err)
	return b
}

// begun accepts a turn and pins it to a surface.
func begun(k *sessionstest.Kit, surface *turnv1.Surface) store.Turn {
	k.Helper()
	t := k.NewTurn("hello")
	k.Begin(t, surface)
	return k.Read(t.ID)
}

// used has a model step done that used so many tokens.
func used(k *sessionstest.Kit, t store.Turn, key string, input, output int32) {
	k.Helper()
	k.Commit(t, key, func(c *step.Commit) {
		c.Outcome.Usage = &turnv1.Usage{InputTokens: input, OutputTokens: output, ModelCalls: 1}
	})
}

// exhausted returns the limit that leaves no room for a step.
func exhausted(k *sessionstest.Kit, t store.Turn, key string) *turnv1.LimitUse {
	k.Helper()
	got, err := k.Steps.Claim(k.Worker(), sessionstest.ClaimOf(t, key, "w1"))
	k.Must(err)
	if got.Done.GetExhausted() == nil {
		k.Fatalf("the claim of %s got %+v, want it exhausted", key, got)
	}
	return got.Done.GetExhausted()
}

func TestWhatIsNoBudgetIsRefused(t *testing.T) {
	k := newKit(t)
	tokens := budgetdb.Amount{Tokens: 1}
	for _, row := range []struct {
		name   string
		spec   budget.Spec
		reason faultv1.Reason
		fields []string
	}{
		{"no scope", budget.Spec{Max: tokens}, faultv1.Reason_REASON_INVALID_ARGUMENT, []string{"budget.scope"}},
		{"no limit", budget.Spec{Scope: budgetdb.ScopeTenant}, faultv1.Reason_REASON_INVALID_ARGUMENT, []string{"budget"}},
		{
			"neither scope nor limit", budget.Spec{}, faultv1.Reason_REASON_INVALID_ARGUMENT, []string{"budget", "budget.scope"},
		},
		{
			"a tenant with a target",
			budget.Spec{Scope: budgetdb.ScopeTenant, Target: "x", Max: tokens},
			faultv1.Reason_REASON_INVALID_ARGUMENT,
			[]string{"budget.target"},
		},
		{
			"an agent without a name",
			budget.Spec{Scope: budgetdb.ScopeAgent, Max: tokens},
			faultv1.Reason_REASON_INVALID_ARGUMENT,
			[]string{"budget.target"},
		},
		{
			"an agent that does not exist",
			budget.Spec{Scope: budgetdb.ScopeAgent, Target: "nobody", Max: tokens},
			faultv1.Reason_REASON_INVALID_ARGUMENT,
			[]string{"budget.target"},
		},
		{
			"a name that cannot be stored",
			budget.Spec{Scope: budgetdb.ScopeSubject, Target: "a\x00", Max: tokens},
			faultv1.Reason_REASON_INVALID_ARGUMENT,
			[]string{"budget.target"},
		},
		{
			"a session that does not exist",
			budget.Spec{Scope: budgetdb.ScopeSession, Target: "ses_none", Max: tokens},
			faultv1.Reason_REASON_NOT_FOUND, nil,
		},
	} {
		_, err := k.Budgets.Create(k.Ctx(), row.spec)
		t.Run(row.name, func(t *testing.T) {
			(&sessionstest.Kit{TB: t}).WantFault(err, row.reason, row.fields...)
		})
	}
	if rows, err := k.Budgets.List(k.Ctx(), "", 10); err != nil || len(rows) != 0 {
		t.Errorf("stored %v, %v", rows, err)
	}
}

func TestABudgetIsOfTheTurnsInItsScope(t *testing.T) {
	for _, row := range []struct {
		name   string
		scope  budgetdb.BudgetScope
		target func(own store.Turn) string
		counts bool
	}{
		{"the tenant", budgetdb.ScopeTenant, func(store.Turn) string { return "" }, true},
		{"its subject", budgetdb.ScopeSubject, func(own store.Turn) string { return own.Subject }, true},
		{"another subject", budgetdb.ScopeSubject, func(store.Turn) string { return "nobody" }, false},
		{"its session", budgetdb.ScopeSession, func(own store.Turn) string { return own.SessionID }, true},
		{"its agent", budgetdb.ScopeAgent, func(own store.Turn) string { return own.AgentID }, true},
		{"another agent", budgetdb.ScopeAgent, func(store.Turn) string { return "other" }, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := newKit(t)
			k.Agent("other", agentspec.Spec{})
			own := k.NewTurn("hello")
			b := create(k, budget.Spec{Scope: row.scope, Target: row.target(own), Max: budgetdb.Amount{Tokens: 1000}})
			next := k.Turn(k.ReadSession(own.SessionID), "more")
			k.Begin(own, &turnv1.Surface{})
			k.Finish(own)
			k.Begin(next, &turnv1.Surface{MaxOutputTokens: 100})
			used(k, next, "infer-1", 20, 10)
			if got := read(k, b.ID).Used.Tokens; (got == 30) != row.counts {
				t.Errorf("it counts %d tokens", got)
			}
		})
	}
}

func TestAStepThatDoesNotFitIsDoneAtOnce(t *testing.T) {
	k := newKit(t)
	k.Agent(sessionstest.Assistant, agentspec.Spec{})
	b := create(k, budget.Spec{Scope: budgetdb.ScopeAgent, Target: sessionstest.Assistant, Max: budgetdb.Amount{Tokens: 400}})
	own := begun(k, &turnv1.Surface{MaxOutputTokens: 100})
	used(k, own, "infer-1", 300, 40)
	want := &turnv1.LimitUse{Scope: "agent", BudgetId: b.ID, What: "tokens", Limit: 400, Used: 340}
	for range 2 {
		if over := exhausted(k, own, "infer-2"); !proto.Equal(over, want) {
			t.Errorf("exhausted %v, want %v", over, want)
		}
	}
	events := slices.DeleteFunc(k.Events(own.SessionID), func(e *turnv1.Event) bool { return e.GetBudgetExhausted() == nil })
	if len(events) != 1 || events[0].GetStep() != "infer-2" || !proto.Equal(events[0].GetBudgetExhausted().GetUse(), want) {
		t.Errorf("the events are %v", events)
	}
	k.Finish(own)
	k.Must(k.Budgets.Delete(k.Ctx(), b.ID))
	free := begun(k, &turnv1.Surface{})
	if l := k.Lease(free, "infer-1"); l.MaxOutputTokens != 0 {
		t.Errorf("without a budget it may write %d tokens only", l.MaxOutputTokens)
	}
}

func TestAnAnswerEndsWhereTheBudgetEnds(t *testing.T) {
	k := newKit(t)
	b := create(k, budget.Spec{Scope: budgetdb.ScopeTenant, Max: budgetdb.Amount{Tokens: 300}})
	own := begun(k, &turnv1.Surface{})
	l := k.Lease(own, "infer-1") // the kit's 300 would not fit beside the prompt
	if l.MaxOutputTokens < 200 || l.MaxOutputTokens >= 300 {
		t.Fatalf("may write %d tokens", l.MaxOutputTokens)
	}
	claim := sessionstest.ClaimOf(own, "finish", "w1")
	got, err := k.Steps.Commit(k.Worker(), step.Commit{
		TurnID: own.ID, Fence: l.Fence, Outcome: &turnv1.StepOutcome{
			Key: "infer-1", FinishReason: "length", Usage: &turnv1.Usage{InputTokens: 10, OutputTokens: l.MaxOutputTokens, ModelCalls: 1},
		},
		Then: &step.Commit{TurnID: own.ID, Outcome: &turnv1.StepOutcome{Key: "finish"}, Ending: sessionstest.Completed(), Claim: &claim},
	})
	k.Must(err)
	if got.Then != nil || got.Outcome.GetExhausted().GetBudgetId() != b.ID {
		t.Errorf("committed %+v", got)
	}
	types := slices.DeleteFunc(k.Types(own.SessionID), func(s string) bool { return !strings.HasPrefix(s, "budget.") })
	if !slices.Equal(types, []string{"budget.exhausted"}) {
		t.Errorf("the events of budgets are %q", types)
	}
}

func TestATurnsEndFreesWhatItHolds(t *testing.T) {
	k := newKit(t)
	b := create(k, budget.Spec{Scope: budgetdb.ScopeTenant, Max: budgetdb.Amount{Tokens: 100_000, Calls: 5}})
	own := begun(k, &turnv1.Surface{MaxTokens: 50_000, MaxToolCalls: 2})
	used(k, own, "infer-1", 10, 10)
	k.Lease(own, "tool-1.0")
	k.Lease(own, "tool-1.1")
	if over := exhausted(k, own, "tool-1.2"); over.GetScope() != "turn" || over.GetWhat() != "tool_calls" || over.GetLimit() != 2 {
		t.Errorf("exhausted %v", over)
	}
	if now := read(k, b.ID); now.Reserved.Calls != 2 {
		t.Errorf("while they run the budget is %+v", now)
	}
	k.Finish(own)
	if now := read(k, b.ID); now.Reserved != (budgetdb.Amount{}) || now.Used != (budgetdb.Amount{Tokens: 20, Calls: 2}) {
		t.Errorf("after the end the budget is %+v", now)
	}
	rows, err := k.Budgets.List(k.Ctx(), "", 10)
	k.Must(err)
	if len(rows) != 1 {
		t.Errorf("the turn's own limits are still there, or listed: %+v", rows)
	}
}

// The calls of one answer run side by side: the first one leaves no room for the second before it has ended.
func TestAWarningPrecedesTheEndOfABudget(t *testing.T) {
	k := newKit(t)
	b := create(k, budget.Spec{Scope: budgetdb.ScopeTenant, Max: budgetdb.Amount{Calls: 1}})
	own := begun(k, &turnv1.Surface{})
	k.Lease(own, "tool-1.0")
	exhausted(k, own, "tool-1.1")
	k.Finish(own)
	types := slices.DeleteFunc(k.Types(own.SessionID), func(s string) bool { return !strings.HasPrefix(s, "budget.") })
	if !slices.Equal(types, []string{"budget.warning", "budget.exhausted"}) {
		t.Errorf("the events of budgets are %q", types)
	}
	if now := read(k, b.ID); now.Used.Calls != 1 || now.Reserved.Calls != 0 {
		t.Errorf("the budget is %+v", now)
	}
}

// A turn that is cancelled while a person is to say what became of its call has made that call.
func TestACancelledTurnHasMadeItsUnknownCall(t *testing.T) {
	k := newKit(t)
	b := create(k, budget.Spec{Scope: budgetdb.ScopeTenant, Max: budgetdb.Amount{Calls: 3}})
	own := begun(k, &turnv1.Surface{})
	k.Commit(own, "tool-1.0", func(c *step.Commit) {
		c.Wait = &store.WaitRequest{Kind: turnv1.WaitKind_WAIT_KIND_RESOLUTION, CallId: "c1", Tool: "bank__pay", ExecutionId: "exe_1"}
		c.Outcome.Usage = &turnv1.Usage{ToolCalls: 1}
	})
	k.Must(k.Turns.Cancel(k.Ctx(), k.Read(own.ID), "enough"))
	k.Finish(k.Read(own.ID))
	if now := read(k, b.ID); now.Used.Calls != 1 || now.Reserved.Calls != 0 {
		t.Errorf("the budget is %+v", now)
	}
}
