package policy_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/testwant"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/policy"
	"github.com/windlass-dev/windlass/services/policy/decide"
)

// clients are the clients of one principal.
type clients struct {
	policyv1.PolicyServiceClient
	policies policyv1.AccessPolicyServiceClient
}

// as serves a policy service to a principal, with the service's own authorizer.
func as(t *testing.T, s *policy.Service, who *policyv1.Principal) clients {
	t.Helper()
	conn := rpctest.ServeAs(t, "policy", func(r grpc.ServiceRegistrar) { s.Register(r) },
		rpctest.WithAuthorizer(s.Authorizer()), rpctest.WithPrincipal(who))
	return clients{policyv1.NewPolicyServiceClient(conn), policyv1.NewAccessPolicyServiceClient(conn)}
}

func withClaims(t *testing.T, subject, json string, roles ...string) *policyv1.Principal {
	t.Helper()
	p := authn.User(subject, roles...)
	p.Claims = arguments(t, json)
	return p
}

func equals(path string, values ...string) *policyv1.ClaimMatcher {
	return &policyv1.ClaimMatcher{Path: path, Operator: policyv1.ClaimOperator_CLAIM_OPERATOR_EQUALS, Values: values}
}

// finance allows the finance department the orders.
func finance() *policyv1.AccessPolicy {
	return &policyv1.AccessPolicy{
		Name: "finance", Effect: policyv1.AccessEffect_ACCESS_EFFECT_ALLOW, Matchers: []*policyv1.ClaimMatcher{equals("department", "finance")},
		Tools: []string{"orders__*"}, Permissions: []string{"policy.access.explain", "sessions.*"},
	}
}

func (c clients) create(t *testing.T, p *policyv1.AccessPolicy) *policyv1.AccessPolicy {
	t.Helper()
	made, err := c.policies.CreateAccessPolicy(t.Context(), &policyv1.CreateAccessPolicyRequest{AccessPolicy: p})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (c clients) decide(t *testing.T, who *policyv1.Principal, tool string, groups ...*policyv1.ToolGroupMembers) *policyv1.Decision {
	t.Helper()
	d, err := c.DecideTool(t.Context(), &policyv1.DecideToolRequest{Principal: who, Tool: tool, Groups: groups})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAccessPoliciesAreResources(t *testing.T) {
	admin := as(t, newService(t, policy.DefaultConfig()), authn.Local())
	alice := withClaims(t, "alice", `{"department":"finance"}`)
	if d := admin.decide(t, alice, "orders__search"); d.GetAllowed() || d.GetRule() != "" || d.GetPolicyRevision() != 0 {
		t.Errorf("without a policy: %v", d)
	}
	made := admin.create(t, finance())
	if made.GetRevision() != 1 || made.GetPolicyRevision() != 1 || made.GetCreateTime() == nil {
		t.Errorf("created %v", made)
	}
	d := admin.decide(t, alice, "orders__search")
	if !d.GetAllowed() || d.GetRule() != "policy:finance" || strings.Join(d.GetPolicies(), " ") != "finance" || d.GetPolicyRevision() != 1 ||
		d.GetInputHash() == "" || d.GetLatency().AsDuration() <= 0 {
		t.Errorf("with it: %v", d)
	}
	if kept, err := admin.GetDecision(t.Context(), &policyv1.GetDecisionRequest{DecisionId: d.GetId()}); err != nil ||
		kept.String() != d.String() {
		t.Errorf("kept %v, %v", kept, err)
	}
	if filtered := testwant.Must(admin.FilterTools(t.Context(), &policyv1.FilterToolsRequest{
		Principal: alice, Tools: []string{"mail__send", "orders__search"},
	})); len(filtered.GetTools()) != 1 {
		t.Errorf("filtered %v", filtered)
	}
	updated, err := admin.policies.UpdateAccessPolicy(t.Context(), &policyv1.UpdateAccessPolicyRequest{
		AccessPolicy: &policyv1.AccessPolicy{Name: "finance", Revision: 1}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"tools"}},
	})
	if err != nil || updated.GetRevision() != 2 || len(updated.GetTools()) != 0 || len(updated.GetMatchers()) != 1 {
		t.Errorf("updated %v, %v", updated, err)
	}
	if d := admin.decide(t, alice, "orders__search"); d.GetAllowed() || d.GetPolicyRevision() != 2 ||
		d.GetReason() != `no rule and no access policy allows tool "orders__search" to "alice"` {
		t.Errorf("after the update: %v", d)
	}
	list, err := admin.policies.ListAccessPolicies(t.Context(), &policyv1.ListAccessPoliciesRequest{})
	if err != nil || len(list.GetAccessPolicies()) != 1 || list.GetAccessPolicies()[0].String() != updated.String() {
		t.Errorf("list %v, %v", list, err)
	}
	if _, err := admin.policies.DeleteAccessPolicy(t.Context(), &policyv1.DeleteAccessPolicyRequest{Name: "finance"}); err != nil {
		t.Error(err)
	}
	_, err = admin.policies.GetAccessPolicy(t.Context(), &policyv1.GetAccessPolicyRequest{Name: "finance"})
	if fault.CodeOf(err) != "not_found" {
		t.Errorf("after the deletion: %v", err)
	}
}

