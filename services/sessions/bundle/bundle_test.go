package bundle_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/bundle"
)

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	for _, row := range []struct{ name, yaml, place, message string }{
		{"no kind", "id: a", "document 1, line 1: kind", "is missing: want agent, source, group, policy, route, schedule or webhook"},
		{"unknown kind", "kind: agnet\nid: a", "document 1, line 1: kind", `"agnet" is unknown: want agent, source, group, policy, route, schedule or webhook`},
		{"no mapping", "- a", "document 1, line 1", `want fields, as in "kind: agent"`},
		{
			"misspelt field", "kind: agent\nid: a\ninstrctions: x", "document 1 (agent a), line 3: instrctions",
			`is no field of agent: did you mean "instructions"?`,
		},
		{
			"misspelt field inside", "kind: agent\nid: a\nlimits:\n  max_step: 3", "document 1 (agent a), line 4: limits.max_step",
			`is no field of agent: did you mean "max_steps"?`,
		},
		{
			"a tag of another program", "kind: agent\nid: a\ndescription: !secret foo", "document 1 (agent a), line 3",
			"the tag !secret is not known here…",
		},
		{
			"such a tag below", "kind: agent\nid: a\ntools: [a__b, !!python/name:os.system c__d]", "document 1 (agent a), line 3",
			"the tag !!python/name:os.system is not known here…",
		},
		{"field twice", "kind: agent\nid: a\nid: b", "document 1 (agent a), line 3: id", "is a duplicate"},
		{
			"text for a number", "kind: agent\nid: a\nlimits:\n  max_steps: many", "document 1 (agent a), line 4: limits.max_steps",
			"want a whole number of at least 0",
		},
		{
			"negative number", "kind: agent\nid: a\nlimits:\n  max_steps: -1", "document 1 (agent a), line 4: limits.max_steps",
			"want a whole number of at least 0",
		},
		{"number for a text", "kind: agent\nid: 7", "document 1 (agent), line 2: id", "want text (put numbers and true or false in quotes)"},
		{
			"text for a list", "kind: agent\nid: a\ntools: x", "document 1 (agent a), line 3: tools",
			"want a list of text (put numbers and true or false in quotes)",
		},
		{
			"unknown strategy", "kind: agent\nid: a\nstrategy: guess", "document 1 (agent a), line 3: strategy",
			"want react, direct, react_text, plan, auto or route",
		},
		{"text for fields", "kind: agent\nid: a\nlimits: 3", "document 1 (agent a), line 3: limits", "wants fields"},
		{"text for an object", "kind: agent\nid: a\nparams_schema: x", "document 1 (agent a), line 3: params_schema", "wants fields"},
		{
			"fields for a list", "kind: agent\nid: a\ninstruction_rules: {roles: [a]}", "document 1 (agent a), line 3: instruction_rules",
			"wants a list of fields",
		},
		{
			"text in a list of fields", "kind: agent\nid: a\ninstruction_rules:\n- x", "document 1 (agent a), line 4: instruction_rules[0]",
			"wants fields",
		},
		{
			"misspelt field in a list", "kind: agent\nid: a\ninstruction_rules:\n- roles: [a]\n  instrctions: x",
			"document 1 (agent a), line 5: instruction_rules[0].instrctions", `is no field of agent: did you mean "instructions"?`,
		},
		{
			"number in a map", "kind: source\nname: s\nenv:\n  PORT: 80", "document 1 (source s), line 4: env",
			"want names with values; the values are text: put numbers and true or false in quotes",
		},
		{
			"unknown effect", "kind: source\nname: s\neffects:\n  a: reed", "document 1 (source s), line 4: effects",
			"want names with values; the values are read, idempotent or once",
		},
		{
			"a webhook's secret", "kind: webhook\nid: w\nsecret: x", "document 1 (webhook w), line 3: secret",
			"is made by the server: it cannot be set",
		},
		{"text for a flag", "kind: webhook\nid: w\ndisabled: maybe", "document 1 (webhook w), line 3: disabled", "want true or false"},
		{
			"alias", "kind: agent\nid: &x a\nmodel: *x", "document 1 (agent a), line 3: model",
			"anchors and aliases are not supported: write the value out",
		},
		{"same agent twice", "kind: agent\nid: a\n---\nkind: agent\nid: a", "document 2 (agent a), line 4", "agent a is in document 1 already"},
		{"nothing", "# only a comment", "yaml", "holds no document"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := bundle.Parse(row.yaml)
			fields := fault.From(err).Fields
			begins, cut := strings.CutSuffix(row.message, "…")
			if len(fields) != 1 || fields[0].Path != row.place || !strings.HasPrefix(fields[0].Message, begins) ||
				!cut && fields[0].Message != row.message {
				t.Errorf("got %q, want %q: %q", fields, row.place, row.message)
			}
		})
	}
}

