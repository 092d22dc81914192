package stepkey

import (
	"strconv"
	"strings"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Key is a step key in parts.
type Key struct {
	Kind turnv1.StepKind
	// N is the number of a plan, compaction, model step or input; for a tool step and its wait that of the model step.
	N int
	// Call is the place of the call in its message, from 0, and Round the round of it, from 1. Tool steps and waits have them.
	Call, Round int
}

// String returns the key as steps bear it.
func (k Key) String() string {
	switch k.Kind {
	case turnv1.StepKind_STEP_KIND_BEGIN, turnv1.StepKind_STEP_KIND_SELECT, turnv1.StepKind_STEP_KIND_FINISH:
		return KindName(k.Kind)
	case turnv1.StepKind_STEP_KIND_TOOL:
		return Round(Tool(k.N, k.Call), k.Round)
	case turnv1.StepKind_STEP_KIND_WAIT:
		return Wait(Round(Tool(k.N, k.Call), k.Round))
	default:
		return KindName(k.Kind) + "-" + strconv.Itoa(k.N)
	}
}

// Parse reads a key. It accepts only what String returns.
func Parse(key string) (Key, bool) {
	word, numbers, _ := strings.Cut(key, "-")
	k := Key{Kind: kindOf(word)}
	if numbers != "" {
		var at []int
		for text := range strings.SplitSeq(numbers, ".") {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				return Key{}, false
			}
			at = append(at, n)
		}
		at = append(at, 0, 0)
		k.N, k.Call, k.Round = at[0], at[1], at[2]
	}
	called := k.Kind == turnv1.StepKind_STEP_KIND_TOOL || k.Kind == turnv1.StepKind_STEP_KIND_WAIT
	if called && k.Round == 0 {
		k.Round = 1
	}
	once := k.Kind == turnv1.StepKind_STEP_KIND_BEGIN || k.Kind == turnv1.StepKind_STEP_KIND_SELECT ||
		k.Kind == turnv1.StepKind_STEP_KIND_FINISH
	if k.Kind == turnv1.StepKind_STEP_KIND_UNSPECIFIED || k.String() != key || !once && k.N == 0 {
		return Key{}, false
	}
	return k, true
}

// ParseInfer returns the number of a model step's key.
func ParseInfer(key string) (int, bool) {
	k, ok := Parse(key)
	if !ok || k.Kind != turnv1.StepKind_STEP_KIND_INFER {
		return 0, false
	}
	return k.N, true
}

func kindOf(word string) turnv1.StepKind {
	for kind, name := range kinds {
		if name == word {
			return turnv1.StepKind(kind)
		}
	}
	return turnv1.StepKind_STEP_KIND_UNSPECIFIED
}
