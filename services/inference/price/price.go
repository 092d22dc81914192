// Package price is the catalogue of what models cost: with dates from which prices are valid, and tiers for long prompts.
package price

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/libs/money"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Config is the price of some models.
type Config struct {
	Model       string        `yaml:"model" doc:"Models that cost this, as provider/model, with * for any run of characters: openai/gpt-4o*."`
	From        string        `yaml:"from" doc:"First day on which it is valid, in UTC: 2026-11-01. Of entries with the same model, the newest valid one applies. Empty: always."`
	Input       money.Micros  `yaml:"input" doc:"Price of a million tokens read, for example 2.50."`
	Output      money.Micros  `yaml:"output" doc:"Price of a million tokens written, reasoning included."`
	CachedInput *money.Micros `yaml:"cached_input" doc:"Price of a million tokens read from the provider's cache. Not set: that of input."`
	CacheWrite  *money.Micros `yaml:"cache_write" doc:"Price of a million tokens read that the provider stores in its cache. Not set: that of input."`
	Tiers       []Tier        `yaml:"tiers" doc:"Prices of calls that read more than some number of tokens, in the place of those above."`
}

// Tier are the prices of calls that read many tokens.
type Tier struct {
	Above       int64         `yaml:"above" doc:"The tier applies to calls that read more tokens than this: 200000."`
	Input       money.Micros  `yaml:"input" doc:"As above."`
	Output      money.Micros  `yaml:"output" doc:"As above."`
	CachedInput *money.Micros `yaml:"cached_input" doc:"As above."`
	CacheWrite  *money.Micros `yaml:"cache_write" doc:"As above."`
}

// most keeps the cost of one model call far from an overflow.
const most = 100_000 * money.Unit

// maxTiers bounds the tiers of a price: it is pinned by each turn.
const maxTiers = 8

var currencyName = regexp.MustCompile(`^[A-Z]{3}$`)

// CheckCurrency refuses what is no name of a currency.
func CheckCurrency(name string) error {
	if name != "" && !currencyName.MatchString(name) {
		return fmt.Errorf("currency %q: three capital letters, for example USD", name)
	}
	return nil
}

// Check returns what is wrong with a price.
func (c Config) Check() error {
	if c.Model == "" {
		return errors.New("model is required: a name or a pattern such as openai/*")
	}
	if _, err := c.from(); err != nil {
		return fmt.Errorf("from %q: a day such as 2026-11-01", c.From)
	}
	if len(c.Tiers) > maxTiers {
		return fmt.Errorf("%d tiers: %d at most", len(c.Tiers), maxTiers)
	}
	for _, t := range append(c.Tiers[:len(c.Tiers):len(c.Tiers)], c.base()) {
		if t.Input > most || t.Output > most || t.CachedInput != nil && *t.CachedInput > most || t.CacheWrite != nil && *t.CacheWrite > most {
			return errors.New("a million tokens cost more than 100000")
		}
	}
	for _, t := range c.Tiers {
		if t.Above <= 0 {
			return errors.New("above is required in a tier: a number of tokens such as 200000")
		}
	}
	return nil
}

func (c Config) base() Tier {
	return Tier{Input: c.Input, Output: c.Output, CachedInput: c.CachedInput, CacheWrite: c.CacheWrite}
}

// from returns since when the price is valid.
func (c Config) from() (time.Time, error) {
	if c.From == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.DateOnly, c.From)
}

// List are prices, those that are asked first first. They must have passed Check.
type List []Config

// Of returns the price of a model, by its full name, at a time; nil if it has none. Of the entries with the pattern of the first valid one
// that matches, the newest valid one applies.
func (l List) Of(model string, at time.Time, currency string) *turnv1.Price {
	var found *Config
	var since time.Time
	for _, c := range l {
		from, err := c.from()
		if err != nil || from.After(at) || !glob.Match(c.Model, model) {
			continue
		}
		if found == nil || c.Model == found.Model && from.After(since) {
			found, since = &c, from
		}
	}
	if found == nil {
		return nil
	}
	base := found.base().message()
	out := &turnv1.Price{
		InputMicros: base.GetInputMicros(), OutputMicros: base.GetOutputMicros(), CachedInputMicros: base.GetCachedInputMicros(),
		CacheWriteMicros: base.GetCacheWriteMicros(), Currency: currency,
	}
	for _, t := range found.Tiers {
		out.Tiers = append(out.Tiers, t.message())
	}
	return out
}

// message fills in what is not set.
func (t Tier) message() *turnv1.PriceTier {
	return &turnv1.PriceTier{
		AboveTokens: t.Above, InputMicros: int64(t.Input), OutputMicros: int64(t.Output),
		CachedInputMicros: int64(*cmp.Or(t.CachedInput, &t.Input)), CacheWriteMicros: int64(*cmp.Or(t.CacheWrite, &t.Input)),
	}
}
