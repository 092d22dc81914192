package decide_test

import (
	"testing"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/policy/decide"
)

// TestS11RulesForTaintedCalls says which calls a rule for tainted calls holds up.
func TestS11RulesForTaintedCalls(t *testing.T) {
	engine, err := decide.NewEngine(decide.Config{})
	if err != nil {
		t.Fatal(err)
	}
	always := &policyv1.ApprovalRule{Name: "r", Tainted: true}
	reads := &policyv1.ApprovalRule{Name: "r", Tainted: true, Effects: []turnv1.EffectClass{turnv1.EffectClass_EFFECT_CLASS_READ}}
	for _, row := range []struct {
		name    string
		rule    *policyv1.ApprovalRule
		effect  string
		tainted bool
		want    bool
	}{
		{"a call that changes something", always, "once", true, true},
		{"one that may be repeated", always, "idempotent", true, true},
		{"one of an unknown effect", always, "", true, true},
		{"one that only reads", always, "read", true, false},
		{"one that nobody else can have asked for", always, "once", false, false},
		{"a read, if the rule says so", reads, "read", true, true},
		{"a write, if the rule is for reads", reads, "once", true, false},
		{"any call, if the rule is not for tainted ones", &policyv1.ApprovalRule{Name: "r"}, "read", false, true},
	} {
		call := decide.ToolCall{Tool: "x__y", Effect: row.effect, Tainted: row.tainted}
		if rule, _ := engine.Approval(call, []*policyv1.ApprovalRule{row.rule}); (rule != nil) != row.want {
			t.Errorf("%s: held up: %t", row.name, rule != nil)
		}
	}
}
