package catalog

import (
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/config"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/price"
)

// PriceConfig is the price of some models.
type PriceConfig = price.Config

// loadPrices returns the prices of the configuration and those of its file behind them.
func loadPrices(cfg Config) (price.List, error) {
	list := price.List(cfg.Prices)
	if cfg.PriceFile == "" {
		return list, nil
	}
	var file struct {
		Prices price.List `yaml:"prices" doc:"Prices of models."`
	}
	if err := config.Load(config.Options{File: cfg.PriceFile, Environ: []string{}, Into: &file}); err != nil {
		return nil, fmt.Errorf("price_file: %w", err)
	}
	for i, p := range file.Prices {
		if err := p.Check(); err != nil {
			return nil, fmt.Errorf("price_file: prices[%d]: %w", i, err)
		}
	}
	return append(list[:len(list):len(list)], file.Prices...), nil
}

// Price returns a model's price now, nil if it has none. Built-in models cost nothing.
func (c *Catalog) Price(m Model) *turnv1.Price {
	if p := c.prices.Of(m.FullName(), time.Now(), c.cfg.Currency); p != nil || !m.Provider.Kind.BuiltIn {
		return p
	}
	return &turnv1.Price{Currency: c.cfg.Currency}
}
