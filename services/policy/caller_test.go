package policy_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authz"
	"github.com/windlass-dev/windlass/libs/testwant"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/decide"
)

// TestCallersLearnTheirPermissions: three users see what they have, as it is decided, and which roles have the rest.
func TestCallersLearnTheirPermissions(t *testing.T) {
	t.Parallel()
	cfg := rules()
	cfg.Rules = append(cfg.Rules, decide.Rule{
		Name: "operators", Subjects: []string{"b*", "local"}, Roles: []string{"operator"}, Permissions: []string{"*"},
	})
	s := newService(t, cfg)
	admin := as(t, s, authn.Local())
	grant := func(name, role, permission string, effect policyv1.AccessEffect, more ...*policyv1.ClaimMatcher) {
		matchers := append([]*policyv1.ClaimMatcher{{
			Path: "$roles", Operator: policyv1.ClaimOperator_CLAIM_OPERATOR_CONTAINS, Values: []string{role},
		}}, more...)
		admin.create(t, &policyv1.AccessPolicy{Name: name, Effect: effect, Matchers: matchers, Permissions: []string{permission}})
	}
	grant("writers", "reader", "sessions.turns.create", policyv1.AccessEffect_ACCESS_EFFECT_ALLOW)
	grant("no-export", "reader", "sessions.sessions.export", policyv1.AccessEffect_ACCESS_EFFECT_DENY)
	grant("some-readers", "reader", "policy.*", policyv1.AccessEffect_ACCESS_EFFECT_ALLOW, equals("team", "platform"))
	for _, row := range []struct {
		who           *policyv1.Principal
		may, mayNot   []string
		permissionsIn string
	}{
		{
			authn.Local(),
			[]string{"sessions.turns.create", "policy.quotas.set"},
			[]string{"registry.sources.delete"},
			"* !registry.sources.delete",
		},
		{
			authn.User("bob", "reader"),
			[]string{"sessions.turns.create", "sessions.turns.list"},
			[]string{"sessions.sessions.export", "policy.quotas.set"},
			"*.list *.get !registry.sources.delete sessions.turns.create !sessions.sessions.export",
		},
		{authn.User("eve"), nil, []string{"sessions.turns.list"}, "!registry.sources.delete"},
	} {
		// Every authenticated caller may ask, so what it answers is what the server decides for the same principal.
		got := testwant.Must(as(t, s, row.who).GetCaller(t.Context(), &policyv1.GetCallerRequest{}))
		testwant.Equal(t, row.who.GetSubject()+": permissions", strings.Join(got.GetPermissions(), " "), row.permissionsIn)
		held := authz.Parse(got.GetPermissions(), nil)
		for _, p := range row.may {
			testwant.Equal(t, row.who.GetSubject()+" may "+p, held.Decide(p).Allowed, true)
		}
		for _, p := range row.mayNot {
			testwant.Equal(t, row.who.GetSubject()+" may "+p, held.Decide(p).Allowed, false)
		}
		var roles []string
		for _, r := range got.GetRolesWithPermissions() {
			roles = append(roles, r.GetRole()+": "+strings.Join(r.GetPermissions(), " "))
		}
		want := "operator: *; read*: *.get *.list; reader: sessions.turns.create"
		if row.who.GetSubject() == "eve" { // the rule about operators is not for her
			want = strings.TrimPrefix(want, "operator: *; ")
		}
		testwant.Equal(t, "roles", strings.Join(roles, "; "), want)
	}
}
