package catalog

import (
	"errors"
	"regexp"

	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/libs/money"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// PriceConfig is the price of some models.
type PriceConfig struct {
	Model       string        `yaml:"model" doc:"Models that cost this, as provider/model, with * for any run of characters: openai/gpt-4o*."`
	Input       money.Micros  `yaml:"input" doc:"Price of a million tokens read, for example 2.50."`
	Output      money.Micros  `yaml:"output" doc:"Price of a million tokens written, reasoning included."`
	CachedInput *money.Micros `yaml:"cached_input" doc:"Price of a million tokens read from the provider's cache. Not set: that of input."`
}

// maxPrice keeps the cost of one model call far from an overflow.
const maxPrice = 100_000 * money.Unit

var currencyName = regexp.MustCompile(`^[A-Z]{3}$`)

func (p PriceConfig) check() error {
	switch {
	case p.Model == "":
		return errors.New("model is required: a name or a pattern such as openai/*")
	case p.Input > maxPrice, p.Output > maxPrice, p.CachedInput != nil && *p.CachedInput > maxPrice:
		return errors.New("a million tokens cost more than 100000")
	}
	return nil
}

// Price returns a model's price, nil if it has none.
func (c *Catalog) Price(m Model) *turnv1.Price {
	for _, p := range c.cfg.Prices {
		if !glob.Match(p.Model, m.FullName()) {
			continue
		}
		cached := p.Input
		if p.CachedInput != nil {
			cached = *p.CachedInput
		}
		return &turnv1.Price{
			InputMicros: int64(p.Input), OutputMicros: int64(p.Output), CachedInputMicros: int64(cached), Currency: c.cfg.Currency,
		}
	}
	return nil
}
