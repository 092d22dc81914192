package sessions_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions"
)

const blueprintBundle = `
kind: agent
id: support
params_schema:
  type: object
  required: [team]
  additionalProperties: false
  properties:
    team: {type: string, minLength: 2}
    tone: {type: string, default: kind}
model: scripted/${params.tone}
tools: ["${params.team}__*"]
instructions: You serve ${params.team} in ${env.REGION}, be ${params.tone}. You are ${runtime.agent_id} at ${runner.host}. $${x} costs $5.
instruction_rules:
- roles: [admin]
  instructions: ${scope.subject} is an admin of ${scope.claims.org.name}.
- claim: plan
  values: [free]
  mode: replace
  instructions: Be short.
`

func params(t testing.TB, kv map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(kv)
	must(t, err)
	return s
}

// blueprintKit has the agent of the bundle.
func blueprintKit(t *testing.T, postgres bool) *kit {
	k := newKit(t, options{
		postgres: postgres, cfg: sessions.Config{PlaceholderEnv: []string{"REGION"}},
		env: map[string]string{"REGION": "eu"},
	})
	_, err := k.apply(blueprintBundle, false)
	must(t, err)
	return k
}

func (k *kit) open(kv map[string]any) (*sessionsv1.Session, error) {
	return k.sessions.CreateSession(k.t.Context(), &sessionsv1.CreateSessionRequest{AgentId: "support", Params: params(k.t, kv)})
}

// loadAs sends a turn as somebody and gives what a worker is told of it.
func (k *kit) loadAs(p *policyv1.Principal, kv map[string]any) *executionv1.LoadTurnResponse {
	k.t.Helper()
	turns := k.as(p)
	ses, err := sessionsv1.NewSessionServiceClient(rpctest.ServeAs(k.t, "sessions", k.svc.Register,
		rpctest.WithPrincipal(p))).CreateSession(k.t.Context(),
		&sessionsv1.CreateSessionRequest{AgentId: "support", Params: params(k.t, kv)})
	must(k.t, err)
	turn, err := turns.CreateTurn(k.t.Context(), &sessionsv1.CreateTurnRequest{SessionId: ses.GetId(), Input: "hi"})
	must(k.t, err)
	out, err := k.asWorker().LoadTurn(k.t.Context(), &executionv1.LoadTurnRequest{TurnId: turn.GetId()})
	must(k.t, err)
	return out
}

func TestTurnsGetAResolvedBlueprint(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := blueprintKit(t, postgres)
		org := params(t, map[string]any{"org": map[string]any{"name": "ACME"}})
		for _, row := range []struct {
			name         string
			user         *policyv1.Principal
			instructions string // sealed for the worker
		}{
			{"nobody special", authn.User("bob"), "You serve red in eu, be kind. You are support at ${runner.host}. $${x} costs $$5."},
			{
				"an admin", &policyv1.Principal{
					Tenant: "default", Subject: "ann", Kind: policyv1.PrincipalKind_PRINCIPAL_KIND_USER,
					Roles: []string{"admin"}, Claims: org,
				},
				"You serve red in eu, be kind. You are support at ${runner.host}. $${x} costs $$5.\n\nann is an admin of ACME.",
			},
			{"by claim", &policyv1.Principal{
				Tenant: "default", Subject: "eve", Kind: policyv1.PrincipalKind_PRINCIPAL_KIND_USER,
				Claims: params(t, map[string]any{"plan": "free"}),
			}, "Be short."},
		} {
			out := k.loadAs(row.user, map[string]any{"team": "red"})
			a := out.GetAgent()
			if out.GetUnresolved() != nil || a.GetInstructions() != row.instructions || a.GetModel() != "scripted/kind" ||
				a.GetTools()[0] != "red__*" || a.GetInstructionRules() != nil {
				t.Errorf("%s: %v, %v", row.name, out.GetUnresolved(), a)
			}
			if out.GetParams().AsMap()["tone"] != "kind" {
				t.Errorf("params %v", out.GetParams())
			}
		}
	})
}

func TestNumbersOfParamsReachTurnsAsTheyAreWritten(t *testing.T) {
	k := newKit(t, options{})
	_, err := k.apply(`
kind: agent
id: support
params_schema: {type: object, properties: {account: {type: integer, default: 9007199254740993}, rate: {type: number}}}
instructions: ${params.account} at ${params.rate}
`, false)
	must(t, err)
	given, err := canon.ParseStruct([]byte(`{"rate":3.14159265358979323846264338327950288}`))
	must(t, err)
	ses, err := k.sessions.CreateSession(t.Context(), &sessionsv1.CreateSessionRequest{AgentId: "support", Params: given})
	must(t, err)
	out, err := k.asWorker().LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: k.turn(ses.GetId(), "hi").GetId()})
	must(t, err)
	if got := out.GetAgent().GetInstructions(); got != "9007199254740993 at 3.14159265358979323846264338327950288" {
		t.Errorf("instructions %q", got)
	}
}

