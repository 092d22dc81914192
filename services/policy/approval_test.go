package policy_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/testwant"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/policy"
	"github.com/windlass-dev/windlass/services/policy/decide"
)

func arguments(t testing.TB, json string) *structpb.Struct {
	t.Helper()
	s := &structpb.Struct{}
	if err := s.UnmarshalJSON([]byte(json)); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestApprovalRules decides one call under one rule of the mesh.
func TestApprovalRules(t *testing.T) {
	for _, row := range []struct {
		name string
		rule decide.Approval
		args string
		asks bool
	}{
		{"a rule without conditions asks always", decide.Approval{}, `{}`, true},
		{"a tool that fits", decide.Approval{Tools: []string{"bank__*"}}, `{}`, true},
		{"another tool", decide.Approval{Tools: []string{"mail__*"}}, `{}`, false},
		{"the effect fits", decide.Approval{Effects: []string{"read", "once"}}, `{}`, true},
		{"another effect", decide.Approval{Effects: []string{"idempotent"}}, `{}`, false},
		{"the role fits", decide.Approval{Roles: []string{"cl*"}}, `{}`, true},
		{"another role", decide.Approval{Roles: []string{"boss"}}, `{}`, false},
		{"another subject", decide.Approval{Subjects: []string{"alice"}}, `{}`, false},
		{"all must hold", decide.Approval{Tools: []string{"bank__*"}, Subjects: []string{"bob"}, Effects: []string{"read"}}, `{}`, false},
		{"over the limit", decide.Approval{Condition: "arguments.amount > 100"}, `{"amount":100.5}`, true},
		{"under the limit", decide.Approval{Condition: "arguments.amount > 100"}, `{"amount":100}`, false},
		{"a missing argument asks", decide.Approval{Condition: "arguments.amount > 100"}, `{}`, true},
		{"an argument of another type asks", decide.Approval{Condition: "arguments.amount > 100"}, `{"amount":"99"}`, true},
		{"null asks", decide.Approval{Condition: "arguments.amount > 100"}, `{"amount":null}`, true},
		{"whether it is there can be asked", decide.Approval{Condition: "has(arguments.amount) && arguments.amount > 100"}, `{}`, false},
		{
			"deep inside",
			decide.Approval{Condition: "arguments.to.exists(a, !a.endsWith('@example.com'))"},
			`{"to":["a@example.com","b@evil.example"]}`, true,
		},
		{
			"deep inside, well",
			decide.Approval{Condition: "arguments.to.exists(a, !a.endsWith('@example.com'))"},
			`{"to":["a@example.com"]}`,
			false,
		},
		{"integers and doubles compare", decide.Approval{Condition: "arguments.n == 3 && arguments.n in [1, 2, 3]"}, `{"n":3}`, true},
		{"tool and effect", decide.Approval{Condition: "tool.startsWith('bank__') && effect == 'once'"}, `{}`, true},
		{
			"who asks",
			decide.Approval{Condition: "principal.subject == 'bob' && 'clerk' in principal.roles && principal.claims.branch == 'Oslo'"},
			`{}`, true,
		},
		{"matches the principal, not a claim", decide.Approval{Condition: "principal.claims.branch != 'Oslo'"}, `{}`, false},
		{"neither yes nor no asks", decide.Approval{Condition: "arguments.amount"}, `{"amount":0}`, true},
		{"a value that is no", decide.Approval{Condition: "arguments.urgent"}, `{"urgent":false}`, false},
		{
			"endless work asks",
			decide.Approval{Condition: strings.Repeat("arguments.l.all(a, ", 5) + "a == 'b'" + strings.Repeat(")", 5)},
			`{"l":[` + strings.Repeat(`"b",`, 99) + `"b"]}`, true,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			cfg := policy.Config{Rules: []decide.Rule{{Name: "all", Subjects: []string{"*"}, Tools: []string{"*"}}}}
			row.rule.Name = "ask"
			cfg.Approvals = []decide.Approval{row.rule}
			who := authn.User("bob", "clerk")
			who.Claims = arguments(t, `{"branch":"Oslo"}`)
			d, err := client(t, cfg).DecideTool(t.Context(), &policyv1.DecideToolRequest{
				Principal: who, Tool: "bank__pay", Effect: turnv1.EffectClass_EFFECT_CLASS_ONCE, Arguments: arguments(t, row.args),
			})
			if err != nil || !d.GetAllowed() || (d.GetApproval() != nil) != row.asks ||
				strings.Contains(d.GetReason(), `approval rule "ask"`) != row.asks {
				t.Errorf("decision %v, %v", d, err)
			}
		})
	}
}

