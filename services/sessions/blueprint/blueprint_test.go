package blueprint_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/placeholder"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

var checker = blueprint.Checker{Env: []string{"REGION", "UNSET"}}

func TestPlaceholdersAreChecked(t *testing.T) {
	for _, row := range []struct {
		name   string
		agent  agentspec.Spec
		schema string
		wrong  string // "" = none
	}{
		{name: "all that there is", schema: customer, agent: agentspec.Spec{
			Instructions: "${params.name} ${params.address.city} ${runtime.session_id} ${scope.claims.a.b} ${env.REGION} ${runner.host} $${x}",
			Model:        "a/${params.name}", Tools: []string{"${params.name}__*"},
		}},
		{
			name: "an unknown namespace", agent: agentspec.Spec{Instructions: "${secret.x}"},
			wrong: "instructions: ${secret.x} is unknown: there are ${params.*}",
		},
		{
			name: "an unknown runtime name", agent: agentspec.Spec{Instructions: "${runtime.moon}"},
			wrong: "instructions: ${runtime.moon} is unknown: ${runtime.*} has session_id",
		},
		{name: "an unknown scope name", agent: agentspec.Spec{Model: "${scope.name}/x"}, wrong: "model: ${scope.name} is unknown"},
		{name: "claims without a name", agent: agentspec.Spec{Model: "${scope.claims}/x"}, wrong: "model: ${scope.claims} is unknown"},
		{
			name: "an unknown runner name", agent: agentspec.Spec{Instructions: "${runner.password}"},
			wrong: "instructions: ${runner.password} is unknown: ${runner.*} has worker_id",
		},
		{
			name: "env that is not allowed", agent: agentspec.Spec{Instructions: "${env.HOME}"},
			wrong: "instructions: ${env.HOME} is not allowed: name the variable in sessions.placeholder_env",
		},
		{name: "env in a model", agent: agentspec.Spec{Model: "a/${env.REGION}"}, wrong: "model: ${env.REGION} is not allowed here"},
		{
			name: "runner in tools", agent: agentspec.Spec{Tools: []string{"a", "${runner.host}__*"}},
			wrong: "tools[1]: ${runner.host} is not allowed here",
		},
		{
			name: "params without a schema", agent: agentspec.Spec{Instructions: "${params.a}"},
			wrong: "instructions: ${params.a} is unknown: the agent has no params_schema",
		},
		{
			name: "params that the schema does not know", schema: customer, agent: agentspec.Spec{Instructions: "${params.nick}"},
			wrong: "instructions: ${params.nick} is unknown: the params_schema has no such property",
		},
		{
			name: "params inside", schema: customer, agent: agentspec.Spec{Instructions: "${params.address.town}"},
			wrong: "instructions: ${params.address.town} is unknown",
		},
		{
			name: "params of an open schema", schema: `{"type":"object","additionalProperties":true}`,
			agent: agentspec.Spec{Instructions: "${params.x.y}"},
		},
		{
			name: "params of an object without properties", schema: `{"type":"object","properties":{"x":{"type":"object"}}}`,
			agent: agentspec.Spec{Instructions: "${params.x.y}"},
		},
		{
			name:   "params by reference",
			schema: `{"type":"object","properties":{"x":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"object","properties":{"y":{}}}}}`,
			agent:  agentspec.Spec{Instructions: "${params.x.y} ${params.x.z}"}, wrong: "instructions: ${params.x.z} is unknown",
		},
		{name: "a rule's", agent: rules(rule("a", "", "${foo}")), wrong: "instruction_rules[0].instructions: ${foo} is no placeholder"},
		{
			name: "a rule about nobody", agent: rules(agentspec.InstructionRule{Instructions: "x"}),
			wrong: "instruction_rules[0]: matches no user",
		},
		{
			name: "values without a claim", agent: rules(agentspec.InstructionRule{Roles: []string{"a"}, Values: []string{"b"}, Instructions: "x"}),
			wrong: "instruction_rules[0].values: needs a claim",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.agent.ParamsSchema = object(t, row.schema)
			var got []string
			for _, f := range checker.Check("", row.agent) {
				got = append(got, f.Path+": "+f.Message)
			}
			if row.wrong == "" && got != nil || row.wrong != "" && (len(got) != 1 || !strings.HasPrefix(got[0], row.wrong)) {
				t.Errorf("%q, want %q", got, row.wrong)
			}
		})
	}
}