func TestAccessPoliciesRefuse(t *testing.T) {
	admin := as(t, newService(t, policy.DefaultConfig()), authn.Local())
	admin.create(t, finance())
	create := func(change func(*policyv1.AccessPolicy)) error {
		p := finance()
		p.Name = "new"
		change(p)
		_, err := admin.policies.CreateAccessPolicy(t.Context(), &policyv1.CreateAccessPolicyRequest{AccessPolicy: p, ValidateOnly: true})
		return err
	}
	update := func(p *policyv1.AccessPolicy) error {
		_, err := admin.policies.UpdateAccessPolicy(t.Context(), &policyv1.UpdateAccessPolicyRequest{AccessPolicy: p})
		return err
	}
	_, gone := admin.policies.DeleteAccessPolicy(t.Context(), &policyv1.DeleteAccessPolicyRequest{Name: "none"})
	everyone := &policyv1.ClaimMatcher{Path: "$subject", Operator: policyv1.ClaimOperator_CLAIM_OPERATOR_MATCHES, Values: []string{".*"}}
	for what, row := range map[string]struct {
		err        error
		code, says string
	}{
		"good":              {create(func(*policyv1.AccessPolicy) {}), "", ""},
		"the name is taken": {create(func(p *policyv1.AccessPolicy) { p.Name = "finance" }), "already_exists", "finance"},
		"no name":           {create(func(p *policyv1.AccessPolicy) { p.Name = "" }), "invalid_argument", "access_policy.name"},
		"a bad name":        {create(func(p *policyv1.AccessPolicy) { p.Name = "A_b" }), "invalid_argument", "lower-case"},
		"no effect":         {create(func(p *policyv1.AccessPolicy) { p.Effect = 0 }), "invalid_argument", "access_policy.effect"},
		"a bad pattern": {
			create(func(p *policyv1.AccessPolicy) { p.Matchers[0].Path = "a..b" }), "invalid_argument", "access_policy.matchers[0].path",
		},
		"a bad expression": {create(func(p *policyv1.AccessPolicy) { p.Expression = "1 +" }), "invalid_argument", "access_policy.expression"},
		"too many matchers": {
			create(func(p *policyv1.AccessPolicy) { p.Matchers = make([]*policyv1.ClaimMatcher, 33) }), "invalid_argument", "matchers",
		},
		"a long pattern": {
			create(func(p *policyv1.AccessPolicy) { p.Matchers[0].Values[0] = strings.Repeat("a", 513) }), "invalid_argument", "values",
		},
		"a long expression": {
			create(func(p *policyv1.AccessPolicy) { p.Expression = strings.Repeat("a", 4097) }), "invalid_argument", "expression",
		},
		"another revision":  {update(&policyv1.AccessPolicy{Name: "finance", Revision: 9}), "conflict", "revision 1, not 9"},
		"no such policy":    {update(&policyv1.AccessPolicy{Name: "none"}), "not_found", "none"},
		"nothing to delete": {gone, "not_found", "none"},
		"locking the author out": {create(func(p *policyv1.AccessPolicy) {
			p.Effect, p.Matchers, p.Permissions = policyv1.AccessEffect_ACCESS_EFFECT_DENY, []*policyv1.ClaimMatcher{everyone}, []string{"policy.*"}
		}), "failed_precondition", "could not change access policies any more"},
	} {
		if row.code == "" && row.err != nil || row.code != "" && (fault.CodeOf(row.err) != row.code ||
			!strings.Contains(row.err.Error(), row.says)) {
			t.Errorf("%s: %v (%s)", what, row.err, fault.CodeOf(row.err))
		}
	}
	if d := admin.decide(t, authn.User("x"), "a__b"); d.GetPolicyRevision() != 1 {
		t.Errorf("what was only checked or refused made revision %d", d.GetPolicyRevision())
	}
}

