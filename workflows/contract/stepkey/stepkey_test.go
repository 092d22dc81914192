package stepkey_test

import (
	"testing"

	"pgregory.net/rapid"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// TestKeysStayByteForByte: rows and workflow histories hold these.
func TestKeysStayByteForByte(t *testing.T) {
	for want, got := range map[string]string{
		"begin": stepkey.Begin, "select": stepkey.Select, "finish": stepkey.Finish,
		"infer-3": stepkey.Infer(3), "plan-1": stepkey.Plan(1), "compact-2": stepkey.Compact(2), "steer-4": stepkey.Steer(4),
		"tool-1.0": stepkey.Tool(1, 0), "tool-1.0.2": stepkey.Round(stepkey.Tool(1, 0), 2), "tool-2.1": stepkey.Round("tool-2.1", 1),
		"wait-1.0": stepkey.Wait("tool-1.0"), "wait-1.0.2": stepkey.Wait("tool-1.0.2"), "": stepkey.Wait("infer-1"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestParse(t *testing.T) {
	for key, want := range map[string]stepkey.Key{
		"begin":                      {Kind: turnv1.StepKind_STEP_KIND_BEGIN},
		"infer-12":                   {Kind: turnv1.StepKind_STEP_KIND_INFER, N: 12},
		"compact-1":                  {Kind: turnv1.StepKind_STEP_KIND_COMPACT, N: 1},
		"steer-2":                    {Kind: turnv1.StepKind_STEP_KIND_STEER, N: 2},
		"tool-3.0":                   {Kind: turnv1.StepKind_STEP_KIND_TOOL, N: 3, Round: 1},
		"tool-3.10.20":               {Kind: turnv1.StepKind_STEP_KIND_TOOL, N: 3, Call: 10, Round: 20},
		"wait-3.1":                   {Kind: turnv1.StepKind_STEP_KIND_WAIT, N: 3, Call: 1, Round: 1},
		"wait-3.1.2":                 {Kind: turnv1.StepKind_STEP_KIND_WAIT, N: 3, Call: 1, Round: 2},
		"finish":                     {Kind: turnv1.StepKind_STEP_KIND_FINISH},
		"plan-2":                     {Kind: turnv1.StepKind_STEP_KIND_PLAN, N: 2},
		"select":                     {Kind: turnv1.StepKind_STEP_KIND_SELECT},
		"":                           {},
		"infer":                      {},
		"infer-":                     {},
		"infer-0":                    {},
		"infer-01":                   {},
		"infer-1.0":                  {},
		"infer--1":                   {},
		"tool-1":                     {},
		"tool-1.0.1":                 {}, // the first round bears no number
		"tool-1.0.2.3":               {},
		"begin-1":                    {},
		"begin-":                     {},
		"child-1":                    {},
		"-1":                         {},
		"infer-99999999999999999999": {},
	} {
		got, ok := stepkey.Parse(key)
		if got != want || ok != (want != stepkey.Key{}) {
			t.Errorf("%q: got %+v, %t", key, got, ok)
		}
		if ok && got.String() != key {
			t.Errorf("%q is written back as %q", key, got)
		}
	}
}

func TestWhatIsParsedIsWrittenBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`(begin|select|finish|plan|infer|tool|wait|steer|compact|x)?-?[0-9]{0,3}(\.[0-9]{1,2}){0,3}`).Draw(t, "key")
		if k, ok := stepkey.Parse(key); ok && k.String() != key {
			t.Fatalf("%q is written back as %q", key, k)
		}
	})
}

func TestFirstRoundStandsForTheCall(t *testing.T) {
	for key, want := range map[string]string{
		"tool-1.0": "tool-1.0", "tool-1.0.2": "tool-1.0", "tool-12.3.20": "tool-12.3", "infer-1": "infer-1", "odd": "odd",
	} {
		if got := stepkey.FirstRound(key); got != want {
			t.Errorf("%q: got %q, want %q", key, got, want)
		}
	}
}

func TestParseInfer(t *testing.T) {
	for key, want := range map[string]int{"infer-7": 7, "tool-7.0": 0, "7": 0, "infer-x": 0} {
		if got, ok := stepkey.ParseInfer(key); got != want || ok != (want > 0) {
			t.Errorf("%q: got %d, %t", key, got, ok)
		}
	}
}

func TestEveryKindHasAName(t *testing.T) {
	for n := range turnv1.StepKind_name {
		kind := turnv1.StepKind(n)
		if (stepkey.KindName(kind) == "") != (kind == turnv1.StepKind_STEP_KIND_UNSPECIFIED) {
			t.Errorf("%v is called %q", kind, stepkey.KindName(kind))
		}
	}
}
