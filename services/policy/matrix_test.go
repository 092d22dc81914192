package policy_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"pgregory.net/rapid"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/policy"
	"github.com/windlass-dev/windlass/services/policy/decide"
)

// effects are groups of which each has the tools that read.
type effects struct{}

func (effects) EvaluateToolGroups(_ context.Context, in *registryv1.EvaluateToolGroupsRequest, _ ...grpc.CallOption) (
	*registryv1.EvaluateToolGroupsResponse, error,
) {
	out := &registryv1.EvaluateToolGroupsResponse{Effects: map[string]turnv1.EffectClass{}}
	var reading []string
	for _, tool := range in.GetTools() {
		out.Effects[tool] = turnv1.EffectClass_EFFECT_CLASS_ONCE
		if strings.HasSuffix(tool, "search") {
			out.Effects[tool] = turnv1.EffectClass_EFFECT_CLASS_READ
			reading = append(reading, tool)
		}
	}
	for _, g := range in.GetGroups() {
		out.Groups = append(out.Groups, &policyv1.ToolGroupMembers{Group: g, Tools: reading})
	}
	return out, nil
}

// guarded returns a service in which deletions need an approval, and mails over a sum.
func guarded(t *testing.T) clients {
	t.Helper()
	cfg := policy.DefaultConfig()
	cfg.Approvals = []decide.Approval{
		{Name: "careful", Effects: []string{"once"}, Tools: []string{"orders__*"}},
		{Name: "costly", Tools: []string{"mail__*"}, Condition: "arguments.amount > 100"},
		{Name: "tainted", Tainted: true},
	}
	deps := depsOf(t)
	deps.Peers.Groups = effects{}
	s, err := policy.New(cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	return as(t, s, authn.Local())
}

// TestTheMatrixIsWhatExplainSays compares each cell, for policies, users and tools as they come, and with a draft.
func TestTheMatrixIsWhatExplainSays(t *testing.T) {
	admin := guarded(t)
	admin.create(t, finance())
	admin.create(t, &policyv1.AccessPolicy{
		Name: "readers", Effect: policyv1.AccessEffect_ACCESS_EFFECT_ALLOW, ToolGroups: []string{"reading"},
		Matchers: []*policyv1.ClaimMatcher{equals("department", "sales", "finance")},
	})
	admin.create(t, &policyv1.AccessPolicy{
		Name: "no-mail", Effect: policyv1.AccessEffect_ACCESS_EFFECT_DENY, Tools: []string{"mail__*"},
		Matchers: []*policyv1.ClaimMatcher{equals("department", "sales")},
	})
	draft := finance()
	draft.Tools = []string{"mail__*", "notes__*"}
	tools := []string{"orders__search", "orders__delete", "mail__send", "notes__search", "gone__x"}
	seen := map[policyv1.AccessDecision]bool{}
	rapid.Check(t, func(rt *rapid.T) {
		req := &policyv1.ExplainAccessMatrixRequest{
			Tools: rapid.SliceOfNDistinct(rapid.SampledFrom(tools), 1, 5, rapid.ID[string]).Draw(rt, "tools"),
		}
		for _, department := range rapid.SliceOfN(rapid.SampledFrom([]string{"finance", "sales", "it"}), 1, 3).Draw(rt, "departments") {
			req.Principals = append(req.Principals, &policyv1.ExplainedPrincipal{
				Subject: department, Roles: rapid.SliceOfN(rapid.SampledFrom([]string{"admin", "user"}), 0, 1).Draw(rt, "roles"),
				Claims: arguments(t, `{"department":"`+department+`"}`),
			})
		}
		if rapid.Bool().Draw(rt, "draft") {
			req.Draft = draft
		}
		got, err := admin.policies.ExplainAccessMatrix(t.Context(), req)
		if err != nil || len(got.GetCells()) != len(req.GetTools())*len(req.GetPrincipals()) {
			rt.Fatalf("%v, %v", got, err)
		}
		for i, cell := range got.GetCells() {
			p, tool := req.GetPrincipals()[i/len(req.GetTools())], req.GetTools()[i%len(req.GetTools())]
			one, err := admin.policies.ExplainAccess(t.Context(), &policyv1.ExplainAccessRequest{
				Tool: tool, Principal: p, Draft: req.GetDraft(),
			})
			if err != nil {
				rt.Fatal(err)
			}
			rule := one.GetRule()
			if one.GetApprovalRule() != "" {
				rule = one.GetApprovalRule()
			}
			seen[cell.GetDecision()] = true
			if cell.GetDecision() != one.GetDecision() || cell.GetRule() != rule || cell.GetTool() != tool ||
				cell.GetSubject() != p.GetSubject() || one.GetAllowed() == (one.GetDecision() == policyv1.AccessDecision_ACCESS_DECISION_DENY) {
				rt.Fatalf("the cell is %v, but explain says %v", cell, one)
			}
		}
	})
	if len(seen) != 3 {
		t.Errorf("only %v came up", seen)
	}
}

func TestAMatrixOfRecordedUsersAndDrafts(t *testing.T) {
	admin := guarded(t)
	admin.create(t, finance())
	admin.decide(t, withClaims(t, "alice", `{"department":"finance"}`), "orders__search")
	render := func(req *policyv1.ExplainAccessMatrixRequest) string {
		t.Helper()
		got, err := admin.policies.ExplainAccessMatrix(t.Context(), req)
		if err != nil {
			return fault.CodeOf(err)
		}
		var out []string
		for _, c := range got.GetCells() {
			out = append(out, c.GetSubject()+" "+c.GetTool()+" "+
				strings.ToLower(strings.TrimPrefix(c.GetDecision().String(), "ACCESS_DECISION_"))+" "+c.GetRule())
		}
		return strings.Join(out, ", ")
	}
	tools := []string{"orders__search", "orders__delete", "mail__send"}
	deny := finance()
	deny.Effect = policyv1.AccessEffect_ACCESS_EFFECT_DENY
	for _, row := range []struct {
		name string
		req  *policyv1.ExplainAccessMatrixRequest
		want string
	}{
		{
			"a recorded user", &policyv1.ExplainAccessMatrixRequest{Subjects: []string{"alice"}, Tools: tools},
			"alice orders__search allow policy:finance, alice orders__delete ask careful, alice mail__send deny ",
		},
		{
			"with a draft", &policyv1.ExplainAccessMatrixRequest{Subjects: []string{"alice"}, Tools: tools[:1], Draft: deny},
			"alice orders__search deny policy:finance",
		},
		{
			"the caller", &policyv1.ExplainAccessMatrixRequest{Tools: tools},
			"local orders__search allow local, local orders__delete ask careful, local mail__send ask costly",
		},
		{"an unknown user", &policyv1.ExplainAccessMatrixRequest{Subjects: []string{"eve"}, Tools: tools}, "not_found"},
		{"a draft that is wrong", &policyv1.ExplainAccessMatrixRequest{Tools: tools, Draft: &policyv1.AccessPolicy{}}, "invalid_argument"},
		{"no tools", &policyv1.ExplainAccessMatrixRequest{}, "invalid_argument"},
	} {
		if got := render(row.req); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}

func TestDraftsAndOthersNeedTheirPermissions(t *testing.T) {
	s := newService(t, policy.DefaultConfig())
	as(t, s, authn.Local()).create(t, finance()) // it gives policy.access.explain
	alice := as(t, s, withClaims(t, "alice", `{"department":"finance"}`))
	tools := []string{"orders__search"}
	for permission, req := range map[string]*policyv1.ExplainAccessMatrixRequest{
		"policy.principals.explain": {Tools: tools, Subjects: []string{"bob"}},
		"policy.decisions.replay":   {Tools: tools, Draft: finance()},
	} {
		_, err := alice.policies.ExplainAccessMatrix(t.Context(), req)
		if fault.CodeOf(err) != "permission_denied" || !strings.Contains(err.Error(), permission) {
			t.Errorf("%s: %v", permission, err)
		}
		if _, err := alice.policies.ExplainAccess(t.Context(), &policyv1.ExplainAccessRequest{
			Tool: tools[0], Draft: req.GetDraft(), Subject: strings.Join(req.GetSubjects(), ""),
		}); fault.CodeOf(err) != "permission_denied" || !strings.Contains(err.Error(), permission) {
			t.Errorf("explain, %s: %v", permission, err)
		}
	}
	if got, err := alice.policies.ExplainAccessMatrix(t.Context(), &policyv1.ExplainAccessMatrixRequest{Tools: tools}); err != nil ||
		got.GetCells()[0].GetDecision() != policyv1.AccessDecision_ACCESS_DECISION_ALLOW {
		t.Errorf("her own: %v, %v", got, err)
	}
}
