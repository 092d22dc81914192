package decide

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/access"
)

// TestRememberedRulesAreThoseOfThePrincipal has principals that differ in one thing that rules see.
func TestRememberedRulesAreThoseOfThePrincipal(t *testing.T) {
	e, err := NewEngine(Config{
		Rules: []Rule{
			{Name: "readers", Roles: []string{"reader"}, Permissions: []string{"sessions.*"}},
			{Name: "all", Subjects: []string{"*"}, Permissions: []string{"health.get"}},
			{Name: "not eve", Subjects: []string{"eve"}, Permissions: []string{"sessions.*"}, Deny: true},
		},
		ServiceRules: []Rule{{Name: "workers", Subjects: []string{"reader"}, Permissions: []string{"metrics.get"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	other := authn.User("ann", "reader")
	other.Tenant = "other"
	for range 2 { // the second time they are remembered
		for _, row := range []struct {
			p                     *policyv1.Principal
			sessions, health, own bool
		}{
			{authn.User("ann", "reader"), true, true, false},
			{authn.User("ann"), false, true, false},
			{authn.User("ann", "x", "reader"), true, true, false},
			{authn.User("ann", "1:xreader"), false, true, false},
			{authn.User("ann", "x6:reader"), false, true, false},
			{authn.User("eve", "reader"), false, true, false},
			{other, true, false, false},
			{authn.Service("reader"), false, false, true},
			{authn.User("reader"), false, true, false},
		} {
			r := Rights{engine: e, Input: access.Input{Principal: row.p}, applied: &access.Applied{}}
			for permission, want := range map[string]bool{"sessions.get": row.sessions, "health.get": row.health, "metrics.get": row.own} {
				if got := r.verdict(permission).Allowed; got != want {
					t.Errorf("%v: %s is %t", row.p, permission, got)
				}
			}
		}
	}
}

// TestADecisionTakesLittleMemory bounds what every call to policy takes.
func TestADecisionTakesLittleMemory(t *testing.T) {
	e, err := NewEngine(Config{Rules: []Rule{
		{Name: "readers", Roles: []string{"reader"}, Permissions: []string{"a.*", "sessions.*"}},
		{Name: "not", Subjects: []string{"*"}, Permissions: []string{"b.*", "c.*"}, Deny: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := Rights{engine: e, Input: access.Input{Principal: authn.User("ann", "reader")}, applied: &access.Applied{}}
	n := testing.AllocsPerRun(100, func() {
		if !r.verdict("sessions.get").Allowed {
			t.Error("not allowed")
		}
	})
	if n > 4 {
		t.Errorf("a decision takes %g allocations", n)
	}
}
