package wire_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider/wire"
)

var accepted = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

func TestNamesAreValidAndReversible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := wire.NewNames(wire.NameRule{Max: 64, Letter: true})
		own := map[string]string{}
		for _, name := range rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z0-9 ._-]{1,90}`))).Draw(t, "names") {
			made := names.Wire(name)
			if !accepted.MatchString(made) || names.Own(made) != name || made != names.Wire(name) {
				t.Fatalf("%q is %q, and that %q", name, made, names.Own(made))
			}
			if before, ok := own[made]; ok && before != name {
				t.Fatalf("%q and %q are both %q", before, name, made)
			}
			own[made] = name
		}
	})
	// A tool whose name is what another one's became has another name.
	taken := wire.NewNames(wire.NameRule{Max: 64})
	first := taken.Wire("a.b")
	second := taken.Wire(first)
	if first == second || taken.Own(first) != "a.b" || taken.Own(second) != first {
		t.Errorf("%s and %s lead to %s and %s", first, second, taken.Own(first), taken.Own(second))
	}
	names := wire.NewNames(wire.NameRule{Max: 64})
	for _, good := range []string{"s__echo", "7zip", "-x", strings.Repeat("x", 64)} {
		if got := names.Wire(good); got != good {
			t.Errorf("%s becomes %s", good, got)
		}
	}
	if got := names.Wire("functions.s__echo"); !strings.HasPrefix(got, "functions_s__echo_") {
		t.Errorf("a model does not recognize %s", got)
	}
}

func TestEachCallHasAnIDOfItsOwn(t *testing.T) {
	ids := wire.NewIDs(wire.AnyID)
	seen := map[string]bool{}
	for _, own := range []string{"a", "call_0", "call_0", "bad id!", "bad id!", strings.Repeat("x", 64), "", "call_0"} {
		id := ids.Call(&turnv1.ToolCall{CallId: own})
		if seen[id] || !wire.AnyID.MatchString(id) {
			t.Errorf("%q becomes %q", own, id)
		}
		seen[id] = true
		if got := ids.Result(&turnv1.ToolResult{CallId: own}); got != id {
			t.Errorf("the result of %q is one of %q, not %q", own, got, id)
		}
	}
	if !seen["a"] || !seen["call_0"] {
		t.Errorf("good ids were changed: %v", seen)
	}
	short := wire.NewIDs(wire.ShortID)
	if id := short.Call(&turnv1.ToolCall{CallId: "call_1_0"}); !wire.ShortID.MatchString(id) {
		t.Errorf("%q is not short", id)
	}
}

// TestRepeatedIDsTakeLittleMemory: models that number the calls of each answer repeat every id of a conversation.
func TestRepeatedIDsTakeLittleMemory(t *testing.T) {
	ids, call := wire.NewIDs(wire.AnyID), &turnv1.ToolCall{CallId: "call_0"}
	if n := testing.AllocsPerRun(1000, func() { ids.Call(call) }); n > 2 {
		t.Errorf("an id takes %g allocations", n)
	}
}
