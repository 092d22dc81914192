package cli

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/internal/cli/clitest/resttest"
	"github.com/windlass-dev/windlass/libs/canon"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// text returns the name of a request, and its JSON with sorted names.
func text(t *testing.T, req proto.Message) string {
	t.Helper()
	raw, err := codec.MarshalSet(req)
	if err != nil {
		t.Fatal(err)
	}
	object, err := canon.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return string(req.ProtoReflect().Descriptor().Name()) + " " + string(object.JSON())
}

// runner returns a function that runs commands against services behind the real REST API.
func runner(t *testing.T, s *resttest.Services) func(stdin string, args ...string) clitest.Result {
	t.Helper()
	srv := httptest.NewServer(s.Handler(t))
	t.Cleanup(srv.Close)
	run := clitest.New(t, root, nil)
	return func(stdin string, args ...string) clitest.Result {
		return run.With(func(a *app.App) { a.Environ = []string{"WINDLASS_SERVER=" + srv.URL} }, stdin, args...)
	}
}

// TestRequests: what the services are asked by commands, through the REST API.
func TestRequests(t *testing.T) {
	draft := filepath.Join(t.TempDir(), "draft.yaml")
	if err := os.WriteFile(draft, []byte("kind: policy\nname: p\neffect: allow\ntools: [a__*]\npriority: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	services := &resttest.Services{Responses: map[string]proto.Message{
		registryv1.SourceService_DiffSource_FullMethodName: &registryv1.DiffSourceResponse{
			Tools: []*registryv1.DriftedTool{{Name: "notes__a", DefinitionHash: "h1"}, {Name: "notes__b", DefinitionHash: "h2"}},
		},
		sessionsv1.ApprovalService_GetApproval_FullMethodName: &sessionsv1.Approval{Id: "apr_1", Kind: turnv1.WaitKind_WAIT_KIND_INPUT},
		policyv1.ConnectionService_BeginConnection_FullMethodName: &policyv1.ConnectionAttempt{
			Id: "att_1", Source: "crm",
		},
		policyv1.ConnectionService_GetConnectionAttempt_FullMethodName: &policyv1.ConnectionAttempt{
			State: policyv1.ConnectionAttemptState_CONNECTION_ATTEMPT_STATE_CONNECTED,
		},
	}}
	run := runner(t, services)
	for _, tc := range []struct {
		args  string
		stdin string
		want  []string
	}{
		{args: "agent get a", want: []string{`GetAgentRequest {"agent_id":"a"}`}},
		{args: "agent delete a b --force", want: []string{
			`DeleteAgentRequest {"agent_id":"a","force":true}`, `DeleteAgentRequest {"agent_id":"b","force":true}`,
		}},
		{args: "agent revisions a", want: []string{`ListAgentRevisionsRequest {"agent_id":"a","page_size":100}`}},
		{args: "model list", want: []string{`ListModelsRequest {"page_size":100}`}},
		{args: "model get a/b", want: []string{`ResolveModelRequest {"model":"a/b"}`}},
		{args: "decision list --denied-only --turn t", want: []string{`ListDecisionsRequest {"denied_only":true,"page_size":100,"turn_id":"t"}`}},
		{args: "event list --type a,b --oldest-first --limit 3", want: []string{`ListEventsRequest {"oldest_first":true,"page_size":3,"types":["a,b"]}`}},
		{
			args: "execution list --state failed --errors --since 2026-01-02T15:04:05+01:00",
			want: []string{`ListExecutionsRequest {"errors":true,"page_size":100,"start_time":"2026-01-02T14:04:05Z","state":"failed"}`},
		},
		{args: "tool list --effect read", want: []string{`ListToolsRequest {"effect":"read","page_size":100}`}},
		{args: "tool search find it --source s --limit 4", want: []string{`SearchToolsRequest {"limit":4,"query":"find it","source":"s"}`}},
		{
			args: "tool invoke a__b - --key k --fresh", stdin: `{"n":9007199254740993,"d":1.10}`,
			want: []string{`InvokeToolRequest {"arguments":{"d":1.10,"n":9007199254740993},"fresh":true,"idempotency_key":"k","name":"a__b"}`},
		},

		{args: "session list --active --oldest --label a=b", want: []string{
			`ListSessionsRequest {"active":true,"label":["a=b"],"order_by":"create_time","page_size":100}`,
		}},
		{
			args: `session create --agent a --title T --label k=v --params {"n":1e400}`,
			want: []string{`CreateSessionRequest {"agent_id":"a","labels":{"k":"v"},"params":{"n":1e400},"title":"T"}`},
		},
		{args: "session update s --title= --label k=v", want: []string{
			`UpdateSessionRequest {"session":{"id":"s","labels":{"k":"v"}},"update_mask":"labels,title"}`,
		}},
		{args: "session fork s --seq 7 --key k", want: []string{`ForkSessionRequest {"idempotency_key":"k","seq":7,"session_id":"s"}`}},
		{args: "session export s --events -f json", want: []string{`ExportSessionRequest {"format":"json","include_events":true,"session_id":"s"}`}},
		{
			args:  "session import - --title T",
			stdin: `{"session":{"agent_id":"a"},"turns":[{"id":"t"}],"messages":[{"role":"user","content":[{"text":"x"}]}],"events":[{"seq":1}],"new":1}`,
			want: []string{
				`ImportSessionRequest {"messages":[{"content":[{"text":"x"}],"role":"user"}],"session":{"agent_id":"a"},"title":"T"}`,
			},
		},
		{args: "session messages s", want: []string{`ListMessagesRequest {"page_size":200,"session_id":"s"}`}},
		{args: "artifact list s", want: []string{`ListArtifactsRequest {"page_size":100,"session_id":"s"}`}},
		{args: "artifact get a", want: []string{`ReadArtifactRequest {"artifact_id":"a"}`}},

		{
			args: "turn create s hello --mode steer --model a/b --webhook-url https://a --key k --max-steps 3 --max-cost 0.25",
			want: []string{`CreateTurnRequest {"idempotency_key":"k","input":"hello","limits":{"max_cost":"0.25","max_steps":3},` +
				`"mode":"steer","model":"a/b","session_id":"s","webhook_url":"https://a"}`},
		},
		{args: "turn cancel t --reason why", want: []string{`CancelTurnRequest {"reason":"why","turn_id":"t"}`}},
		{args: "turn steer t more of it --key k", want: []string{`SteerTurnRequest {"idempotency_key":"k","input":"more of it","turn_id":"t"}`}},
		{args: "turn resolve t c done - --comment looked", stdin: "receipt", want: []string{
			`ResolveToolCallRequest {"call_id":"c","comment":"looked","outcome":"done","result":"receipt","turn_id":"t"}`,
		}},
		{args: "turn rerun t --from failed --tools live --turn-seconds 0", want: []string{
			`RerunTurnRequest {"from_step":"failed","limits":{},"tools":"live","turn_id":"t"}`,
		}},
		{args: "turn compare t u", want: []string{`CompareTurnsRequest {"turn_id":"t","with":"u"}`}},
		{args: "turn context t --step 2 --against 1", want: []string{`GetTurnContextRequest {"against":1,"step":2,"turn_id":"t"}`}},
		{args: "turn journal t --limit 3", want: []string{`ListTurnEventsRequest {"order":"desc","page_size":3,"turn_id":"t"}`}},
		{args: "usage --by model --agent a --since 2026-11-01T00:00:00Z", want: []string{
			`GetUsageRequest {"agent_id":"a","group_by":"model","since":"2026-11-01T00:00:00Z"}`,
		}},
		{args: "budget tree", want: []string{`GetBudgetTreeRequest {}`}},
		{args: "access matrix a__b c__d --subject ann --draft " + draft, want: []string{
			`ExplainAccessMatrixRequest {"draft":{"effect":"allow","name":"p","priority":5,"tools":["a__*"]},"subjects":["ann"],` +
				`"tools":["a__b","c__d"]}`,
		}},
		{args: "access explain a__b --draft " + draft, want: []string{
			`ExplainAccessRequest {"draft":{"effect":"allow","name":"p","priority":5,"tools":["a__*"]},"tool":"a__b"}`,
		}},
		{args: "turn tree t", want: []string{`GetTurnTreeRequest {"turn_id":"t"}`}},

		{args: "approval list --status all --kind resolution", want: []string{`ListApprovalsRequest {"kind":"resolution","page_size":100}`}},
		{args: "approval deny a b --comment no", want: []string{
			`DecideApprovalRequest {"approval_id":"a","comment":"no","decision":"deny"}`,
			`DecideApprovalRequest {"approval_id":"b","comment":"no","decision":"deny"}`,
		}},
		{args: `approval answer a {"n":9007199254740993}`, want: []string{
			`GetApprovalRequest {"approval_id":"a"}`, `AnswerApprovalRequest {"approval_id":"a","content":{"n":9007199254740993}}`,
		}},
		{args: `decide a {"n":1.10}`, want: []string{
			`GetApprovalRequest {"approval_id":"a"}`, `AnswerApprovalRequest {"approval_id":"apr_1","content":{"n":1.10}}`,
		}},
		{args: "decide a no idea", want: []string{
			`GetApprovalRequest {"approval_id":"a"}`, `AnswerApprovalRequest {"approval_id":"apr_1","content":{"answer":"no idea"}}`,
		}},

		{
			args: "webhook create https://a/h --event turn.failed,turn.completed --agent a --disabled --id w",
			want: []string{`CreateWebhookRequest {"webhook":{"agent_id":"a","disabled":true,"events":["turn.failed","turn.completed"],"id":"w",` +
				`"url":"https://a/h"}}`},
		},
		{args: "webhook create --per-turn", want: []string{`CreateWebhookRequest {"webhook":{"per_turn":true}}`}},
		{args: "webhook update w --disabled=false --event= --agent=", want: []string{
			`UpdateWebhookRequest {"update_mask":"agentId,disabled,events","webhook":{"id":"w"}}`,
		}},
		{args: "webhook rotate w --revoke-old", want: []string{`RotateWebhookRequest {"revoke_old":true,"webhook_id":"w"}`}},
		{args: "webhook deliveries w", want: []string{`ListWebhookDeliveriesRequest {"page_size":100,"webhook_id":"w"}`}},
		{args: "webhook redeliver w d", want: []string{`RedeliverWebhookRequest {"delivery_id":"d","webhook_id":"w"}`}},

		{args: `schedule create hello --agent a --every 15m --paused --params {"n":1} --id s`, want: []string{
			`CreateScheduleRequest {"schedule":{"agent_id":"a","id":"s","input":"hello","interval":"15m","params":{"n":1},"paused":true}}`,
		}},
		{args: `schedule update s --cron= --input x --params {}`, want: []string{
			`UpdateScheduleRequest {"schedule":{"id":"s","input":"x","params":{}},"update_mask":"cron,input,params"}`,
		}},
		{args: "schedule pause s", want: []string{`PauseScheduleRequest {"schedule_id":"s"}`}},
		{args: "schedule resume s", want: []string{`ResumeScheduleRequest {"schedule_id":"s"}`}},
		{args: "schedule run s", want: []string{`RunScheduleRequest {"schedule_id":"s"}`}},
		{args: "budget create agent a --max-tokens 9007199254740993 --period day", want: []string{
			`CreateBudgetRequest {"budget":{"max_tokens":"9007199254740993","period":"day","scope":"agent","target":"a"}}`,
		}},
		{args: "budget update b --max-tokens 0 --warn-at 90", want: []string{
			`UpdateBudgetRequest {"budget":{"id":"b","warn_at":90},"update_mask":"maxTokens,warnAt"}`,
		}},
		{args: "quota set user:dev:ann --tokens-per-day 0 --concurrent-turns 5", want: []string{
			`SetQuotaRequest {"concurrent_turns":"5","quota_id":"user:dev:ann","tokens_per_day":"0"}`,
		}},
		{args: "quota usage ann", want: []string{`GetQuotaUsageRequest {"user":"ann"}`}},

		{args: "policy create p --deny --tool a,b --priority -3 --description d", want: []string{
			`CreateAccessPolicyRequest {"access_policy":{"description":"d","effect":"deny","name":"p","priority":-3,"tools":["a,b"]}}`,
		}},
		{args: "policy update p --disabled=false --allow --tool-group= --expression=", want: []string{
			`UpdateAccessPolicyRequest {"access_policy":{"effect":"allow","name":"p"},` +
				`"update_mask":"disabled,expression,toolGroups,effect"}`,
		}},
		{args: "policy explain a__b --subject ann --role r", want: []string{
			`ExplainAccessRequest {"principal":{"roles":["r"],"subject":"ann"},"tool":"a__b"}`,
		}},
		{args: `policy explain a.b.c --subject ann --claims {"level":9007199254740993}`, want: []string{
			`ExplainAccessRequest {"permission":"a.b.c","principal":{"claims":{"level":9007199254740993},"subject":"ann"}}`,
		}},
		{args: "policy replay --since 2026-01-02T15:04:05Z " + draft, want: []string{
			`ReplayDecisionsRequest {"draft":{"effect":"allow","name":"p","priority":5,"tools":["a__*"]},"page_size":100,` +
				`"start_time":"2026-01-02T15:04:05Z"}`,
		}},
		{args: "group create g --select s/* --effect read --label team=red --tag t --tool a__b --exclude *__c", want: []string{
			`CreateToolGroupRequest {"tool_group":{"exclude":["*__c"],"name":"g","selectors":[{"effects":["read"],"labels":{"team":"red"},` +
				`"name":"*","source":"s","tags":["t"]}],"tools":["a__b"]}}`,
		}},
		{args: "group explain g a__b", want: []string{`ExplainToolGroupRequest {"name":"g","tool":"a__b"}`}},
		{args: "source update notes --timeout 0 --bearer=", want: []string{
			`UpdateSourceRequest {"source":{"id":"notes"},"update_mask":"auth,callTimeoutSeconds"}`,
		}},
		{args: "source create s --exclude= --url http://a/mcp --endpoint= --header A=b,C=d --pin", want: []string{
			`CreateSourceRequest {"source":{"headers":{"A":"b","C":"d"},"kind":"mcp","name":"s","pin":true,"url":"http://a/mcp"}}`,
		}},
		{args: "source create s -- npx -y x", want: []string{
			`CreateSourceRequest {"source":{"command":["npx","-y","x"],"kind":"mcp","name":"s"}}`,
		}},
		{args: "source accept notes b", want: []string{
			`DiffSourceRequest {"source_id":"notes"}`, `AcceptSourceRequest {"source_id":"notes","tools":[{"definition_hash":"h2","name":"notes__b"}]}`,
		}},
		{args: "source sync", want: []string{`RefreshToolsRequest {}`}},
		{args: "source sync notes", want: []string{`SyncSourceRequest {"source_id":"notes"}`}},
		{args: "cache clear a__b", want: []string{`ClearToolCacheRequest {"tool":"a__b"}`}},
		{args: "cache stats --period 90s", want: []string{`GetToolCacheStatsRequest {"period":"90s"}`}},
		{args: "analytics tools --period 1.5s --tool a__b", want: []string{`GetToolAnalyticsRequest {"period":"1.500s","tool":"a__b"}`}},
		{args: "analytics recent --limit 5", want: []string{`ListRecentExecutionsRequest {"limit":5}`}},
		{args: "analytics sessions", want: []string{`GetSessionAnalyticsRequest {}`}},

		{args: "model health", want: []string{`ListModelHealthRequest {"page_size":100}`}},
		{args: "model health reset a/b", want: []string{`ResetModelHealthRequest {"name":"a/b"}`}},
		{args: "model try a/b --check text", want: []string{`TryModelRequest {"checks":["text"],"model":"a/b"}`}},

		{args: "secret set s --description d", stdin: "hidden\n", want: []string{
			`UpdateSecretRequest {"description":"d","name":"s","value":"hidden"}`,
		}},
		{args: "secret delete s", want: []string{`DeleteSecretRequest {"name":"s"}`}},
		{args: "secret rotate", want: []string{`RotateSecretsRequest {}`}},
		{args: "connection create crm", want: []string{
			`BeginConnectionRequest {"source":"crm"}`, `GetConnectionAttemptRequest {"attempt_id":"att_1"}`, `GetConnectionRequest {"source":"crm"}`,
		}},
		{args: "connection delete crm", want: []string{`DeleteConnectionRequest {"source":"crm"}`}},
		{args: "grant list", want: []string{`ListGrantsRequest {"page_size":200}`}},
		{args: "grant revoke g", want: []string{`RevokeGrantRequest {"grant_id":"g"}`}},
		{args: "audit list --outcome refused --turn t --until 2026-01-02T15:04:05Z --limit 9", want: []string{
			`ListAuditRecordsRequest {"outcome":"refused","page_size":9,"turn_id":"t","until":"2026-01-02T15:04:05Z"}`,
		}},
		{args: "audit export --subject ann", want: []string{`ListAuditRecordsRequest {"oldest_first":true,"page_size":500,"subject":"ann"}`}},
		{args: "audit verify --seq 7 --hash h", want: []string{`VerifyAuditRequest {"hash":"h","seq":"7"}`}},
		{args: "whoami", want: []string{`GetCallerRequest {}`}},
		{args: "apply -f - --dry-run", stdin: "kind: agent\nid: a\n", want: []string{
			`ApplyBundleRequest {"dry_run":true,"yaml":"kind: agent\nid: a\n"}`,
		}},
	} {
		t.Run(tc.args, func(t *testing.T) {
			r := run(tc.stdin, strings.Fields(tc.args)...)
			var got []string
			for _, req := range services.Requests() {
				got = append(got, text(t, req))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("requests\n%s\nwant\n%s\n%d %s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"), r.Code, r.Err)
			}
		})
	}
}