func rules(all ...agentspec.InstructionRule) agentspec.Spec {
	return agentspec.Spec{Instructions: "Base.", InstructionRules: all}
}

// rule is one about a role or a claim=value.
func rule(role, claim, text string) agentspec.InstructionRule {
	r := agentspec.InstructionRule{Instructions: text}
	if role != "" {
		r.Roles = []string{role}
	}
	name, value, _ := strings.Cut(claim, "=")
	if r.Claim = name; value != "" {
		r.Values = []string{value}
	}
	return r
}

func user(t *testing.T, claims string, roles ...string) *policyv1.Principal {
	p := authn.User("ann", roles...)
	p.Claims = object(t, claims)
	return p
}

func TestInstructionsByRoleAndClaim(t *testing.T) {
	replace := func(r agentspec.InstructionRule) agentspec.InstructionRule { r.Mode = "replace"; return r }
	for _, row := range []struct {
		name   string
		agent  agentspec.Spec
		claims string
		roles  []string
		want   string
	}{
		{name: "no rule fits", agent: rules(rule("admin", "", "A."), rule("", "plan=pro", "P.")), want: "Base."},
		{
			name: "all that fit are added in order", agent: rules(rule("", "plan=p*", "P."), rule("ad*", "", "A.")), claims: `{"plan":"pro"}`,
			roles: []string{"x", "admin"}, want: "Base.\n\nP.\n\nA.",
		},
		{
			name: "one that replaces", agent: rules(rule("admin", "", "A."), replace(rule("*", "", "R."))), roles: []string{"admin"},
			want: "R.\n\nA.",
		},
		{
			name: "the last that replaces", agent: rules(replace(rule("*", "", "R.")), replace(rule("*", "", "S."))), roles: []string{"admin"},
			want: "S.",
		},
		{
			name: "both conditions must hold", agent: rules(rule("admin", "plan=pro", "B.")), claims: `{"plan":"free"}`, roles: []string{"admin"},
			want: "Base.",
		},
		{
			name: "both hold", agent: rules(rule("admin", "plan=pro", "B.")), claims: `{"plan":"pro"}`, roles: []string{"admin"},
			want: "Base.\n\nB.",
		},
		{name: "a claim that is there", agent: rules(rule("", "beta", "B.")), claims: `{"beta":false}`, want: "Base.\n\nB."},
		{name: "a claim that is null", agent: rules(rule("", "beta", "B.")), claims: `{"beta":null}`, want: "Base."},
		{
			name: "a claim inside, a list", agent: rules(rule("", "org.teams=re?", "T.")), claims: `{"org":{"teams":["blue","red"]}}`,
			want: "Base.\n\nT.",
		},
		{name: "a number", agent: rules(rule("", "level=7", "L.")), claims: `{"level":7}`, want: "Base.\n\nL."},
		{
			name: "an id that a double does not hold", agent: rules(rule("", "id=9007199254740992", "A."), rule("", "id=9007199254740993", "B.")),
			claims: `{"id":9007199254740993}`, want: "Base.\n\nB.",
		},
		{
			name: "such an id in a text", agent: agentspec.Spec{Instructions: "You serve ${scope.claims.id}."},
			claims: `{"id":9007199254740993}`, want: "You serve 9007199254740993.",
		},
		{name: "no roles at all", agent: rules(rule("*", "", "A.")), want: "Base."},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, problems := checker.Resolve(store.Agent{Spec: row.agent}, blueprint.Facts{Principal: user(t, row.claims, row.roles...)})
			if problems != nil {
				t.Fatal(problems)
			}
			if got.Instructions != row.want || got.InstructionRules != nil {
				t.Errorf("%q, want %q", got.Instructions, row.want)
			}
		})
	}
}

