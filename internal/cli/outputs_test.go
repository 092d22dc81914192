package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/internal/cli/clitest/resttest"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// TestJSONIsWhatTheServerWrote: -o json prints fields that are new, the order of names and the texts of numbers as the server wrote them.
func TestJSONIsWhatTheServerWrote(t *testing.T) {
	const body = `{"new":{"z":1.10,"a":9007199254740993},"intact":true,"id":"x","name":"n","records":"9007199254740993","first_seq":"1"}`
	f := clitest.New(t, root, nil)
	f.Hook = func(w http.ResponseWriter, r *http.Request) bool {
		text := body
		if r.URL.Path == "/v1/models" || r.URL.Path == "/v1/events" {
			text = `{"models":[` + body + `],"events":[` + body + `]}`
		}
		_, _ = w.Write([]byte(text))
		return true
	}
	for _, args := range []string{
		"agent get a", "source get s", "source create s --url http://a/mcp", "source update s --pin", "source sync s", "source diff s",
		"session create", "session get s", "session update s --title T", "session fork s", "session export s",
		"turn create s hello", "turn get t", "turn cancel t", "turn steer t more", "turn tree t", "turn compare t u", "turn rerun t",
		"turn resolve t c give_up", "approval approve a", "approval answer a --decline", "tool get t", "tool invoke t", "tool search t",
		"group create g", "group explain g t", "webhook create https://a", "webhook rotate w", "webhook redeliver w d",
		"schedule create hello", "schedule pause s", "schedule run s", "budget create tenant", "budget update b --warn-at 9",
		"policy create p", "policy update p --deny", "policy explain a.b.c", "quota get tenant", "quota set tenant --tokens-per-day 1",
		"quota usage", "quota delete tenant", "secret set s", "secret delete s", "secret rotate", "grant revoke g", "connection delete c",
		"cache stats", "cache clear --all", "analytics tools", "analytics sessions", "analytics recent", "audit verify", "whoami",
		"execution get e", "decision get d", "model list", "event list",
	} {
		want := body
		if strings.HasSuffix(args, " list") {
			want = "[" + body + "]"
		}
		r := f.Run("hidden", append(strings.Fields(args), "-o", "json")...)
		var got bytes.Buffer
		if err := json.Compact(&got, []byte(r.Out)); err != nil || r.Code != 0 || got.String() != want {
			t.Errorf("%s: %d %s%s", args, r.Code, r.Out, r.Err)
		}
	}
}

