package engine

import (
	"fmt"
	"slices"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// CodeContext is the error code of a model step whose conversation the provider refused as too long.
const CodeContext = "context_too_long"

// PerMille is the unit of CompactRef.per_mille.
const PerMille = 1000

// Bounds of what a provider may count for PerMille tokens of ours, so that one outlier does no harm.
const (
	minPerMille = 500
	maxPerMille = 2000
)

// window is the conversation of a turn, as far as it fills the model's window.
type window struct{ record }

// compactRef returns the step that compacts the conversation before the next model step. It is due when the provider refused the
// conversation as too long, or when the conversation has outgrown the surface's limit; nil otherwise. A turn whose surface has no limit is
// never compacted.
func (t window) compactRef() *turnv1.StepRef {
	limit, n := t.surface().GetContextTokens(), len(t.infers)+1
	if limit <= 0 || t.byKey[stepkey.Compact(n)] != nil {
		return nil
	}
	why := &turnv1.CompactRef{Tokens: t.reads(), PerMille: t.counted(), Refused: t.refused()}
	if !why.GetRefused() && why.GetTokens() <= max(limit, t.nextCompaction()) {
		return nil
	}
	return &turnv1.StepRef{
		Key: stepkey.Compact(n), Kind: turnv1.StepKind_STEP_KIND_COMPACT, Title: fmt.Sprintf("compact (before infer #%d)", n), Compact: why,
	}
}

// nextCompaction is the size below which the turn is not compacted again, 0 when it was not compacted. The conversation has to grow in
// between, or it would be compacted forever.
func (t window) nextCompaction() int64 {
	for n := len(t.infers); n > 0; n-- {
		o := t.byKey[stepkey.Compact(n)]
		if o == nil {
			continue
		}
		s := t.surface()
		return t.calibrated(o.GetContextTokens()) + max(s.GetContextWindow()-s.GetContextTokens(), 2)/2
	}
	return 0
}

// reads estimates how many tokens the next model step will read: those that the newest one read and wrote, as the provider counts them, and
// those added since. Of the input sent to the running turn only that counts which was there when the newest other step ended, so that
// later input does not change a decision.
func (t window) reads() int64 {
	last, n := t.last(), len(t.infers)
	if last == nil {
		return t.begin.GetContextTokens()
	}
	used := last.GetUsage()
	sum := perCall(used) + int64(used.GetOutputTokens())
	for m := range last.GetCalls() {
		sum += t.calibrated(t.result(stepkey.Tool(n, m)).GetContextTokens())
	}
	newest := t.newest()
	for i := last.GetInputs() + 1; t.byKey[stepkey.Steer(int(i))] != nil; i++ {
		if o := t.byKey[stepkey.Steer(int(i))]; o.GetCommittedMicros() <= newest {
			sum += t.calibrated(o.GetContextTokens())
		}
	}
	return sum
}

// perCall returns the input tokens of one model call of a step.
func perCall(u *turnv1.Usage) int64 {
	return int64(u.GetInputTokens()) / int64(max(u.GetModelCalls(), 1))
}

// newest is when the newest step was committed that is not an input.
func (t window) newest() int64 {
	var at int64
	for _, o := range t.all {
		if o.GetKind() != turnv1.StepKind_STEP_KIND_STEER {
			at = max(at, o.GetCommittedMicros())
		}
	}
	return at
}

// counted returns what the provider counts for 1000 tokens of our estimate, by the newest model step that has both numbers.
func (t window) counted() uint32 {
	for _, o := range slices.Backward(t.infers) {
		if theirs, ours := perCall(o.GetUsage()), o.GetContextTokens(); theirs > 0 && ours > 0 && o.GetError() == nil {
			return uint32(min(max(theirs*PerMille/ours, minPerMille), maxPerMille))
		}
	}
	return PerMille
}

func (t window) calibrated(tokens int64) int64 { return tokens * int64(t.counted()) / PerMille }

// refused reports whether the newest model step failed because the conversation was too long for the provider, and is to be retried after a
// compaction. If the retry is refused as well, the turn fails.
func (t record) refused() bool {
	n := len(t.infers)
	return t.surface().GetContextTokens() > 0 && n > 0 && tooLong(t.infers[n-1]) && (n == 1 || !tooLong(t.infers[n-2]))
}

func tooLong(o *turnv1.StepOutcome) bool { return o.GetError().GetCode() == CodeContext }

// asked counts the model steps that a provider did not refuse.
func (t record) asked() int {
	n := 0
	for _, o := range t.infers {
		if !tooLong(o) {
			n++
		}
	}
	return n
}

// fitting returns the compaction that is due before a step that asks the model, or else that step.
func (t record) fitting(step *turnv1.StepRef) *turnv1.StepRef {
	if compact := (window{t}).compactRef(); compact != nil {
		return compact
	}
	return step
}
