package model

import (
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Usage returns what a model call used. It counts the call itself, whatever the provider reports.
func Usage(finished *inferencev1.Finished) *turnv1.Usage {
	out := &turnv1.Usage{ModelCalls: 1}
	Count(out, finished.GetUsage())
	return out
}

// Count sets in out what the call of a model or of an executor used, also one that was cut off. An executor reports a cost; that of a
// model is set with the record of its attempt, or when the step is committed.
func Count(out, u *turnv1.Usage) {
	if u == nil {
		return
	}
	out.InputTokens, out.OutputTokens, out.CachedInputTokens = u.GetInputTokens(), u.GetOutputTokens(), u.GetCachedInputTokens()
	out.ReasoningTokens, out.ModelCalls, out.CostMicros = u.GetReasoningTokens(), max(1, u.GetModelCalls()), u.GetCostMicros()
	out.CacheWriteInputTokens = u.GetCacheWriteInputTokens()
}

// Add adds a model call, and the call itself.
func Add(sum *turnv1.Usage, finished *inferencev1.Finished) {
	AddTokens(sum, finished.GetUsage())
	sum.ModelCalls++
}

// AddTokens adds what calls used, but not their number.
func AddTokens(sum, u *turnv1.Usage) {
	sum.InputTokens += u.GetInputTokens()
	sum.OutputTokens += u.GetOutputTokens()
	sum.CachedInputTokens += u.GetCachedInputTokens()
	sum.ReasoningTokens += u.GetReasoningTokens()
	sum.CacheWriteInputTokens += u.GetCacheWriteInputTokens()
	sum.CostMicros += u.GetCostMicros()
}
