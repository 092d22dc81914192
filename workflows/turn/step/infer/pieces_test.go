//go:build !race

package infer_test

import (
	"testing"

	"google.golang.org/grpc"
	"pgregory.net/rapid"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/workflows/contract/passage"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// TestPiecesDoNotMatter: however an answer is cut into pieces, its deltas make up the message and have no marks.
func TestPiecesDoNotMatter(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		cuts := rapid.SliceOfN(rapid.IntRange(1, 9), 1, 20).Draw(r, "cuts")
		model := func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
			found := marks(req)
			if len(found) < 2 {
				return turntest.CallTools(passage.SearchTool, 1)(req, stream)
			}
			var pieces []string
			for i, rest := 0, "a "+found[0]+" b [k123456.7] c "+found[1]+found[0]+" d"; rest != ""; i++ {
				n := min(cuts[i%len(cuts)], len(rest))
				pieces, rest = append(pieces, rest[:n]), rest[n:]
			}
			return turntest.Say(pieces...)(req, stream)
		}
		w := citingWorld(t, &sessionsv1.Agent{}, model)
		sub := w.Transient()
		w.Advance()
		done, said := w.Completed(), ""
		for n := uint32(0); n < done.GetDeltas(); {
			if e := w.Next(sub); e.GetMessageDelta().GetMessageId() == done.GetMessage().GetId() {
				said += e.GetMessageDelta().GetText()
				n++
			}
		}
		if text := steptest.Text(done.GetMessage()); text != "a [1] b c [2][1] d" || said != text {
			r.Fatalf("deltas say %q, the message %q", said, text)
		}
	})
}
