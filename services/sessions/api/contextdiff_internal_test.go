package api

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// TestADiffHasBothContexts: without what was removed it is the one, without what was added the other, and equal contexts do not differ.
func TestADiffHasBothContexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := func(name string) (out []*sessionsv1.ContextPart) {
			for _, text := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 8).Draw(t, name) {
				out = append(out, &sessionsv1.ContextPart{Text: text})
			}
			return out
		}
		before, after := list("before"), list("after")
		var a, b []*sessionsv1.ContextPart
		same := 0
		for _, d := range contextDiff(before, after) {
			if d.GetOp() != sessionsv1.ContextDiffOp_CONTEXT_DIFF_OP_ADDED {
				a = append(a, d.GetPart())
			}
			if d.GetOp() != sessionsv1.ContextDiffOp_CONTEXT_DIFF_OP_REMOVED {
				b = append(b, d.GetPart())
			}
			if d.GetOp() == sessionsv1.ContextDiffOp_CONTEXT_DIFF_OP_SAME {
				same++
			}
		}
		equal := func(x, y []*sessionsv1.ContextPart) bool {
			return proto.Equal(&sessionsv1.TurnContext{Parts: x}, &sessionsv1.TurnContext{Parts: y})
		}
		if !equal(a, before) || !equal(b, after) || equal(before, after) && same != len(before) {
			t.Fatalf("the diff of %v and %v has %v and %v, %d the same", before, after, a, b, same)
		}
	})
}