func TestSessionsKeepTheirParams(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := blueprintKit(t, postgres)
		ses, err := k.open(map[string]any{"team": "red"})
		must(t, err)
		read, err := k.sessions.GetSession(t.Context(), &sessionsv1.GetSessionRequest{SessionId: ses.GetId()})
		must(t, err)
		if m := read.GetParams().AsMap(); len(m) != 2 || m["team"] != "red" || m["tone"] != "kind" ||
			ses.GetParams().String() != read.GetParams().String() {
			t.Errorf("params %v and %v", ses.GetParams(), read.GetParams())
		}
		fork, err := k.sessions.ForkSession(t.Context(), &sessionsv1.ForkSessionRequest{SessionId: ses.GetId()})
		must(t, err)
		if fork.GetParams().AsMap()["team"] != "red" {
			t.Errorf("fork's params %v", fork.GetParams())
		}
		fork, err = k.sessions.ForkSession(t.Context(),
			&sessionsv1.ForkSessionRequest{SessionId: ses.GetId(), Params: params(t, map[string]any{"team": "blue"})})
		must(t, err)
		if fork.GetParams().AsMap()["team"] != "blue" {
			t.Errorf("fork's own params %v", fork.GetParams())
		}
		k.agent("bare")
		_, err = k.sessions.ForkSession(t.Context(), &sessionsv1.ForkSessionRequest{SessionId: ses.GetId(), AgentId: "bare"})
		wantFault(t, err, "invalid_argument", "params")
		list, err := k.sessions.ListSessions(t.Context(), &sessionsv1.ListSessionsRequest{})
		must(t, err)
		if len(list.GetSessions()) != 3 || list.GetSessions()[2].GetParams().AsMap()["tone"] != "kind" {
			t.Errorf("list %v", list)
		}
	})
}

func TestWhatCannotBeResolvedIsRefusedByName(t *testing.T) {
	k := blueprintKit(t, false)
	_, err := k.open(nil)
	wantFault(t, err, "invalid_argument", "params.team")
	_, err = k.open(map[string]any{"team": "x", "colour": 1})
	wantFault(t, err, "invalid_argument", "params.colour", "params.team")
	_, err = k.open(map[string]any{"team": "*x"})
	wantFault(t, err, "invalid_blueprint")
	_, err = k.turns.Chat(t.Context(), &sessionsv1.ChatRequest{Message: "hi", AgentId: "support"})
	wantFault(t, err, "invalid_argument", "params.team")
	good, err := k.open(map[string]any{"team": "red"})
	must(t, err)
	_, err = k.turns.Chat(t.Context(), &sessionsv1.ChatRequest{
		Message: "hi", SessionId: good.GetId(),
		Params: params(t, map[string]any{"team": "red"}),
	})
	wantFault(t, err, "invalid_argument", "params")
	k.agent("bare")
	_, err = k.sessions.CreateSession(t.Context(),
		&sessionsv1.CreateSessionRequest{AgentId: "bare", Params: params(t, map[string]any{"a": 1})})
	wantFault(t, err, "invalid_argument", "params")

	admin := authn.User("ann", "admin")
	_, err = sessionsv1.NewSessionServiceClient(rpctest.ServeAs(t, "sessions", k.svc.Register,
		rpctest.WithPrincipal(admin))).CreateSession(t.Context(),
		&sessionsv1.CreateSessionRequest{AgentId: "support", Params: params(t, map[string]any{"team": "red"})})
	wantFault(t, err, "invalid_blueprint")
	if text := fault.From(err).Message; !strings.Contains(text, `${scope.claims.org.name} has no value: the user "ann" has no such claim`) {
		t.Error(text)
	}
	for yaml, field := range map[string]string{
		"instructions: ${env.HOME}":                        "instructions",
		"instructions: ${params.x}":                        "instructions",
		"model: ${nope.x}/y":                               "model",
		"tools: [a, '${runner.host}']":                     "tools[1]",
		"params_schema: {type: array}":                     "params_schema",
		"instruction_rules: [{instructions: x}]":           "instruction_rules[0]",
		"instruction_rules: [{roles: [a], mode: prepend}]": "instruction_rules[0].",
	} {
		_, err := k.apply("kind: agent\nid: bad\n"+yaml, false)
		if f := fault.From(err); fault.CodeOf(err) != "invalid_argument" || len(f.Fields) == 0 ||
			!strings.Contains(f.Fields[0].Path, "line 3: "+field) {
			t.Errorf("%s: %v", yaml, err)
		}
	}
}

// An agent that changes takes effect with the next turn; one that does not fit the session any more is refused by name, and ends
// a turn that was accepted before.
func TestAChangedAgentHoldsForTheNextTurn(t *testing.T) {
	k := blueprintKit(t, false)
	ses, err := k.open(map[string]any{"team": "red"})
	must(t, err)
	turn := k.turn(ses.GetId(), "one")
	replace := func(old, with string) {
		t.Helper()
		_, err := k.apply(strings.Replace(blueprintBundle, old, with, 1), false)
		must(t, err)
	}
	load := func() *executionv1.LoadTurnResponse {
		t.Helper()
		out, err := k.asWorker().LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: turn.GetId()})
		must(t, err)
		return out
	}
	replace("You serve", "You help")
	if got := load().GetAgent().GetInstructions(); !strings.HasPrefix(got, "You help red") {
		t.Errorf("instructions %q", got)
	}
	replace("required: [team]", "required: [team, size]")
	if why := load().GetUnresolved(); why.GetCode() != "invalid_blueprint" || !strings.Contains(why.GetMessage(), "params.size: is required") {
		t.Errorf("unresolved: %v", why)
	}
	_, err = k.turns.CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{SessionId: ses.GetId(), Input: "two"})
	wantFault(t, err, "invalid_blueprint")
	replace("You serve ${params.team}", "${scope.claims.who}")
	if why := load().GetUnresolved(); !strings.Contains(why.GetMessage(), "${scope.claims.who} has no value") {
		t.Errorf("unresolved: %v", why)
	}
}