func TestEnumsHaveTheirShortNames(t *testing.T) {
	docs, err := bundle.Parse("kind: agent\nid: a\nstrategy: direct\n---\nkind: source\nname: s\neffects: {a: read, b: idempotent, c: once}")
	if err != nil {
		t.Fatal(err)
	}
	if got := docs[0].Agent.GetStrategy(); got != turnv1.Strategy_STRATEGY_DIRECT {
		t.Errorf("strategy is %v", got)
	}
	want := map[string]turnv1.EffectClass{
		"a": turnv1.EffectClass_EFFECT_CLASS_READ, "b": turnv1.EffectClass_EFFECT_CLASS_IDEMPOTENT, "c": turnv1.EffectClass_EFFECT_CLASS_ONCE,
	}
	if got := docs[1].Source.GetEffects(); !maps.Equal(got, want) {
		t.Errorf("effects are %v, want %v", got, want)
	}
}

func TestWhatTheAPIAnswersCanBeApplied(t *testing.T) {
	docs, err := bundle.Parse("kind: agent\nid: a\nstrategy: \"\"\nlimits: null\nparams_schema: null\nshields: null\nrevision: 7\n" +
		"create_time: 2026-01-01T00:00:00Z\n---\n" +
		"kind: source\nid: src_1\nname: s\nsource_kind: builtin\nstate: ready\ntool_count: 6\n---\n" +
		"kind: schedule\nid: d\nnext: [\"2026-01-01T00:00:00Z\"]\nrecent: [{}]\nrevision: 2\n---\nkind: webhook\nid: w\nsecret: \"\"")
	if err != nil {
		t.Fatal(err)
	}
	if a := docs[0].Agent; a.GetRevision() != 0 || a.GetLimits() != nil {
		t.Errorf("the agent is %v", a)
	}
	if s := docs[1].Source; s.GetId() != "" || s.GetKind() != "builtin" || !slices.Equal(docs[1].Fields, []string{"name"}) {
		t.Errorf("the source is %v with the fields %q", s, docs[1].Fields)
	}
	if d := docs[2].Schedule; len(d.GetNext()) != 0 || d.GetRevision() != 0 {
		t.Errorf("the schedule is %v", d)
	}
}

func TestObjectsAndListsOfFieldsAreRead(t *testing.T) {
	docs, err := bundle.Parse("kind: agent\nid: a\nparams_schema: {type: object, properties: {n: {type: integer, default: 3}, deep: " +
		"{const: [null, true, 1.5]}}}\n" +
		"instruction_rules:\n- roles: [x]\n  instructions: one\n- {claim: c, values: [v], mode: replace, instructions: two}")
	if err != nil {
		t.Fatal(err)
	}
	a := docs[0].Agent
	n := a.GetParamsSchema().GetFields()["properties"].GetStructValue().GetFields()["n"].GetStructValue().AsMap()
	if n["default"] != 3.0 || len(a.GetInstructionRules()) != 2 || a.GetInstructionRules()[1].GetMode() != "replace" ||
		a.GetInstructionRules()[0].GetRoles()[0] != "x" {
		t.Errorf("agent is %v", a)
	}
}

func TestWorkflowsOfASourceAreRead(t *testing.T) {
	docs, err := bundle.Parse("kind: source\nname: shop\nsource_kind: workflow\ntemporal: {address: \"t:7233\", tls: true}\n" +
		"auth: {kind: bearer, secret: \"${env:WINDLASS_TOOL_T}\"}\nworkflows:\n- name: refund\n  task_queue: orders\n  mode: poll\n" +
		"  input_schema: {type: object, required: [order]}\n  positional: [order]\n  effect: once")
	if err != nil {
		t.Fatal(err)
	}
	w := docs[0].Source.GetWorkflows()[0]
	if !docs[0].Source.GetTemporal().GetTls() || w.GetEffect() != turnv1.EffectClass_EFFECT_CLASS_ONCE || w.GetPositional()[0] != "order" ||
		w.GetInputSchema().AsMap()["type"] != "object" {
		t.Errorf("the source is %v", docs[0].Source)
	}
}

func TestAllMistakesAreFound(t *testing.T) {
	_, err := bundle.Parse("kind: agent\nid: a\nfoo: 1\nbar: 2\n---\nkind: source\nnaem: x")
	if n := len(fault.From(err).Fields); n != 3 {
		t.Errorf("%d mistakes in %v, want 3", n, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("kind: agent\nid: a\nlimits: {max_steps: 3}\n---\nkind: source\nname: b\nenv: {A: b}")
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = bundle.Parse(text) // must not panic
	})
}
