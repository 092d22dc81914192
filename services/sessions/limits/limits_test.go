package limits_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/money"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/limits"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// all draws limits, many of which are not set.
var all = rapid.Custom(func(t *rapid.T) limits.Limits {
	n := func(name string) uint32 { return rapid.Uint32Range(0, 5).Draw(t, name) }
	return limits.Limits{
		MaxSteps: n("steps"), MaxTokens: int32(n("tokens")), MaxParallelTools: n("parallel"), MaxIdenticalCalls: n("identical"),
		TurnSeconds: n("seconds"), MaxToolCalls: n("calls"), MaxCost: money.Micros(n("cost")),
	}
})

// fields returns limits as numbers, by the name of their field in Go.
func fields(l limits.Limits) map[string]int64 {
	out := map[string]int64{}
	v := reflect.ValueOf(l)
	for i := range v.NumField() {
		name, field := v.Type().Field(i).Name, v.Field(i)
		if field.CanUint() {
			out[name] = int64(field.Uint())
		} else {
			out[name] = field.Int()
		}
	}
	return out
}

func TestALoweredLimitIsTheLowerOneThatIsSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := all.Draw(t, "a"), all.Draw(t, "b")
		fa, fb := fields(a), fields(b)
		for name, got := range fields(a.Lowered(b)) {
			want := min(fa[name], fb[name])
			if want == 0 {
				want = max(fa[name], fb[name])
			}
			if got != want {
				t.Fatalf("%s of %d lowered by %d is %d", name, fa[name], fb[name], got)
			}
		}
	})
}

func TestLoweringDoesNotDependOnTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := all.Draw(t, "a"), all.Draw(t, "b"), all.Draw(t, "c")
		low := a.Lowered(b)
		switch {
		case low != b.Lowered(a):
			t.Fatal("it matters which one comes first")
		case low != low.Lowered(a), low != low.Lowered(b), low != low.Lowered(low):
			t.Fatal("it lowers again what is lowered already")
		case low.Lowered(c) != a.Lowered(b.Lowered(c)):
			t.Fatal("it matters which two come first")
		case a.Lowered(limits.Limits{}) != a:
			t.Fatal("no limits changed some")
		}
	})
}

func TestLoweredLimitsAreWithinBoth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := all.Draw(t, "a"), all.Draw(t, "b")
		for _, most := range []limits.Limits{a, b} {
			if over, ok := a.Lowered(b).Within(most); !ok {
				t.Fatalf("%+v is above %+v in %s", a.Lowered(b), most, over.Name)
			}
		}
	})
}

func TestADefaultStandsWhereNothingIsSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, d := all.Draw(t, "limits"), all.Draw(t, "default")
		fl, fd := fields(l), fields(d)
		for name, got := range fields(l.Or(d)) {
			if want := fl[name]; want != 0 && got != want || want == 0 && got != fd[name] {
				t.Fatalf("%s is %d for %d or %d", name, got, fl[name], fd[name])
			}
		}
	})
}

func TestLimitsAreReadAsTheyAreWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := all.Draw(t, "limits")
		got, err := limits.Of(want.Spec())
		if err != nil || got != want {
			t.Fatalf("%+v is read as %+v: %v", want, got, err)
		}
	})
	full := sessionstest.Struct[limits.Limits]()
	if got, err := limits.Of(full.Spec()); err != nil || got != full {
		t.Errorf("%+v is read as %+v: %v", full, got, err)
	}
}

func TestOnlyTheCostCanBeWrittenWrong(t *testing.T) {
	for _, text := range []string{"a lot", "-1", "1e3", "0.0000001", "1.", " 1"} {
		got, err := limits.Of(&agentspec.Limits{MaxSteps: 3, MaxCost: text})
		if err == nil || got.MaxSteps != 3 || got.MaxCost != 0 {
			t.Errorf("cost %q is read as %+v: %v", text, got, err)
		}
	}
	if got, err := limits.Of(nil); err != nil || got != (limits.Limits{}) {
		t.Errorf("no limits are read as %+v: %v", got, err)
	}
}

// TestTheFirstExcessIsNamedAsInTheAPI raises one limit after the other above the most that it may be.
func TestTheFirstExcessIsNamedAsInTheAPI(t *testing.T) {
	most := limits.Limits{
		MaxSteps: 2, MaxTokens: 2, MaxParallelTools: 2, MaxIdenticalCalls: 2, TurnSeconds: 2, MaxToolCalls: 2,
		MaxCost: 2 * money.Unit,
	}
	for _, row := range []struct {
		high      limits.Limits
		name, max string
	}{
		{limits.Limits{MaxSteps: 3}, "max_steps", "2"},
		{limits.Limits{MaxTokens: 3}, "max_tokens", "2"},
		{limits.Limits{MaxParallelTools: 3}, "max_parallel_tools", "2"},
		{limits.Limits{MaxIdenticalCalls: 3}, "max_identical_calls", "2"},
		{limits.Limits{TurnSeconds: 3}, "turn_seconds", "2"},
		{limits.Limits{MaxToolCalls: 3}, "max_tool_calls", "2"},
		{limits.Limits{MaxCost: 3 * money.Unit}, "max_cost", money.Micros(2 * money.Unit).String()},
		{limits.Limits{MaxTokens: 3, MaxCost: 3 * money.Unit}, "max_tokens", "2"},
	} {
		if over, ok := row.high.Within(most); ok || over.Name != row.name || over.Max != row.max {
			t.Errorf("%+v: got %+v, %t", row.high, over, ok)
		}
		if _, ok := row.high.Within(limits.Limits{}); !ok {
			t.Errorf("%+v is above no limits at all", row.high)
		}
	}
	if _, ok := most.Within(most); !ok {
		t.Error("limits are above themselves")
	}
}

