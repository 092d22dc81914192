package sessions_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func (k *kit) analytics(as *policyv1.Principal) sessionsv1.SessionAnalyticsServiceClient {
	return sessionsv1.NewSessionAnalyticsServiceClient(rpctest.ServeAs(k.t, "sessions", k.svc.Register, rpctest.WithPrincipal(as)))
}

// TestUsageIsWhatStepsHaveUsed: it counts while a turn runs, and users without the permission for more see their own.
func TestUsageIsWhatStepsHaveUsed(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		w := k.worker(k.newTurn("hello"))
		w.begin()
		w.used("infer-1", w.lease("infer-1"), 30, 4, func(o *turnv1.StepOutcome) {
			o.Usage.CostMicros, o.ModelAttempts = 1200, []*turnv1.ModelAttempt{{Model: "a/down"}, {Model: "b/up"}}
			o.Calls = []*turnv1.ToolCallRef{{CallId: "c1", Tool: "notes__add"}}
		})
		w.commit("tool-1.0", w.lease("tool-1.0"), func(r *executionv1.CommitStepRequest) { r.Outcome.IsError = true })
		get := func(as *policyv1.Principal, group sessionsv1.UsageGroup) string {
			t.Helper()
			got, err := k.analytics(as).GetUsage(t.Context(), &sessionsv1.GetUsageRequest{GroupBy: group})
			must(t, err)
			var rows []string
			for _, u := range got.GetRows() {
				key := u.GetKey()
				if u.GetTime() != nil {
					key = "time"
				}
				rows = append(rows, fmt.Sprintf("%s %d %d/%d %d %d %d %d", key, u.GetTurns(), u.GetInputTokens(), u.GetOutputTokens(),
					u.GetCostMicros(), u.GetModelCalls(), u.GetToolCalls(), u.GetFailed()))
			}
			return strings.Join(rows, ", ")
		}
		for group, want := range map[sessionsv1.UsageGroup]string{
			sessionsv1.UsageGroup_USAGE_GROUP_UNSPECIFIED: "time 1 30/4 1200 1 1 0",
			sessionsv1.UsageGroup_USAGE_GROUP_HOUR:        "time 1 30/4 1200 1 1 0",
			sessionsv1.UsageGroup_USAGE_GROUP_AGENT:       "assistant 1 30/4 1200 1 1 0",
			sessionsv1.UsageGroup_USAGE_GROUP_MODEL:       "b/up 1 30/4 1200 1 0 0",
			sessionsv1.UsageGroup_USAGE_GROUP_USER:        "local 1 30/4 1200 1 1 0",
			sessionsv1.UsageGroup_USAGE_GROUP_TOOL:        "calc__add 1 0/0 0 0 1 1",
		} {
			if got := get(authn.Local(), group); got != want {
				t.Errorf("%s: %s, want %s", group, got, want)
			}
		}
		k.policy.deny("sessions.analytics.get")
		if got := get(authn.User("eve"), sessionsv1.UsageGroup_USAGE_GROUP_USER); got != "" {
			t.Errorf("another user sees %s", got)
		}
		if got := get(authn.Local(), sessionsv1.UsageGroup_USAGE_GROUP_USER); got != "local 1 30/4 1200 1 1 0" {
			t.Errorf("the user sees %s", got)
		}
	})
}

func TestPeriodsOfUsageAreBounded(t *testing.T) {
	k := newKit(t, options{})
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for name, req := range map[string]*sessionsv1.GetUsageRequest{
		"upside down": {Since: timestamppb.New(at), Until: timestamppb.New(at)},
		"too long":    {Since: timestamppb.New(at.AddDate(-2, 0, 0)), Until: timestamppb.New(at)},
		"too long by hour": {
			Since: timestamppb.New(at.AddDate(0, -2, 0)), Until: timestamppb.New(at), GroupBy: sessionsv1.UsageGroup_USAGE_GROUP_HOUR,
		},
		"no time": {Since: &timestamppb.Timestamp{Seconds: 1 << 60}},
	} {
		t.Log(name)
		_, err := k.analytics(authn.Local()).GetUsage(t.Context(), req)
		wantFault(t, err, "invalid_argument", "since")
	}
}

// TestBudgetsAreATree: a budget is below the one of the same period that limits its turns too, and what is reserved is not used.
func TestBudgetsAreATree(t *testing.T) {
	k := newKit(t, options{})
	w := k.worker(k.newTurn("hello"))
	add := func(scope, target, period string) string {
		b, err := k.budgets().CreateBudget(t.Context(), &sessionsv1.CreateBudgetRequest{
			Budget: &sessionsv1.Budget{Scope: scope, Target: target, Period: period, MaxTokens: 100000},
		})
		must(t, err)
		return b.GetId()
	}
	names := map[string]string{
		add("tenant", "", "day"): "tenant day", add("tenant", "", "month"): "tenant month", add("subject", "local", "month"): "local",
		add("session", w.turn.GetSessionId(), "day"): "session", add("agent", "assistant", "none"): "agent",
	}
	w.begin()
	w.lease("infer-1")
	got, err := k.budgets().GetBudgetTree(t.Context(), &sessionsv1.GetBudgetTreeRequest{})
	must(t, err)
	var render func(nodes []*sessionsv1.BudgetNode) string
	render = func(nodes []*sessionsv1.BudgetNode) string {
		var out []string
		for _, n := range nodes {
			if n.GetUsed().GetTokens() != 0 || n.GetReserved().GetTokens() == 0 ||
				n.GetRemaining().GetTokens() != 100000-n.GetReserved().GetTokens() {
				t.Errorf("%s: %v", names[n.GetBudget().GetId()], n)
			}
			out = append(out, names[n.GetBudget().GetId()]+render(n.GetChildren()))
		}
		if len(out) == 0 {
			return ""
		}
		return "(" + strings.Join(out, ", ") + ")"
	}
	if s := render(got.GetRoots()); s != "(tenant day(agent), tenant month(local(session)))" {
		t.Errorf("the tree is %s", s)
	}
}
