package client

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/httprule"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func TestRequestOf(t *testing.T) {
	active := false
	zero := int64(0)
	arguments, err := canon.ParseStruct([]byte(`{"b":9007199254740993,"a":1.10}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		req  proto.Message
		want string // method, path, query, body and key
	}{
		"no variable": {&policyv1.GetCallerRequest{}, "GET /v1/me"},
		"a variable, which is escaped": {
			&sessionsv1.GetAgentRequest{AgentId: "a/b c", Revision: 3}, "GET /v1/agents/a%2Fb%20c?revision=3",
		},
		"a variable and a verb": {&registryv1.DiffSourceRequest{SourceId: "notes"}, "GET /v1/sources/notes:diff"},
		"a duration":            {&sessionsv1.GetTurnRequest{TurnId: "trn_1", Wait: durationpb.New(time.Minute)}, "GET /v1/turns/trn_1?wait=60s"},
		"a list, an enum and a time": {
			&sessionsv1.ListTurnsRequest{
				Label: []string{"a=b", "c"}, Status: turnv1.TurnStatus_TURN_STATUS_RUNNING, SessionId: "ses_1", PageSize: 7,
				StartTime: timestamppb.New(time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)),
			},
			"GET /v1/turns?label=a%3Db&label=c&page_size=7&session_id=ses_1&start_time=2026-01-02T15%3A04%3A05Z&status=running",
		},
		"false, where that is a value": {&sessionsv1.ListSessionsRequest{Active: &active}, "GET /v1/sessions?active=false"},
		"64 bits":                      {&policyv1.VerifyAuditRequest{Seq: 1<<64 - 1}, "GET /v1/audit:verify?seq=18446744073709551615"},
		"a request without fields":     {&policyv1.RenewGrantsRequest{}, "POST /v1/grants:renew {}"},
		"two variables": {
			&sessionsv1.RedeliverWebhookRequest{WebhookId: "whk_1", DeliveryId: "dlv_1"}, "POST /v1/webhooks/whk_1/deliveries/dlv_1:redeliver {}",
		},
		"a body besides a variable, and a key": {
			&registryv1.InvokeToolRequest{Name: "a__b", Arguments: arguments, IdempotencyKey: "k", Fresh: true},
			`POST /v1/tools/a__b:invoke {"arguments":{"a":1.10,"b":9007199254740993},"fresh":true} k`,
		},
		"zero, where that is a value": {
			&policyv1.SetQuotaRequest{QuotaId: "user:dev:ann", TokensPerDay: &zero}, `PATCH /v1/quotas/user:dev:ann {"tokens_per_day":"0"}`,
		},
		"a body that is one field": {
			&policyv1.CreateAccessPolicyRequest{
				AccessPolicy: &policyv1.AccessPolicy{Name: "p", Effect: policyv1.AccessEffect_ACCESS_EFFECT_DENY}, ValidateOnly: true,
			},
			`POST /v1/access-policies?validate_only=true {"effect":"deny","name":"p"}`,
		},
		"a variable in the body, and a mask": {
			&sessionsv1.UpdateScheduleRequest{
				Schedule:   &sessionsv1.Schedule{Id: "sch_1", Cron: "* * * * *"},
				UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"cron", "time_zone"}},
			},
			`PATCH /v1/schedules/sch_1?update_mask=cron%2Ctime_zone {"cron":"* * * * *"}`,
		},
		"no body, although there is one": {&sessionsv1.CreateBudgetRequest{}, "POST /v1/budgets {}"},
		"a deletion":                     {&sessionsv1.DeleteAgentRequest{AgentId: "a", Force: true}, "DELETE /v1/agents/a?force=true"},
		"text that is not UTF-8": {
			&sessionsv1.CreateSessionRequest{Title: "a\xff\xfeb", Labels: map[string]string{"k": "\xff"}},
			`POST /v1/sessions {"labels":{"k":"` + "\ufffd" + `"},"title":"a` + "\ufffd\ufffd" + `b"}`,
		},
	} {
		before := proto.Clone(tc.req)
		r, err := requestOf(tc.req)
		got := r.method + " " + r.path
		if len(r.query) > 0 {
			got += "?" + r.query.Encode()
		}
		if r.body != nil {
			var body map[string]json.RawMessage // in the order of the names
			if err := json.Unmarshal(r.body, &body); err != nil {
				t.Errorf("%s: %s: %v", name, r.body, err)
			}
			sorted, err := json.Marshal(body)
			if err != nil {
				t.Error(err)
			}
			got += " " + string(sorted)
		}
		if r.key != "" {
			got += " " + r.key
		}
		if err != nil || got != tc.want {
			t.Errorf("%s: %s, %v\nwant %s", name, got, err, tc.want)
		}
		if !proto.Equal(before, tc.req) {
			t.Errorf("%s: the request is changed to %v", name, tc.req)
		}
	}
}

func TestRequestsOfOtherServices(t *testing.T) {
	for _, req := range []proto.Message{&executionv1.ReleaseStepRequest{}, &sessionsv1.Session{}} {
		if _, err := requestOf(req); err == nil {
			t.Errorf("%T is a request", req)
		}
	}
}

// TestOtherBindings: the first binding whose variables are set counts, and the first of all if there is none.
func TestOtherBindings(t *testing.T) {
	bindings := []httprule.Binding{
		{Method: "GET", Pattern: "/v1/sessions/{session_id}/turns"},
		{Method: "GET", Pattern: "/v1/agents/{agent_id}/turns"},
		{Method: "POST", Pattern: "/v1/labels/{order_by}", Body: "*"},
	}
	for name, tc := range map[string]struct {
		req  *sessionsv1.ListTurnsRequest
		want int
	}{
		"the first":  {&sessionsv1.ListTurnsRequest{SessionId: "s", AgentId: "a"}, 0},
		"the second": {&sessionsv1.ListTurnsRequest{AgentId: "a"}, 1},
		"the third":  {&sessionsv1.ListTurnsRequest{OrderBy: "o"}, 2},
		"none":       {&sessionsv1.ListTurnsRequest{}, 0},
	} {
		if got := bindingFor(bindings, tc.req.ProtoReflect()); got != bindings[tc.want] {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestAMissingIDIsNoRequest(t *testing.T) {
	c, err := New(Config{Server: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, req := range []proto.Message{
		&sessionsv1.GetTurnRequest{}, &sessionsv1.CancelTurnRequest{}, &sessionsv1.GetTurnTreeRequest{}, &sessionsv1.UpdateBudgetRequest{},
		&sessionsv1.RedeliverWebhookRequest{WebhookId: "whk_1"},
	} {
		_, err := c.Invoke(t.Context(), req, nil)
		if fault.As(err) == nil || err.Error() != "id: is missing" {
			t.Errorf("%T: %v", req, err)
		}
	}
}

// TestSet: a value that a field cannot have is refused in the words of the API.
func TestSet(t *testing.T) {
	p := &policyv1.AccessPolicy{Name: "p"}
	for field, value := range map[string]any{
		"priority": json.RawMessage("7"), "tools": []string{"a", "b"}, "effect": "deny", "disabled": json.RawMessage("true"),
		"matchers": []map[string]any{{"path": "a", "operator": "equals"}},
	} {
		if err := Set(p, field, value); err != nil {
			t.Errorf("%s: %v", field, err)
		}
	}
	want := &policyv1.AccessPolicy{
		Name: "p", Priority: 7, Tools: []string{"a", "b"}, Effect: policyv1.AccessEffect_ACCESS_EFFECT_DENY, Disabled: true,
		Matchers: []*policyv1.ClaimMatcher{{Path: "a", Operator: policyv1.ClaimOperator_CLAIM_OPERATOR_EQUALS}},
	}
	if !proto.Equal(p, want) {
		t.Errorf("%v, want %v", p, want)
	}
	for text, set := range map[string]func() error{
		"matchers[0].operator: must be one of: equals, ": func() error {
			return Set(p, "matchers", []map[string]any{{"operator": "like"}})
		},
		"priority: must be a whole number":     func() error { return Set(p, "priority", json.RawMessage("3000000000")) },
		"arguments: must be a JSON object":     func() error { return Set(&registryv1.InvokeToolRequest{}, "arguments", []int{1}) },
		"nonsense: there is no such field":     func() error { return Set(p, "nonsense", 1) },
		"seq: must be a whole number from 0":   func() error { return Set(&policyv1.VerifyAuditRequest{}, "seq", json.RawMessage("-1")) },
		"json: unsupported type: func() error": func() error { return Set(p, "name", func() error { return nil }) },
	} {
		if err := set(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestNamed(t *testing.T) {
	list := &sessionsv1.DeleteAgentRequest{Force: true}
	got := Named(list, "a")
	if !proto.Equal(got, &sessionsv1.DeleteAgentRequest{AgentId: "a", Force: true}) || list.GetAgentId() != "" {
		t.Errorf("%v of %v", got, list)
	}
}
