package contract

import (
	"cmp"

	"github.com/windlass-dev/windlass/libs/money"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Rates returns the prices of a model call that reads a number of tokens: those of the highest tier that it is above, else the base prices.
// What is not set costs as other input does. It is the zero value without a price.
func Rates(p *turnv1.Price, read int64) *turnv1.PriceTier {
	if p == nil {
		return &turnv1.PriceTier{}
	}
	out := &turnv1.PriceTier{
		InputMicros: p.GetInputMicros(), OutputMicros: p.GetOutputMicros(), CachedInputMicros: p.GetCachedInputMicros(),
		CacheWriteMicros: cmp.Or(p.GetCacheWriteMicros(), p.GetInputMicros()),
	}
	for _, t := range p.GetTiers() {
		if read > t.GetAboveTokens() && t.GetAboveTokens() >= out.GetAboveTokens() {
			out = t
		}
	}
	return out
}

// Cost returns what one model call costs, in millionths of the price's currency, rounded up:
//
//	cost = (read - cached - stored) * input + cached * cached_input + stored * cache_write + written * output, each for a million tokens
//
// with the prices of the tier of what is read. Tokens read include those of the cache, whatever the provider counts.
func Cost(p *turnv1.Price, u *turnv1.Usage) int64 {
	read := int64(u.GetInputTokens())
	rates := Rates(p, read)
	cached := min(int64(u.GetCachedInputTokens()), read)
	stored := min(int64(u.GetCacheWriteInputTokens()), read-cached)
	return money.Ceil(money.PerMillion(read-cached-stored, rates.GetInputMicros()) + money.PerMillion(cached, rates.GetCachedInputMicros()) +
		money.PerMillion(stored, rates.GetCacheWriteMicros()) + money.PerMillion(int64(u.GetOutputTokens()), rates.GetOutputMicros()))
}