// bounds are of a mesh that bounds only some limits.
var bounds = limits.Bounds{
	Default: limits.Limits{MaxSteps: 25, TurnSeconds: 600}, Max: limits.Limits{MaxSteps: 100, MaxTokens: 5000, MaxCost: money.Unit},
}

func TestAnAgentHasTheMeshsLimitsWhereItSetsNone(t *testing.T) {
	for _, row := range []struct {
		name string
		own  *agentspec.Limits
		want limits.Limits
	}{
		{"none", nil, bounds.Default},
		{"one", &agentspec.Limits{MaxSteps: 7}, limits.Limits{MaxSteps: 7, TurnSeconds: 600}},
		{"one without a default", &agentspec.Limits{MaxTokens: 9}, limits.Limits{MaxSteps: 25, TurnSeconds: 600, MaxTokens: 9}},
		{"a cost", &agentspec.Limits{MaxCost: "0.5"}, limits.Limits{MaxSteps: 25, TurnSeconds: 600, MaxCost: money.Unit / 2}},
	} {
		if got := bounds.OfAgent(agentWith(row.own)); got != row.want {
			t.Errorf("%s: got %+v, want %+v", row.name, got, row.want)
		}
	}
}

func TestATurnMayOnlyLowerLimits(t *testing.T) {
	own := agentWith(&agentspec.Limits{MaxSteps: 10})
	for _, row := range []struct {
		name  string
		asked *agentspec.Limits
		field string // that is wrong
		says  string
		want  *agentspec.Limits
	}{
		{name: "none"},
		{name: "only zeros", asked: &agentspec.Limits{}},
		{name: "lower than the agent's", asked: &agentspec.Limits{MaxSteps: 9}, want: &agentspec.Limits{MaxSteps: 9}},
		{name: "as high as the agent's", asked: &agentspec.Limits{MaxSteps: 10}, want: &agentspec.Limits{MaxSteps: 10}},
		{name: "above the agent's", asked: &agentspec.Limits{MaxSteps: 11}, field: "limits.max_steps", says: `agent "assistant", 10`},
		{name: "above the default", asked: &agentspec.Limits{TurnSeconds: 601}, field: "limits.turn_seconds", says: "600"},
		{name: "above the mesh's", asked: &agentspec.Limits{MaxTokens: 5001}, field: "limits.max_tokens", says: "sessions.max_limits.max_tokens"},
		{name: "what neither bounds", asked: &agentspec.Limits{MaxToolCalls: 1 << 20}, want: &agentspec.Limits{MaxToolCalls: 1 << 20}},
		{name: "a cost that is none", asked: &agentspec.Limits{MaxCost: "free"}, field: "limits.max_cost"},
		{name: "a cost above the mesh's", asked: &agentspec.Limits{MaxCost: "1.01"}, field: "limits.max_cost"},
		{name: "children", asked: &agentspec.Limits{MaxChildren: 1}, field: "limits", says: "set for agents"},
		{name: "depth", asked: &agentspec.Limits{MaxDepth: 1}, field: "limits", says: "set for agents"},
	} {
		got, err := bounds.CheckTurn(row.asked, own)
		if wrong := wrongFields(err); row.field != "" && (len(wrong) != 1 || wrong[0].Path != row.field ||
			!strings.Contains(err.Error(), row.says)) {
			t.Errorf("%s: wrong are %v", row.name, wrong)
		}
		if row.field == "" && (err != nil || !reflect.DeepEqual(got, row.want)) {
			t.Errorf("%s: got %+v, %v, want %+v", row.name, got, err, row.want)
		}
	}
}

func TestAnAgentMayNotSetMoreThanTheMeshAllows(t *testing.T) {
	for _, row := range []struct {
		name string
		set  agentspec.Limits
		want []string
	}{
		{name: "none"},
		{name: "the most", set: agentspec.Limits{MaxSteps: 100, MaxTokens: 5000, MaxCost: "1"}},
		{name: "more", set: agentspec.Limits{MaxSteps: 101}, want: []string{"max_steps"}},
		{name: "a cost that is none", set: agentspec.Limits{MaxCost: "free"}, want: []string{"max_cost"}},
		{name: "two faults", set: agentspec.Limits{MaxCost: "free", MaxTokens: 5001}, want: []string{"max_cost", "max_tokens"}},
		{name: "what the mesh does not bound", set: agentspec.Limits{TurnSeconds: 1 << 20, MaxChildren: 9, MaxDepth: 9}},
	} {
		var got []string
		for _, f := range bounds.CheckAgent(row.set) {
			got = append(got, f.Path)
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: wrong are %q, want %q", row.name, got, row.want)
		}
	}
}

func agentWith(l *agentspec.Limits) store.Agent {
	return store.Agent{ID: "assistant", Spec: agentspec.Spec{Limits: l}}
}

func wrongFields(err error) []fault.Field {
	if err == nil {
		return nil
	}
	return fault.From(err).Fields
}
