package gateway_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/testwant"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func TestRequestsReachTheirService(t *testing.T) {
	s := serve(t, nil)
	rows := []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		want                     proto.Message
	}{
		{
			name: "smallest agent", method: "POST", path: "/v1/agents", body: `{"id":"support"}`, status: 201,
			want: &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{Id: "support"}},
		},
		{
			name: "short enum", method: "POST", path: "/v1/agents", body: `{"id":"support","strategy":"react"}`, status: 201,
			want: &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{Id: "support", Strategy: turnv1.Strategy_STRATEGY_REACT}},
		},
		{
			name: "full enum", method: "POST", path: "/v1/agents", body: `{"id":"support","strategy":"STRATEGY_DIRECT"}`, status: 201,
			want: &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{Id: "support", Strategy: turnv1.Strategy_STRATEGY_DIRECT}},
		},
		{
			name: "enum in a map", method: "POST", path: "/v1/sources", body: `{"name":"fake","kind":"mcp","effects":{"a":"read","b":"once"}}`,
			status: 201,
			want: &registryv1.CreateSourceRequest{Source: &registryv1.Source{Name: "fake", Kind: "mcp", Effects: map[string]turnv1.EffectClass{
				"a": turnv1.EffectClass_EFFECT_CLASS_READ, "b": turnv1.EffectClass_EFFECT_CLASS_ONCE,
			}}},
		},
		{
			name: "patch changes what is present", method: "PATCH", path: "/v1/agents/support",
			body: `{"model":"a/b","limits":{"max_steps":3},"strategy":"direct"}`, status: 200,
			want: &sessionsv1.UpdateAgentRequest{
				Agent: &sessionsv1.Agent{
					Id: "support", Model: "a/b", Limits: &sessionsv1.Limits{MaxSteps: 3},
					Strategy: turnv1.Strategy_STRATEGY_DIRECT,
				},
				UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"limits.max_steps", "model", "strategy"}},
			},
		},
		{
			name: "patch with a mask", method: "PATCH", path: "/v1/agents/support?update_mask=model,tools", body: `{"model":"a/b"}`, status: 200,
			want: &sessionsv1.UpdateAgentRequest{
				Agent:      &sessionsv1.Agent{Id: "support", Model: "a/b"},
				UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"model", "tools"}},
			},
		},
		{
			name: "turn with a key in the header", method: "POST", path: "/v1/sessions/ses_1/turns", body: `{"input":"hello"}`,
			headers: []string{"Idempotency-Key", "k1"}, status: 202,
			want: &sessionsv1.CreateTurnRequest{SessionId: "ses_1", Input: "hello", IdempotencyKey: "k1"},
		},
		{
			name: "the same key twice", method: "POST", path: "/v1/chat", body: `{"message":"hello","idempotency_key":"k1"}`,
			headers: []string{"Idempotency-Key", "k1"}, status: 200, want: &sessionsv1.ChatRequest{Message: "hello", IdempotencyKey: "k1"},
		},
		{
			name: "camelCase names", method: "POST", path: "/v1/chat", body: `{"message":"hello","idempotencyKey":"k1"}`, status: 200,
			want: &sessionsv1.ChatRequest{Message: "hello", IdempotencyKey: "k1"},
		},
		{
			name: "wait", method: "GET", path: "/v1/turns/trn_1?wait=30s", status: 200,
			want: &sessionsv1.GetTurnRequest{TurnId: "trn_1", Wait: durationpb.New(30 * time.Second)},
		},
		{
			name: "fork with a key", method: "POST", path: "/v1/sessions/ses_1:fork", body: `{"seq":7}`, headers: []string{"Idempotency-Key", "k1"},
			status: 200,
			want:   &sessionsv1.ForkSessionRequest{SessionId: "ses_1", Seq: 7, IdempotencyKey: "k1"},
		},
		{
			name: "import what an export gives", method: "POST", path: "/v1/sessions:import",
			body: `{"session":{"id":"ses_1","agent_id":"a"},"turns":[{"id":"trn_1","usage":null}],"messages":[{"turn_id":"trn_1","role":"user",` +
				`"content":[{"text":"x"}],"tool_result":null,"seq":1}],"events":[{"seq":1,"type":"turn.queued","data":{}}]}`,
			headers: []string{"Idempotency-Key", "k1"}, status: 200,
			want: &sessionsv1.ImportSessionRequest{
				Session: &sessionsv1.Session{Id: "ses_1", AgentId: "a"}, IdempotencyKey: "k1",
				Turns: []*structpb.Struct{testwant.Must(structpb.NewStruct(map[string]any{"id": "trn_1", "usage": nil}))},
				Messages: []*turnv1.Message{{
					TurnId: "trn_1", Role: turnv1.Role_ROLE_USER, Seq: 1,
					Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: "x"}}},
				}},
				Events: []*structpb.Struct{testwant.Must(structpb.NewStruct(map[string]any{
					"seq": 1, "type": "turn.queued", "data": map[string]any{},
				}))},
			},
		},
		{
			name: "run again", method: "POST", path: "/v1/turns/trn_1:rerun", body: `{"from_step":"infer-2","tools":"live"}`,
			headers: []string{"Idempotency-Key", "k1"}, status: 202,
			want: &sessionsv1.RerunTurnRequest{TurnId: "trn_1", FromStep: "infer-2", Tools: "live", IdempotencyKey: "k1"},
		},
		{
			name: "compare", method: "GET", path: "/v1/turns/trn_1:compare?with=trn_2", status: 200,
			want: &sessionsv1.CompareTurnsRequest{TurnId: "trn_1", With: "trn_2"},
		},
		{
			name: "export", method: "GET", path: "/v1/sessions/ses_1:export?include_events=true", status: 200,
			want: &sessionsv1.ExportSessionRequest{SessionId: "ses_1", IncludeEvents: true},
		},
		{name: "verb without a body", method: "POST", path: "/v1/tools:refresh", status: 200, want: &registryv1.RefreshToolsRequest{}},
		{
			name: "verb after a variable", method: "POST", path: "/v1/turns/trn_1:cancel", body: `{"reason":"enough"}`, status: 200,
			want: &sessionsv1.CancelTurnRequest{TurnId: "trn_1", Reason: "enough"},
		},
		{
			name: "tool call", method: "POST", path: "/v1/tools/fake__echo:invoke", body: `{"arguments":{}}`,
			headers: []string{"Content-Type", "application/json; charset=utf-8"}, status: 200,
			want: &registryv1.InvokeToolRequest{Name: "fake__echo"},
		},
		{name: "escaped name", method: "GET", path: "/v1/tools/a%20b", status: 200, want: &registryv1.GetToolRequest{Name: "a b"}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			a := s.do(r.method, r.path, r.body, r.headers...)
			if a.status != r.status {
				t.Fatalf("status %d, want %d: %s", a.status, r.status, a.body)
			}
			if l := a.header.Get("Location"); a.status == 201 && l != r.path+"/support" && l != r.path+"/fake" {
				t.Errorf("Location is %q", l)
			}
			got := s.up.request()
			if in, ok := got.(*registryv1.InvokeToolRequest); ok {
				in.Arguments = nil
			}
			if !proto.Equal(got, r.want) {
				t.Errorf("upstream got %v\nwant %v", got, r.want)
			}
			if p := s.up.principal; !proto.Equal(p, authn.Local()) {
				t.Errorf("principal is %v, want the local user", p)
			}
		})
	}
}

