package infer_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// TestDeltasNeverHaveWhatIsRedacted: however a model's answer is cut into pieces, its deltas have nothing that shields redact or block, and
// make up the message.
func TestDeltasNeverHaveWhatIsRedacted(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		shield := rapid.SampledFrom([]string{"output-redact-secret", "output-block-secret"}).Draw(r, "shield")
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"s", "sec", "ret", "secret", "secre", "t", " ", "fine "}), 1, 12).Draw(r, "pieces")
		w := steptest.New(t, &sessionsv1.Agent{Shields: []string{shield}})
		ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
		sub := w.Transient()
		w.Model(turntest.Say(words...))
		w.Do(ref)
		done := w.Completed()
		var told string
		for range done.GetDeltas() {
			told += w.Next(sub).GetMessageDelta().GetText()
		}
		said := strings.Join(words, "")
		want, text := strings.ReplaceAll(said, "secret", "***"), steptest.Text(done.GetMessage())
		if before, _, found := strings.Cut(said, "secret"); found && strings.Contains(shield, "block") {
			if strings.Contains(told, "secret") || !strings.HasPrefix(before, told) || !strings.Contains(text, "withheld") {
				r.Fatalf("%s of %q: told %q, completed %q", shield, words, told, text)
			}
			return
		}
		if told != want || text != want {
			r.Fatalf("%s of %q: told %q, completed %q", shield, words, told, text)
		}
	})
}