// TestFiltersAreFields: each flag that filters a list is a field of the request.
func TestFiltersAreFields(t *testing.T) {
	for _, n := range nouns() {
		fields := n.List.ProtoReflect().Descriptor().Fields()
		for _, f := range n.Filters {
			name := f.Query
			if name == "" {
				name = strings.ReplaceAll(f.Name, "-", "_")
			}
			if fields.ByTextName(name) == nil {
				t.Errorf("%s list --%s: the request has no field %s", n.Name, f.Name, name)
			}
		}
	}
}

// TestValuesThatNoFieldCanHave: a wrong value is explained in the words of the API.
func TestValuesThatNoFieldCanHave(t *testing.T) {
	services := &resttest.Services{}
	run := runner(t, services)
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"policy", "create", "p", "--match", "a like b"}, "matchers[0].operator: must be one of: equals, "},
		{[]string{"tool", "invoke", "a__b", "[1]"}, "arguments: must be a JSON object\n"},
		{[]string{"policy", "explain", "a__b", "--subject", "s", "--claims", "1"}, "principal.claims: must be a JSON object\n"},
		{[]string{"analytics", "recent", "--limit", "3000000000"}, "limit: must be a whole number\n"},
		{[]string{"audit", "verify", "--seq", "-1"}, "seq: must be a whole number from 0\n"},
		{[]string{"turn", "list", "--status", "bogus"}, "status: must be one of: queued, "},
	} {
		r := run("", tc.args...)
		if r.Code != app.ExitError || !strings.HasPrefix(r.Err, "error: "+tc.want) {
			t.Errorf("%q: %d %q, want %q", tc.args, r.Code, r.Err, tc.want)
		}
		if sent := services.Requests(); len(sent) > 0 {
			t.Errorf("%q: requests %v", tc.args, sent)
		}
	}
}