func TestResolve(t *testing.T) {
	env := map[string]string{"REGION": "eu$1"}
	facts := blueprint.Facts{
		SessionID: "ses_1", TurnID: "trn_1", Time: time.Date(2026, 3, 4, 5, 6, 7, 8, time.FixedZone("", 3600)),
		Params:    object(t, `{"name":"Ann","level":3,"deep":{"x":[1,"<"]},"evil":"${runner.host}","star":"*","p":"openai"}`),
		Principal: user(t, `{"org":{"id":"o1"}}`, "a", "b"), Getenv: func(name string) string { return env[name] },
	}
	open := `{"type":"object","additionalProperties":true}`
	for _, row := range []struct{ name, instructions, model, tool, want, wrong string }{
		{
			name: "values",
			instructions: "${params.name} ${params.level} ${params.deep} ${runtime.session_id} ${runtime.turn_id} ${runtime.agent_id} " +
				"${runtime.agent_revision}",
			want: `Ann 3 {"x":[1,"<"]} ses_1 trn_1 a 2||`,
		},
		{
			name:         "time and scope",
			instructions: "${runtime.time} ${runtime.date} ${scope.subject} ${runtime.tenant} ${scope.roles} ${scope.claims.org.id}",
			want:         `2026-03-04T04:06:07Z 2026-03-04 ann default ["a","b"] o1||`,
		},
		{
			name: "the worker's stage", instructions: "${runner.host} costs $5 ${params.evil} ${env.REGION}",
			want: "HERE costs $5 ${runner.host} eu$1||",
		},
		{name: "model and tools", model: "${params.p}/x", tool: "${params.name}__*", want: "|openai/x|Ann__*"},
		{name: "a model that is none", model: "${params.name}", wrong: "model: ${params.name} does not come to a model"},
		{
			name: "a value that widens a pattern", tool: "${params.star}__x",
			wrong: "tools[0]: ${params.star} stands for something that is no part of a tool's name",
		},
		{
			name: "a missing claim", instructions: "${scope.claims.team}",
			wrong: `instructions: ${scope.claims.team} has no value: the user "ann" has no such claim`,
		},
		{
			name: "a missing param", instructions: "${params.z} ${params.y}",
			wrong: "instructions: ${params.z} has no value: the session has no such param and the params_schema no default; instructions: " +
				"${params.y} has no value: the session has no such param and the params_schema no default",
		},
		{
			name: "a variable that is not set", instructions: "${env.UNSET}",
			wrong: "instructions: ${env.UNSET} has no value: the variable is not set",
		},
		{name: "a variable that is not allowed any more", instructions: "${env.HOME}", wrong: "instructions: ${env.HOME} is not allowed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := agentspec.Spec{Instructions: row.instructions, Model: row.model, ParamsSchema: object(t, open)}
			if row.tool != "" {
				a.Tools = []string{row.tool}
			}
			a, found := checker.Resolve(store.Agent{ID: "a", Revision: 2, Spec: a}, facts)
			problems := strings.Join(found, "; ")
			if row.wrong != "" {
				if !strings.HasPrefix(problems, row.wrong) || strings.Contains(problems, "eu$1") {
					t.Errorf("problems %q, want %q", problems, row.wrong)
				}
				return
			}
			text, wrong := placeholder.Finish(a.Instructions, func(placeholder.Ref) (string, *placeholder.Error) { return "HERE", nil })
			if got := text + "|" + a.Model + "|" + strings.Join(a.Tools, ","); problems != "" || wrong != nil || got != row.want {
				t.Errorf("%q (%s, %v), want %q", got, problems, wrong, row.want)
			}
		})
	}
}

func FuzzResolve(f *testing.F) {
	f.Add("Hello ${params.x} at ${runner.host}, $${ and $", "${runner.host}")
	f.Add("${params.x", "$")
	f.Fuzz(func(t *testing.T, text, value string) {
		a := agentspec.Spec{Instructions: text, ParamsSchema: &structpb.Struct{Fields: map[string]*structpb.Value{
			"type": structpb.NewStringValue("object"), "additionalProperties": structpb.NewBoolValue(true),
		}}}
		refused := len(checker.Check("", a)) > 0
		a, problems := checker.Resolve(store.Agent{Spec: a}, blueprint.Facts{
			Params: &structpb.Struct{Fields: map[string]*structpb.Value{"x": structpb.NewStringValue(value)}}, Principal: authn.User("u"),
			Getenv: func(string) string { return "v" },
		})
		if refused && problems == nil && blueprint.Needed(agentspec.Spec{Instructions: text}) {
			t.Fatalf("%q is refused, but resolved", text)
		}
		if problems != nil {
			return
		}
		if _, wrong := placeholder.Finish(a.Instructions, func(placeholder.Ref) (string, *placeholder.Error) { return "h", nil }); wrong != nil {
			t.Fatalf("%q is not sealed: %v", a.Instructions, wrong)
		}
	})
}
