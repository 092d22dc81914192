package condition_test

import (
	"testing"

	"cel.dev/cel-go/cel"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/condition"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

func TestIntegersAreComparedAsTheyAreWritten(t *testing.T) {
	known, err := condition.Types(&policyv1.Principal{})
	if err != nil {
		t.Fatal(err)
	}
	env, err := cel.NewEnv(known, cel.CrossTypeNumericComparisons(true),
		cel.Variable("arguments", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("who", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("principal", cel.ObjectType("windlass.policy.v1.Principal")),
	)
	if err != nil {
		t.Fatal(err)
	}
	values, err := canon.ParseStruct([]byte(`{
		"id": 9007199254740993, "below": -9007199254740993, "unsigned": 18446744073709551615, "huge": 99999999999999999999999,
		"amount": 120, "part": 0.1, "odd": 9007199254740993.0, "ids": [1, 9007199254740993], "inner": {"id": 9007199254740993}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		`arguments.id == 9007199254740993`:                                          true,
		`arguments.id == 9007199254740992`:                                          false,
		`arguments.id > 9007199254740992`:                                           true,
		`arguments.below < -9007199254740992`:                                       true,
		`arguments.unsigned == 18446744073709551615u`:                               true,
		`arguments.unsigned == 18446744073709551614u`:                               false,
		`arguments.unsigned > 1`:                                                    true,
		`arguments.huge > 9007199254740993`:                                         true,
		`arguments.odd == 9007199254740993`:                                         true,
		`9007199254740993 in arguments.ids && !(9007199254740992 in arguments.ids)`: true,
		`arguments.ids.exists(i, i == 9007199254740992)`:                            false,
		`arguments.inner.id == arguments.id`:                                        true,
		`arguments["inner"]["id"] == 9007199254740992`:                              false,
		`arguments.amount > 100 && arguments.amount == 120 && arguments.part < 1`:   true,
		`arguments.amount * 2.0 > 200.0 && type(arguments.amount) == double`:        true,
		`principal.claims.id == 9007199254740993`:                                   true,
		`principal.claims.id == 9007199254740992`:                                   false,
		`principal.claims.inner.id == 9007199254740992`:                             false,
		`principal.claims.ids[1] == 9007199254740992`:                               false,
		`has(principal.claims.id) && !has(principal.claims.none)`:                   true,
		`who.claims.id == 9007199254740992`:                                         false,
		`who.claims.id == 9007199254740993`:                                         true,
	} {
		ast, issues := env.Compile(text)
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		program, err := env.Program(ast)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := program.Eval(map[string]any{
			"arguments": values, "principal": &policyv1.Principal{Claims: values}, "who": map[string]any{"claims": values},
		})
		if err != nil || got.Value() != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}