func TestTooManyAccessPolicies(t *testing.T) {
	cfg := policy.DefaultConfig()
	cfg.MaxAccessPolicies = 5
	admin := as(t, newService(t, cfg), authn.Local())
	for i := range 5 {
		p := finance()
		p.Name = fmt.Sprintf("p%d", i)
		admin.create(t, p)
	}
	_, err := admin.policies.CreateAccessPolicy(t.Context(), &policyv1.CreateAccessPolicyRequest{AccessPolicy: finance()})
	if fault.CodeOf(err) != "failed_precondition" || !strings.Contains(err.Error(), "there are 5") {
		t.Errorf("one more: %v", err)
	}
	page, err := admin.policies.ListAccessPolicies(t.Context(), &policyv1.ListAccessPoliciesRequest{PageSize: 4})
	if err != nil || len(page.GetAccessPolicies()) != 4 {
		t.Fatal(err)
	}
	page, err = admin.policies.ListAccessPolicies(t.Context(), &policyv1.ListAccessPoliciesRequest{
		PageSize: 4, PageToken: page.GetNextPageToken(),
	})
	if err != nil || len(page.GetAccessPolicies()) != 1 || page.GetNextPageToken() != "" {
		t.Errorf("the last page: %v, %v", page, err)
	}
}

// TestPoliciesThatAreTooLargeTogether: what the policies of a tenant are compiled to is limited, not only what is written.
func TestPoliciesThatAreTooLargeTogether(t *testing.T) {
	admin := as(t, newService(t, policy.DefaultConfig()), authn.Local())
	p := finance()
	p.Matchers = []*policyv1.ClaimMatcher{{Path: "department", Operator: policyv1.ClaimOperator_CLAIM_OPERATOR_MATCHES}}
	for range 10 {
		p.Matchers[0].Values = append(p.Matchers[0].Values, "x{1,1000}")
	}
	var err error
	made := 0
	for ; err == nil && made < 20; made++ {
		p.Name = fmt.Sprintf("p%d", made)
		_, err = admin.policies.CreateAccessPolicy(t.Context(), &policyv1.CreateAccessPolicyRequest{AccessPolicy: p})
	}
	if fault.CodeOf(err) != "failed_precondition" || !strings.Contains(err.Error(), "too large") || made < 5 {
		t.Errorf("policy %d: %v", made, err)
	}
	p.Name, p.Matchers[0].Values = "p0", []string{"x"}
	_, err = admin.policies.UpdateAccessPolicy(t.Context(), &policyv1.UpdateAccessPolicyRequest{
		AccessPolicy: p, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"matchers"}},
	})
	if err != nil {
		t.Errorf("a smaller one: %v", err)
	}
	p.Name = "another"
	admin.create(t, p)
}