func TestAnswersShowEverything(t *testing.T) {
	s := serve(t, nil)
	turn := s.do("POST", "/v1/sessions/ses_1/turns", `{"input":"x"}`)
	if loc := turn.header.Get("Location"); loc != "/v1/turns/trn_1" {
		t.Errorf("Location is %q", loc)
	}
	if got := turn.json(t); got["status"] != "queued" || got["output"] != "" {
		t.Errorf("turn is %v", got)
	}
	if got := s.do("GET", "/v1/agents", "").json(t); got["next_page_token"] != "" || got["agents"] == nil {
		t.Errorf("an empty list is %v", got)
	}
	if got := s.do("POST", "/v1/tools/x:invoke", `{}`).json(t); got["is_error"] != false || got["cached"] != false ||
		got["latency_ms"] != 3.0 {
		t.Errorf("a tool's answer is %v", got)
	}
	if got := s.do("GET", "/v1/agents/a", "").json(t); got["strategy"] != "react" {
		t.Errorf("strategy is %v", got["strategy"])
	}
	if got := s.do("GET", "/v1/tools/a", "").json(t); got["effect"] != "once" {
		t.Errorf("effect is %v", got["effect"])
	}
}

func TestExportsHaveTheirForm(t *testing.T) {
	s := serve(t, nil)
	md := s.do("GET", "/v1/sessions/ses_1:export?format=markdown", "")
	if string(md.body) != "# Title\n" || md.header.Get("Content-Type") != "text/markdown; charset=utf-8" {
		t.Errorf("transcript %q, %s", md.body, md.header.Get("Content-Type"))
	}
	js := s.do("GET", "/v1/sessions/ses_1:export", "")
	want := `"events":[{"seq":1,"type":"session.forked","session_id":"","turn_id":"","data":{"from_session":"","from_seq":7,"messages":0}}]`
	if !strings.Contains(string(js.body), want) || !strings.Contains(string(js.body), `"role":"user"`) ||
		js.header.Get("Content-Type") != "application/json" {
		t.Errorf("export %s, %s", js.body, js.header.Get("Content-Type"))
	}
	if _, ok := js.json(t)["markdown"]; ok {
		t.Error("the data holds a transcript")
	}
}