func TestWhichApprovalRuleAsks(t *testing.T) {
	cfg := policy.Config{
		Rules: []decide.Rule{
			{Name: "all", Subjects: []string{"*"}, Tools: []string{"*"}},
			{Name: "no", Subjects: []string{"*"}, Tools: []string{"*__never"}, Deny: true},
		},
		Approvals: []decide.Approval{
			{
				Name: "large", Tools: []string{"bank__*"}, Condition: "arguments.amount > 1000", ApproverRoles: []string{"boss"}, Quorum: 2,
				ExpiresSeconds: 60, Reason: "much",
			},
			{Name: "small", Tools: []string{"bank__*"}, AllowRequester: true},
		},
	}
	agent := []*policyv1.ApprovalRule{{Name: "mine", Tools: []string{"*"}}, {Name: "never reached"}}
	c := client(t, cfg)
	for _, row := range []struct {
		name, tool, args, approval, rule, reason string
	}{
		{"the first that fits", "bank__pay", `{"amount":2000}`, "", "large", `; approval rule "large" requires an approval first`},
		{"the next", "bank__pay", `{"amount":2}`, "", "small", `; approval rule "small" requires`},
		{"the agent's come after", "mail__send", `{}`, "", "mine", `; the agent's approval rule "mine" requires`},
		{"an approval is given", "bank__pay", `{"amount":2}`, "apr_1", "small", "approval, which apr_1 grants"},
		{"what is denied needs no approval", "bank__never", `{}`, "", "", "denies"},
	} {
		d, err := c.DecideTool(t.Context(), &policyv1.DecideToolRequest{
			Principal: authn.User("bob"), Tool: row.tool, Arguments: arguments(t, row.args), ApprovalRules: agent, ApprovalId: row.approval,
		})
		if err != nil || d.GetApproval().GetRule().GetName() != row.rule || !strings.Contains(d.GetReason(), row.reason) {
			t.Errorf("%s: %v, %v", row.name, d, err)
		}
		kept := testwant.Must(c.GetDecision(t.Context(), &policyv1.GetDecisionRequest{DecisionId: d.GetId()}))
		if kept.GetReason() != d.GetReason() || kept.GetApproval() != nil {
			t.Errorf("%s: kept %v", row.name, kept)
		}
	}
	d := testwant.Must(c.DecideTool(t.Context(), &policyv1.DecideToolRequest{
		Principal: authn.User("bob"), Tool: "bank__pay",
		Arguments: arguments(t, `{"amount":2000}`),
	}))
	r := d.GetApproval().GetRule()
	testwant.Equal(t, "rule: ApproverRoles[0]", r.GetApproverRoles()[0], "boss")
	testwant.Equal(t, "rule: Quorum", r.GetQuorum(), 2)
	testwant.Equal(t, "rule: ExpiresSeconds", r.GetExpiresSeconds(), 60)
	testwant.Equal(t, "rule: Reason", r.GetReason(), "much")
	testwant.Equal(t, "rule: AllowRequester", r.GetAllowRequester(), false)
}

func TestApprovalRulesAreChecked(t *testing.T) {
	for want, rule := range map[string]decide.Approval{
		"no name":                         {},
		"duplicate":                       {Name: "first"},
		"use read, idempotent or once":    {Name: "x", Effects: []string{"write"}},
		"undeclared reference":            {Name: "x", Condition: "amount > 3"},
		"line 1, column 14":               {Name: "x", Condition: "arguments.a >"},
		"it gives string; want yes or no": {Name: "x", Condition: "'yes'"},
		"quorum":                          {Name: "x", Quorum: 17},
		"expires_seconds":                 {Name: "x", ExpiresSeconds: 1 << 30},
		"tools[0]":                        {Name: "x", Tools: []string{"bank__{pay,send}"}},
	} {
		cfg := policy.DefaultConfig()
		cfg.Approvals = []decide.Approval{{Name: "first"}, rule}
		if _, err := policy.New(cfg, depsOf(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	c := client(t, rules())
	resp, err := c.CheckApprovalRules(t.Context(), &policyv1.CheckApprovalRulesRequest{Rules: []*policyv1.ApprovalRule{
		{Name: "a", Condition: "arguments.x == 1"},
		{Name: "a"},
		{Name: "b", Condition: "arguments.x ="},
		{Name: "c", Tools: []string{"bank__*", "${params.bank}__*"}},
	}})
	if err != nil || len(resp.GetFaults()) != 3 {
		t.Fatalf("%v, %v", resp, err)
	}
	for i, want := range []struct {
		index uint32
		field string
	}{{1, "name"}, {2, "condition"}, {3, "tools[1]"}} {
		if f := resp.GetFaults()[i]; f.GetIndex() != want.index || f.GetField() != want.field || f.GetMessage() == "" {
			t.Errorf("fault %v", f)
		}
	}
}