// TestNumbersAreShownAsTheyAreSent: numbers that a double does not hold, or would be written as another text, are printed as the gateway
// writes them, in arguments and in results.
func TestNumbersAreShownAsTheyAreSent(t *testing.T) {
	const numbers = `{"decimal":0.10000000000000000000000000001,"id":9007199254740993,"list":[1.10,-0,1e400]}`
	arguments, err := canon.ParseStruct([]byte(numbers))
	if err != nil {
		t.Fatal(err)
	}
	approval := &sessionsv1.Approval{
		Id: "apr_1", Kind: turnv1.WaitKind_WAIT_KIND_APPROVAL, Status: sessionsv1.ApprovalStatus_APPROVAL_STATUS_PENDING, Tool: "bank__pay",
		Arguments: arguments,
	}
	run := runner(t, &resttest.Services{Responses: map[string]proto.Message{
		sessionsv1.ApprovalService_GetApproval_FullMethodName: approval,
		sessionsv1.ApprovalService_ListApprovals_FullMethodName: &sessionsv1.ListApprovalsResponse{
			Approvals: []*sessionsv1.Approval{approval},
		},
		registryv1.ToolService_InvokeTool_FullMethodName: &registryv1.InvokeToolResponse{
			ExecutionId: "exe_1", StructuredContent: structpb.NewStructValue(arguments),
			Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: numbers}}},
		},
		registryv1.ToolAnalyticsService_GetExecution_FullMethodName: &registryv1.Execution{Id: "exe_1", Input: numbers, Output: numbers},
	}})
	for args, want := range map[string]string{
		"approval get apr_1":                             numbers,
		"approval get apr_1 -o json":                     numbers,
		"approval get apr_1 -o yaml":                     "decimal:0.10000000000000000000000000001id:9007199254740993list:-1.10--0-1e400",
		"approval get apr_1 -o jsonpath={.arguments.id}": "9007199254740993",
		"approval list":                                  `{"decimal":0.10000000000000000000000000001,"id"…`,
		"approval list -o json":                          numbers,
		"tool invoke bank__pay {}":                       numbers,
		"tool invoke bank__pay {} -o json":               `"structured_content":` + numbers,
		"execution get exe_1":                            numbers,
		"execution get exe_1 -o json":                    `"output":"` + strings.ReplaceAll(numbers, `"`, `\"`),
	} {
		r := run("", strings.Fields(args)...)
		if printed := strings.Join(strings.Fields(r.Out), ""); r.Code != 0 || !strings.Contains(printed, want) {
			t.Errorf("%s: %d %s%s\nlacks %s", args, r.Code, r.Out, r.Err, want)
		}
	}
}
