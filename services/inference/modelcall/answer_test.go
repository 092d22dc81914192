package modelcall

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// TestAnswerKeepsItsBounds feeds input that no well-behaved provider sends.
func TestAnswerKeepsItsBounds(t *testing.T) {
	call := func(index int, arguments string) provider.Delta {
		return provider.Delta{Call: &provider.CallDelta{Index: index, ID: "a", Tool: "t", Arguments: arguments}}
	}
	for _, row := range []struct {
		name   string
		deltas []provider.Delta
		good   int // that many are taken
	}{
		{"text", []provider.Delta{{Text: strings.Repeat("x", 50)}, {Text: strings.Repeat("x", 50)}, {Text: "x"}}, 2},
		{"all together", []provider.Delta{
			{Text: strings.Repeat("x", 50)},
			{Reasoning: strings.Repeat("x", 40)},
			call(0, "0123456789"),
			call(0, "0"),
		}, 3},
		{"a gap in the calls", []provider.Delta{call(0, ""), call(2, "")}, 1},
		{"a negative call", []provider.Delta{call(-1, "")}, 0},
		{"a call without a tool", []provider.Delta{{Call: &provider.CallDelta{ID: "a"}}}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := newCollector(100)
			for i, d := range row.deltas {
				_, err := a.add(d)
				if i < row.good && err != nil {
					t.Fatalf("delta %d: %v", i, err)
				}
				if i >= row.good && !fault.Is(err, faultv1.Reason_REASON_MODEL_STREAM_BROKEN) {
					t.Fatalf("delta %d: %v", i, err)
				}
			}
		})
	}
}