// TestPoliciesGivePermissions: a policy makes administrators, and rules of the configuration stay the floor.
func TestPoliciesGivePermissions(t *testing.T) {
	cfg := policy.DefaultConfig()
	cfg.Rules = append(cfg.Rules, decide.Rule{
		Name: "floor", Roles: []string{"*"}, Permissions: []string{"policy.decisions.list"}, Tools: []string{"*__delete"}, Deny: true,
	})
	s := newService(t, cfg)
	admin := as(t, s, authn.Local())
	carol := withClaims(t, "carol", `{"team":"platform"}`, "user")
	hers := as(t, s, carol)
	list := func() error {
		_, err := hers.policies.ListAccessPolicies(t.Context(), &policyv1.ListAccessPoliciesRequest{})
		return err
	}
	if err := list(); fault.CodeOf(err) != "permission_denied" {
		t.Errorf("before: %v", err)
	}
	admin.create(t, &policyv1.AccessPolicy{
		Name: "platform", Effect: policyv1.AccessEffect_ACCESS_EFFECT_ALLOW, Matchers: []*policyv1.ClaimMatcher{equals("team", "platform")},
		Permissions: []string{"policy.*"}, Tools: []string{"*"},
	})
	if err := list(); err != nil {
		t.Errorf("after: %v", err)
	}
	if _, err := hers.ListDecisions(t.Context(), &policyv1.ListDecisionsRequest{}); fault.CodeOf(err) != "permission_denied" ||
		!strings.Contains(err.Error(), "floor") {
		t.Errorf("what a rule denies: %v", err)
	}
	if d := admin.decide(t, carol, "x__delete"); d.GetAllowed() || d.GetRule() != "floor" {
		t.Errorf("a tool that a rule denies: %v", d)
	}
	got := testwant.Must(admin.GetPermissions(t.Context(), &policyv1.GetPermissionsRequest{Principal: carol}))
	if strings.Join(got.GetPermissions(), " ") != "!policy.decisions.list policy.*" || got.GetPolicyRevision() != 1 {
		t.Errorf("permissions %v", got)
	}
	deny := &policyv1.AccessPolicy{
		Name: "frozen", Effect: policyv1.AccessEffect_ACCESS_EFFECT_DENY, Matchers: []*policyv1.ClaimMatcher{equals("team", "platform")},
		Permissions: []string{"policy.access_policies.list"},
	}
	admin.create(t, deny)
	if err := list(); fault.CodeOf(err) != "permission_denied" || !strings.Contains(err.Error(), "policy:frozen") {
		t.Errorf("what a policy denies: %v", err)
	}
}

// TestGroupsAreAskedFor: policy decides nothing before it knows the members of the groups that its policies name.
func TestGroupsAreAskedFor(t *testing.T) {
	admin := as(t, newService(t, policy.DefaultConfig()), authn.Local())
	p := finance()
	p.Tools, p.ToolGroups = nil, []string{"reading"}
	admin.create(t, p)
	alice, bob := withClaims(t, "alice", `{"department":"finance"}`), withClaims(t, "bob", `{"department":"sales"}`)
	if d := admin.decide(t, alice, "a__b"); d.GetAllowed() || d.GetId() != "" || strings.Join(d.GetNeededGroups(), " ") != "reading" {
		t.Errorf("without members: %v", d)
	}
	if d := admin.decide(t, bob, "a__b"); d.GetAllowed() || d.GetId() == "" {
		t.Errorf("another user: %v", d)
	}
	if d := admin.decide(t, alice, "a__b", &policyv1.ToolGroupMembers{Group: "reading", Tools: []string{"a__b"}}); !d.GetAllowed() {
		t.Errorf("a member: %v", d)
	}
	if d := admin.decide(t, alice, "a__b", &policyv1.ToolGroupMembers{Group: "reading"}); d.GetAllowed() {
		t.Errorf("no member: %v", d)
	}
	if list := testwant.Must(admin.ListDecisions(t.Context(), &policyv1.ListDecisionsRequest{})); len(list.GetDecisions()) != 3 {
		t.Errorf("recorded %v", list)
	}
	f := testwant.Must(admin.FilterTools(t.Context(), &policyv1.FilterToolsRequest{Principal: alice, Tools: []string{"a__b"}}))
	if len(f.GetNeededGroups()) != 1 {
		t.Errorf("filtered %v", f)
	}
}

// groups says that every group has the tool "orders__search".
type groups struct{}

func (groups) EvaluateToolGroups(_ context.Context, in *registryv1.EvaluateToolGroupsRequest, _ ...grpc.CallOption) (
	*registryv1.EvaluateToolGroupsResponse, error,
) {
	out := &registryv1.EvaluateToolGroupsResponse{}
	for _, g := range in.GetGroups() {
		out.Groups = append(out.Groups, &policyv1.ToolGroupMembers{Group: g, Tools: []string{"orders__search"}, Missing: g == "gone"})
	}
	return out, nil
}