// TestOutputs: what people see of the answers of services.
func TestOutputs(t *testing.T) {
	earlier := timestamppb.New(time.Now().Add(-3*time.Hour - time.Minute))
	run := runner(t, &resttest.Services{Responses: map[string]proto.Message{
		policyv1.QuotaService_GetQuota_FullMethodName: &policyv1.Quota{
			Id: "users", ConcurrentTurns: 5, TokensPerDay: 1 << 53, CreateTime: earlier,
		},
		policyv1.QuotaService_ListQuotas_FullMethodName: &policyv1.ListQuotasResponse{Quotas: []*policyv1.Quota{
			{Id: "tenant", RequestsPerMinute: 7, CreateTime: earlier}, {Id: "user:ann", ToolCallsPerDay: 9, CreateTime: earlier},
		}},
		policyv1.QuotaService_GetQuotaUsage_FullMethodName: &policyv1.GetQuotaUsageResponse{User: "ann", Tenant: "t", Uses: []*policyv1.QuotaUse{
			{Scope: "user", Limit: "tokens_per_day", Max: 10, Used: 4, ResetTime: timestamppb.New(time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC))},
			{Scope: "tenant", Limit: "concurrent_turns", Max: 3, Used: 3},
		}},
		policyv1.GrantService_ListGrants_FullMethodName: &policyv1.ListGrantsResponse{Grants: []*policyv1.Grant{
			{Id: "gra_1", State: policyv1.GrantState_GRANT_STATE_ACTIVE, CreateTime: earlier, TurnId: "trn_1", Issuer: "https://issuer"},
		}},
		policyv1.SecretService_UpdateSecret_FullMethodName: &policyv1.Secret{Name: "crm", Version: 3},
		policyv1.SecretService_ListSecrets_FullMethodName: &policyv1.ListSecretsResponse{Secrets: []*policyv1.Secret{
			{Name: "crm", Version: 3, UpdateTime: earlier, SetBy: "ann", Description: "token of the CRM"},
		}},
		policyv1.SecretService_RotateSecrets_FullMethodName: &policyv1.RotateSecretsResponse{KeyId: "key_2", Secrets: 4},
		policyv1.ConnectionService_ListConnections_FullMethodName: &policyv1.ListConnectionsResponse{Connections: []*policyv1.Connection{{
			Source: "crm", State: policyv1.ConnectionState_CONNECTION_STATE_CONNECTED, CreateTime: earlier, Issuer: "https://crm",
			Scopes: []string{"r", "w"},
		}}},
		policyv1.AccessPolicyService_CreateAccessPolicy_FullMethodName: &policyv1.AccessPolicy{Name: "p", Revision: 2},
		policyv1.AccessPolicyService_ListAccessPolicies_FullMethodName: &policyv1.ListAccessPoliciesResponse{
			AccessPolicies: []*policyv1.AccessPolicy{{
				Name: "p", Effect: policyv1.AccessEffect_ACCESS_EFFECT_DENY, Priority: 5, Revision: 2, Expression: "true",
				Matchers: []*policyv1.ClaimMatcher{{
					Path: "dep", Operator: policyv1.ClaimOperator_CLAIM_OPERATOR_EQUALS, Values: []string{"a", "b"},
				}},
				Tools: []string{"a__*"}, ToolGroups: []string{"g"}, Permissions: []string{"x.*"},
			}},
		},
		policyv1.AccessPolicyService_ExplainAccess_FullMethodName: &policyv1.ExplainAccessResponse{
			Reason: "no policy allows it", Explained: []*policyv1.ExplainedPolicy{{
				Name: "p", Effect: policyv1.AccessEffect_ACCESS_EFFECT_ALLOW, Priority: 5, Message: "a condition fails",
				Matchers: []*policyv1.ExplainedMatcher{
					{Path: "dep", Operator: policyv1.ClaimOperator_CLAIM_OPERATOR_EQUALS, Values: []string{"a"}, Message: "is b"}, {Matches: true},
				},
			}},
		},
		policyv1.AccessPolicyService_ExplainAccessMatrix_FullMethodName: &policyv1.ExplainAccessMatrixResponse{
			Cells: []*policyv1.AccessCell{
				{Subject: "ann", Tool: "a__b", Decision: policyv1.AccessDecision_ACCESS_DECISION_ASK, Rule: "careful"},
				{Subject: "bob", Tool: "a__b", Decision: policyv1.AccessDecision_ACCESS_DECISION_DENY},
			},
		},
		sessionsv1.TurnService_GetTurnContext_FullMethodName: &sessionsv1.TurnContext{
			Step: 2, Model: "m/1", Tokens: 70, Counted: sessionsv1.TokenCount_TOKEN_COUNT_PROVIDER, Against: 1,
			Diff: []*sessionsv1.ContextDifference{
				{
					Op:   sessionsv1.ContextDiffOp_CONTEXT_DIFF_OP_SAME,
					Part: &sessionsv1.ContextPart{Kind: sessionsv1.ContextPartKind_CONTEXT_PART_KIND_SYSTEM, Tokens: 3, Text: "Be kind."},
				},
				{Op: sessionsv1.ContextDiffOp_CONTEXT_DIFF_OP_ADDED, Part: &sessionsv1.ContextPart{
					Kind: sessionsv1.ContextPartKind_CONTEXT_PART_KIND_TOOL_RESULT, Role: turnv1.Role_ROLE_TOOL, Name: "a__b", Tokens: 9, Text: "42",
				}},
			},
		},
		sessionsv1.SessionAnalyticsService_GetUsage_FullMethodName: &sessionsv1.GetUsageResponse{Rows: []*sessionsv1.UsageRow{
			{Key: "m/1", Turns: 2, InputTokens: 30, OutputTokens: 4, CostMicros: 1500000, ModelCalls: 3, ToolCalls: 1, Failed: 1},
		}},
		sessionsv1.BudgetService_GetBudgetTree_FullMethodName: &sessionsv1.BudgetTree{Roots: []*sessionsv1.BudgetNode{{
			Budget: &sessionsv1.Budget{Id: "bgt_1", Scope: "tenant", Period: "day", MaxTokens: 100, MaxCost: "2"},
			Used:   &sessionsv1.BudgetAmount{Tokens: 60, CostMicros: 500000}, Reserved: &sessionsv1.BudgetAmount{Tokens: 30},
			Remaining: &sessionsv1.BudgetAmount{Tokens: 10, CostMicros: 1500000},
			Children: []*sessionsv1.BudgetNode{{
				Budget: &sessionsv1.Budget{Id: "bgt_2", Scope: "agent", Target: "a", Period: "none", MaxToolCalls: 5},
				Used:   &sessionsv1.BudgetAmount{ToolCalls: 2}, Remaining: &sessionsv1.BudgetAmount{ToolCalls: 3},
			}},
		}}},
		policyv1.AccessPolicyService_ReplayDecisions_FullMethodName: &policyv1.ReplayDecisionsResponse{
			Replayed: 9, Skipped: 1, Differences: []*policyv1.DecisionDifference{{
				Decision: &policyv1.Decision{CreateTime: earlier, Subject: "ann", Resource: "a__b", Allowed: true}, Reason: "denied by p",
			}},
		},
		policyv1.AuditService_VerifyAudit_FullMethodName: &policyv1.VerifyAuditResponse{Intact: true, Records: 5, FirstSeq: 3, Hash: "abc"},
		policyv1.AuditService_ListAuditRecords_FullMethodName: &policyv1.ListAuditRecordsResponse{Records: []*policyv1.AuditRecord{{
			Id: "aud_1", Seq: 7, Time: earlier, Subject: "ann", Action: "registry.tools.invoke", Resource: "a__b", Reason: "no <access>",
			Outcome: policyv1.AuditOutcome_AUDIT_OUTCOME_REFUSED,
		}}},
		registryv1.ToolGroupService_ExplainToolGroup_FullMethodName: &registryv1.ExplainToolGroupResponse{
			Tool: "a__b", Message: "a__b is not in g", Unmet: []*registryv1.UnmetSelector{{Selector: "s/*", Message: "another source"}},
		},
		registryv1.ToolGroupService_ListToolGroups_FullMethodName: &registryv1.ListToolGroupsResponse{ToolGroups: []*registryv1.ToolGroup{{
			Name: "g", UpdateTime: earlier, Members: []string{"a__b"}, Selectors: []*registryv1.ToolSelector{{
				Source: "s", Effects: []turnv1.EffectClass{turnv1.EffectClass_EFFECT_CLASS_READ}, Labels: map[string]string{"k": "v"},
				Tags: []string{"t"},
			}},
		}}},
		sessionsv1.BudgetService_ListBudgets_FullMethodName: &sessionsv1.ListBudgetsResponse{Budgets: []*sessionsv1.Budget{{
			Id: "bgt_1", Scope: "agent", Target: "a", Period: "day", MaxTokens: 100, UsedTokens: 7, MaxCost: "2.50", CreateTime: earlier,
		}}},
		sessionsv1.ScheduleService_RunSchedule_FullMethodName: &sessionsv1.ScheduleFire{
			Outcome: sessionsv1.FireOutcome_FIRE_OUTCOME_STARTED, TurnId: "trn_1",
		},
		sessionsv1.ScheduleService_ListSchedules_FullMethodName: &sessionsv1.ListSchedulesResponse{Schedules: []*sessionsv1.Schedule{
			{Id: "s1", Cron: "* * * * *", TimeZone: "UTC", AgentId: "a", Synced: true, Input: "hello"},
			{Id: "s2", Interval: "15m", SessionId: "ses_1", Paused: true, LastTurnId: "trn_1", Input: "again"},
		}},
		sessionsv1.WebhookService_ListWebhooks_FullMethodName: &sessionsv1.ListWebhooksResponse{Webhooks: []*sessionsv1.Webhook{
			{Id: "w1", Url: "https://a", Events: []string{"turn.failed"}, AgentId: "a", CreateTime: earlier},
			{Id: "w2", PerTurn: true, Disabled: true, LastError: "gone", CreateTime: earlier, Description: "turns"},
		}},
		sessionsv1.WebhookService_CreateWebhook_FullMethodName: &sessionsv1.Webhook{Id: "w1", Secret: "whsec_x"},
	}})
	for _, tc := range []struct{ args, out, err string }{
		{args: "access matrix a__b", out: `
SUBJECT  TOOL  DECISION  RULE
ann      a__b  ask       careful
bob      a__b  deny
`},
		{args: "turn context t --against 1", out: `
Step 2, m/1, 70 tokens (counted by the provider)
   KIND         ROLE  NAME  TOKENS  TEXT
   system                   3       Be kind.
+  tool result  tool  a__b  9       42
`},
		{args: "usage --by model", out: `
     TURNS  TOKENS IN  TOKENS OUT  COST  MODEL CALLS  TOOL CALLS  FAILED
m/1  2      30         4           1.5   3            1           1
`},
		{args: "budget tree", out: `
FOR        PERIOD  LIMIT         USED  RESERVED  LEFT  ID
tenant     day     100 tokens    60    30        10    bgt_1
tenant     day     2 cost        0.5   0         1.5   bgt_1
└ agent a  none    5 tool calls  2     0         3     bgt_2
`},
		{args: "quota get users", out: `
QUOTA  REQUESTS/MIN  TURNS  TOKENS/DAY        TOOL CALLS/DAY  AGE
users  -             5      9007199254740992  -               3h
`},
		{args: "quota list -o name", out: "\ntenant\nuser:ann\n"},
		{args: "quota usage", out: `
SCOPE   LIMIT             USED  MAX  RESETS
user    tokens per day    4     10   2026-01-03T00:00:00Z
tenant  concurrent turns  3     3    -
`},
		{args: "quota delete users", out: "\nquota users deleted\n"},
		{args: "quota set users", err: "give at least one limit"},
		{args: "grant list", out: `
GRANT  STATE   AGE  TURN   ISSUER
gra_1  active  3h   trn_1  https://issuer
`},
		{args: "grant revoke gra_1", out: "\ngrant gra_1 revoked\n"},
		{args: "secret set crm", out: "\nsecret crm set, version 3; refer to it as ${secret:crm}\n"},
		{args: "secret list", out: `
NAME  VERSION  AGE  SET BY  DESCRIPTION
crm   3        3h   ann     token of the CRM
`},
		{args: "secret rotate", out: "\nSecrets that are encrypted with the new data key key_2: 4\n"},
		{args: "connection list", out: `
SOURCE  STATE      AGE  AT           SCOPES
crm     connected  3h   https://crm  r w
`},
		{args: "connection delete crm", out: "\nconnection to crm deleted; its tokens were not revoked: " +
			"the authorization server cannot do that, or did not\n"},
		{args: "policy create p", out: "\npolicy p created, revision 2; it applies to the next call\n"},
		{args: "policy list", out: `
NAME  EFFECT  PRIORITY  DISABLED  REVISION  MATCHES                 GRANTS
p     deny    5         no        2         dep equals a|b && true  a__*,group:g,x.*
`},
		{args: "policy explain a__b", out: `
denied: no policy allows it

p (allow, priority 5): a condition fails
  no  dep equals a: is b
  yes expression
`},
		{args: "policy replay --without p", out: `
AGE  SUBJECT  RESOURCE  WAS      DRAFT   NOW     REASON
3h   ann      a__b      allowed  denied  denied  denied by p
1 of 9 decisions would be different; 1 could not be decided again, because their principal is not recorded
`},
		{args: "policy replay", err: "give either a file with a draft, or --without NAME"},
		{args: "policy update p", err: "say what to change"},
		{args: "policy update p --allow --deny", err: "--allow and --deny exclude each other"},
		{args: "policy explain a__b --role r", err: "--claims and --role need a --subject"},
		{args: "audit verify", out: "\nthe audit trail is intact from record 3 on, those before it are not kept any more: " +
			"5 records, the last one, record 7, with the hash abc\n"},
		{args: "audit list", out: `
SEQ  AGE  SUBJECT  ACTION                 RESOURCE  OUTCOME  REASON
7    3h   ann      registry.tools.invoke  a__b      refused  no <access>
`},
		{args: "audit list --since yesterday", err: `--since: "yesterday" is neither a time such as`},
		{args: "audit list --outcome bad", err: `--outcome is "bad": use allowed, refused, done or failed`},
		{args: "group explain g a__b", out: "\na__b is not in g\n  s/*: another source\n"},
		{args: "group list", out: `
NAME  SELECTORS        TOOLS  EXCLUDE  MEMBERS  UPDATED  DESCRIPTION
g     s/* read k=v #t                  a__b     3h
`},
		{args: "group create g --effect write", err: `--effect "write": want read, idempotent or once`},
		{args: "group create g --select s", err: `--select "s": want SOURCE/TOOL`},
		{args: "budget list", out: `
ID     FOR      PERIOD  TOKENS    COST       TOOL CALLS  AGE
bgt_1  agent a  day     7 of 100  0 of 2.50  0           3h
`},
		{args: "budget update b", err: "say what to change: --max-tokens"},
		{args: "schedule run s", out: "\nstarted trn_1\n"},
		{args: "schedule list", out: `
ID  WHEN           WHERE  STATE   NEXT  LAST TURN  INPUT
s1  * * * * * UTC  a      ok                       hello
s2  every 15m      ses_1  paused        trn_1      again
`},
		{args: "schedule update s", err: "say what to change"},
		{args: "schedule update s --params 1", err: "--params must be a JSON object"},
		{args: "webhook list", out: `
ID  URL             EVENTS       AGENT  STATE           AGE  DESCRIPTION
w1  https://a       turn.failed  a      ok              3h
w2  (of each turn)  all          all    disabled: gone  3h   turns
`},
		{args: "webhook create https://a -o name", out: "\nw1\n", err: "store the secret: it cannot be shown again\n"},
		{args: "webhook update w", err: "say what to change: --url"},
		{args: "session update s", err: "say what to change: --title, --label, --pinned or --archived"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			r := run("hidden\n", strings.Fields(tc.args)...)
			if want := strings.TrimPrefix(tc.out, "\n"); r.Out != want || !strings.Contains(r.Err, tc.err) || (r.Code == 0) != (tc.out != "") {
				t.Errorf("%d %q\n%s\nwant %q\n%s", r.Code, r.Err, r.Out, tc.err, want)
			}
		})
	}
}
