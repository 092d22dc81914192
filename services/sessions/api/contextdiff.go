package api

import (
	"slices"

	"google.golang.org/protobuf/proto"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// maxDiffCells bounds the table that a comparison fills: beyond it, what differs between the common beginning and end is removed and added
// as a whole.
const maxDiffCells = 4 << 20

// contextDiff compares two contexts by parts: what only before has is removed, what only after has is added.
func contextDiff(before, after []*sessionsv1.ContextPart) []*sessionsv1.ContextDifference {
	var out []*sessionsv1.ContextDifference
	add := func(op sessionsv1.ContextDiffOp, parts ...*sessionsv1.ContextPart) {
		for _, p := range parts {
			out = append(out, &sessionsv1.ContextDifference{Op: op, Part: p})
		}
	}
	const (
		same    = sessionsv1.ContextDiffOp_CONTEXT_DIFF_OP_SAME
		added   = sessionsv1.ContextDiffOp_CONTEXT_DIFF_OP_ADDED
		removed = sessionsv1.ContextDiffOp_CONTEXT_DIFF_OP_REMOVED
	)
	head := 0
	for head < min(len(before), len(after)) && proto.Equal(before[head], after[head]) {
		head++
	}
	tail := 0
	for tail < min(len(before), len(after))-head && proto.Equal(before[len(before)-1-tail], after[len(after)-1-tail]) {
		tail++
	}
	end := after[len(after)-tail:]
	add(same, after[:head]...)
	a, b := before[head:len(before)-tail], after[head:len(after)-tail]
	common := commonParts(a, b)
	for _, pair := range common {
		add(removed, a[:pair[0]]...)
		add(added, b[:pair[1]]...)
		add(same, b[pair[1]])
		a, b = a[pair[0]+1:], b[pair[1]+1:]
	}
	add(removed, a...)
	add(added, b...)
	add(same, end...)
	return out
}

// commonParts returns a longest common subsequence of two lists, each pair as distances from the end of the pair before.
func commonParts(a, b []*sessionsv1.ContextPart) [][2]int {
	if len(a) == 0 || len(b) == 0 || len(a)*len(b) > maxDiffCells {
		return nil
	}
	width := len(b) + 1
	length := make([]int32, (len(a)+1)*width)
	for i := range slices.Backward(a) {
		for j := range slices.Backward(b) {
			if proto.Equal(a[i], b[j]) {
				length[i*width+j] = length[(i+1)*width+j+1] + 1
			} else {
				length[i*width+j] = max(length[(i+1)*width+j], length[i*width+j+1])
			}
		}
	}
	var out [][2]int
	fromA, fromB := 0, 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case proto.Equal(a[i], b[j]):
			out = append(out, [2]int{i - fromA, j - fromB})
			i, j = i+1, j+1
			fromA, fromB = i, j
		case length[(i+1)*width+j] >= length[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return out
}
