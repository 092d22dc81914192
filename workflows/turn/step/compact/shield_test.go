package compact_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// What shields keep from models is kept from the one that writes a summary, and a summary is checked like an answer.
func TestShieldsLookAtSummaries(t *testing.T) {
	for _, row := range []struct {
		shield, triggered, summary string
		dropped                    bool
	}{
		{shield: "input-redact-question", summary: "the secret was said", triggered: ""},
		{shield: "output-redact-secret", summary: "the *** was said", triggered: "compact-1 output-redact-secret output redact  word"},
		{shield: "output-block-secret", summary: "(No summary", dropped: true, triggered: "compact-1 output-block-secret output block  word"},
	} {
		t.Run(row.shield, func(t *testing.T) {
			w := steptest.New(t, &sessionsv1.Agent{MaxContextTokens: 2000, Shields: []string{row.shield}})
			w.Journal.Recall(in.TurnID, earlier(10)...)
			w.Model(func(req *inferencev1.GenerateRequest, stream grpc.ServerStreamingServer[inferencev1.GenerateResponse]) error {
				if strings.Contains(req.GetInstructions(), contract.MarkCompact) {
					return turntest.Say("the secret was said")(req, stream)
				}
				return turntest.Say("hi")(req, stream)
			})
			w.Walk()
			c := compactions(w)
			if len(c) != 1 || !strings.HasPrefix(c[0].GetSummary(), row.summary) || c[0].GetDropped() != row.dropped ||
				w.Triggered() != row.triggered {
				t.Errorf("compacted %v, triggered %q", c, w.Triggered())
			}
			asked := steptest.Text(w.Asked()[0].GetMessages()[0])
			if redacts := strings.HasPrefix(row.shield, "input"); strings.Contains(asked, "question") == redacts ||
				strings.Contains(asked, "***") != redacts {
				t.Errorf("the model was asked to sum up %.200s", asked)
			}
		})
	}
}
