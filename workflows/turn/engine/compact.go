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

// Bounds of what a provider may count for PerMille tokens of ours, so that one odd count does no harm.
const (
	minPerMille = 500
	maxPerMille = 2000
)

// compactRef is the step that compacts the conversation before the next model step, nil when it is not due: when the provider refused the
// conversation before, or when it has outgrown what the surface lets a model read. A turn whose surface has no bound is never compacted.
func (t record) compactRef() *turnv1.StepRef {
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

// nextCompaction is the size before which the turn is not compacted again, 0 when it was not compacted: something must have come since, or
// it would be compacted for ever.
func (t record) nextCompaction() int64 {
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

// reads estimates what the next model step will read: what the newest one read and wrote, as the provider counts it, and what came since. Input
// counts that was there when the newest other step ended, so that a decision once made stays.
func (t record) reads() int64 {
	last, n := t.last(), len(t.infers)
	if last == nil {
		return t.begin.GetContextTokens()
	}
	used := last.GetUsage()
	sum := read1(used) + int64(used.GetOutputTokens())
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

// read1 is what one model call of a step read.
func read1(u *turnv1.Usage) int64 {
	return int64(u.GetInputTokens()) / int64(max(u.GetModelCalls(), 1))
}

// newest is when the last step was committed that is no input.
func (t record) newest() int64 {
	var at int64
	for _, o := range t.all {
		if o.GetKind() != turnv1.StepKind_STEP_KIND_STEER {
			at = max(at, o.GetCommittedMicros())
		}
	}
	return at
}

// counted is what the provider counts for 1000 tokens of our estimate, as the newest model step shows that knows both.
func (t record) counted() uint32 {
	for _, o := range slices.Backward(t.infers) {
		if theirs, ours := read1(o.GetUsage()), o.GetContextTokens(); theirs > 0 && ours > 0 && o.GetError() == nil {
			return uint32(min(max(theirs*PerMille/ours, minPerMille), maxPerMille))
		}
	}
	return PerMille
}

func (t record) calibrated(tokens int64) int64 { return tokens * int64(t.counted()) / PerMille }

// refused reports whether the newest model step failed because the provider took the conversation for too long, and something is done about it:
// it is compacted, and the model asked once more. When that is refused too, the turn fails.
func (t record) refused() bool {
	n := len(t.infers)
	return t.surface().GetContextTokens() > 0 && n > 0 && tooLong(t.infers[n-1]) && (n == 1 || !tooLong(t.infers[n-2]))
}

func tooLong(o *turnv1.StepOutcome) bool { return o.GetError().GetCode() == CodeContext }

// asked counts the model steps that a provider took up.
func (t record) asked() int {
	n := 0
	for _, o := range t.infers {
		if !tooLong(o) {
			n++
		}
	}
	return n
}

// fitting puts a compaction before a step that asks the model, when it is due.
func (t record) fitting(step *turnv1.StepRef) *turnv1.StepRef {
	if compact := t.compactRef(); compact != nil {
		return compact
	}
	return step
}