func TestExplain(t *testing.T) {
	s := newService(t, policy.DefaultConfig())
	admin := as(t, s, authn.Local())
	alice := withClaims(t, "alice", `{"department":"finance"}`)
	p := finance()
	p.Expression, p.Priority = "principal.claims.level > 3", 5
	admin.create(t, p)
	admin.create(t, &policyv1.AccessPolicy{
		Name: "explainers", Effect: policyv1.AccessEffect_ACCESS_EFFECT_ALLOW, Priority: 9, Permissions: []string{"policy.access.explain"},
		Matchers: []*policyv1.ClaimMatcher{{Path: "$subject", Operator: policyv1.ClaimOperator_CLAIM_OPERATOR_MATCHES, Values: []string{".*"}}},
	})
	mine, err := as(t, s, alice).policies.ExplainAccess(t.Context(), &policyv1.ExplainAccessRequest{Tool: "orders__search"})
	if err != nil || mine.GetAllowed() || len(mine.GetExplained()) != 2 || mine.GetPolicyRevision() != 2 {
		t.Fatalf("her own: %v, %v", mine, err)
	}
	first, second := mine.GetExplained()[0], mine.GetExplained()[1]
	testwant.Equal(t, "policies: Name", first.GetName(), "explainers")
	testwant.Equal(t, "policies: Matches", first.GetMatches(), true)
	testwant.Equal(t, "policies: Covers", first.GetCovers(), false)
	testwant.Equal(t, "policies: Name", second.GetName(), "finance")
	testwant.Equal(t, "policies: Matches", second.GetMatches(), false)
	testwant.Equal(t, "policies: Covers", second.GetCovers(), true)
	testwant.Equal(t, "policies: Grant", second.GetGrant(), "tools[0]")
	m := second.GetMatchers()
	testwant.Len(t, "matchers: m", m, 2)
	testwant.Equal(t, "matchers: [0].Matches", m[0].GetMatches(), true)
	testwant.Equal(t, "matchers: [0].Path", m[0].GetPath(), "department")
	testwant.Len(t, "matchers: [0].Values", m[0].GetValues(), 0)
	testwant.Equal(t, "matchers: [1].Matches", m[1].GetMatches(), false)
	testwant.Equal(t, `matchers: Contains(m[1].Message, "no such key")`, strings.Contains(m[1].GetMessage(), "no such key"), true)
	_, err = as(t, s, alice).policies.ExplainAccess(t.Context(), &policyv1.ExplainAccessRequest{Tool: "orders__search", Subject: "bob"})
	if fault.CodeOf(err) != "permission_denied" || !strings.Contains(err.Error(), "policy.principals.explain") {
		t.Errorf("about another: %v", err)
	}
	explain := func(req *policyv1.ExplainAccessRequest) *policyv1.ExplainAccessResponse {
		t.Helper()
		resp, err := admin.policies.ExplainAccess(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	if got := explain(&policyv1.ExplainAccessRequest{Permission: "sessions.turns.create"}); !got.GetAllowed() || got.GetRule() != "local" {
		t.Errorf("the administrator's own: %v", got)
	}
	got := explain(&policyv1.ExplainAccessRequest{Tool: "orders__search", Principal: &policyv1.ExplainedPrincipal{
		Subject: "dora", Claims: arguments(t, `{"department":"finance","level":4}`),
	}})
	if !got.GetAllowed() || got.GetRule() != "policy:finance" || got.GetExplained()[1].GetMatchers()[0].GetValues()[0] != "finance" {
		t.Errorf("about a principal: %v", got)
	}
	admin.decide(t, withClaims(t, "bob", `{"department":"finance","level":9}`), "orders__search")
	if got := explain(&policyv1.ExplainAccessRequest{Tool: "orders__search", Subject: "bob"}); !got.GetAllowed() {
		t.Errorf("about a subject: %v", got)
	}
	for what, row := range map[string]struct {
		req  *policyv1.ExplainAccessRequest
		code string
	}{
		"an unknown subject":          {&policyv1.ExplainAccessRequest{Tool: "a__b", Subject: "nobody"}, "not_found"},
		"neither tool nor permission": {&policyv1.ExplainAccessRequest{}, "invalid_argument"},
		"both":                        {&policyv1.ExplainAccessRequest{Tool: "a__b", Permission: "x"}, "invalid_argument"},
		"a principal and a subject": {
			&policyv1.ExplainAccessRequest{Tool: "a__b", Subject: "x", Principal: &policyv1.ExplainedPrincipal{Subject: "x"}}, "invalid_argument",
		},
		"a principal without a subject": {
			&policyv1.ExplainAccessRequest{Tool: "a__b", Principal: &policyv1.ExplainedPrincipal{}}, "invalid_argument",
		},
	} {
		if _, err := admin.policies.ExplainAccess(t.Context(), row.req); fault.CodeOf(err) != row.code {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestReplay(t *testing.T) {
	s := newService(t, policy.DefaultConfig())
	admin := as(t, s, authn.Local())
	admin.create(t, finance())
	alice, bob := withClaims(t, "alice", `{"department":"finance","iat":1}`), withClaims(t, "bob", `{"department":"sales"}`)
	for range 3 {
		admin.decide(t, alice, "orders__search")
		admin.decide(t, bob, "orders__search")
	}
	admin.decide(t, alice, "mail__send")
	draft := finance()
	draft.Matchers[0].Values = []string{"sales"}
	draft.Tools = nil
	draft.ToolGroups = []string{"reading"}
	seen := map[string]int{}
	req := &policyv1.ReplayDecisionsRequest{Draft: draft, PageSize: 2}
	for pages := 1; ; pages++ {
		resp, err := admin.policies.ReplayDecisions(t.Context(), req)
		if err != nil || pages > 9 {
			t.Fatal(pages, err)
		}
		for _, d := range resp.GetDifferences() {
			was := d.GetDecision()
			seen[fmt.Sprintf("%s %t %t %t %s", was.GetSubject(), was.GetAllowed(), d.GetAllowed(), d.GetAllowedNow(), d.GetRule())]++
		}
		if req.PageToken = resp.GetNextPageToken(); req.GetPageToken() == "" {
			break
		}
	}
	if len(seen) != 2 || seen["alice true false true "] != 3 || seen["bob false true false policy:finance"] != 3 {
		t.Errorf("differences: %v", seen)
	}
	list := testwant.Must(admin.policies.ListAccessPolicies(t.Context(), &policyv1.ListAccessPoliciesRequest{}))
	if list.GetAccessPolicies()[0].GetRevision() != 1 {
		t.Errorf("the draft was stored: %v", list)
	}
	without, err := admin.policies.ReplayDecisions(t.Context(), &policyv1.ReplayDecisionsRequest{Without: "finance"})
	if err != nil || len(without.GetDifferences()) != 3 || without.GetReplayed() != 7 || without.GetSkipped() != 0 {
		t.Errorf("without the policy: %v, %v", without, err)
	}
	later, err := admin.policies.ReplayDecisions(t.Context(), &policyv1.ReplayDecisionsRequest{
		Without: "finance", StartTime: &timestamppb.Timestamp{Seconds: 1 << 33},
	})
	if err != nil || later.GetReplayed() != 0 {
		t.Errorf("in the future: %v, %v", later, err)
	}
	bad := finance()
	bad.Expression = "1 +"
	for what, row := range map[string]struct {
		req        *policyv1.ReplayDecisionsRequest
		code, says string
	}{
		"no draft":      {&policyv1.ReplayDecisionsRequest{}, "invalid_argument", "draft"},
		"a bad draft":   {&policyv1.ReplayDecisionsRequest{Draft: bad}, "invalid_argument", "draft.expression"},
		"no such":       {&policyv1.ReplayDecisionsRequest{Without: "none"}, "not_found", "none"},
		"a wrong token": {&policyv1.ReplayDecisionsRequest{Without: "finance", PageToken: "x"}, "invalid_page_token", "page_token"},
	} {
		if _, err := admin.policies.ReplayDecisions(t.Context(), row.req); fault.CodeOf(err) != row.code ||
			!strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
