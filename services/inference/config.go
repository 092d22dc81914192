package inference

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"time"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/secret"
)

// Kinds of providers.
const (
	// OpenAI speaks the chat completions API of OpenAI, which many servers offer.
	OpenAI = "openai"
	// Anthropic speaks the messages API of Anthropic.
	Anthropic = "anthropic"
	// Scripted is the deterministic model without intelligence.
	Scripted = "scripted"
)

// Config is what the inference service is told at start.
type Config struct {
	// DefaultModel is used when nobody names a model.
	DefaultModel string `yaml:"default_model" doc:"Model used when an agent names none, as provider/model. Empty: the first that is found."`
	// Providers are what is configured.
	Providers []ProviderConfig `yaml:"providers" doc:"Model providers. The first model of the first one is the default."`
	// Detect looks for providers in the environment and on this machine too.
	Detect bool `yaml:"detect" doc:"Also use OPENAI_API_KEY, ANTHROPIC_API_KEY and a local Ollama where they are found."`
	// Prices are what models cost; the first that fits a model is its price.
	Prices []PriceConfig `yaml:"prices" doc:"What the tokens of models cost. The first entry that fits a model is its price; a model that none fits has no price and counts as free."`
	// Models are what models can read and write; the first that fits a model counts.
	Models []ModelConfig `yaml:"models" doc:"What models can read and write. The first entry that fits a model counts, before what is known for its family. A conversation that outgrows the window is compacted."`
	// Currency is what prices and costs are in.
	Currency string `yaml:"currency" doc:"Currency of prices, costs and money budgets, three letters."`
	// FirstTokenTimeout bounds the wait for the first piece of an answer.
	FirstTokenTimeout time.Duration `yaml:"first_token_timeout" doc:"How long a model may take until the first piece of its answer. Raise it for models that think long in silence."`
	// IdleTimeout bounds the silence between pieces.
	IdleTimeout time.Duration `yaml:"idle_timeout" doc:"How long a model may be silent in the middle of an answer."`
	// MaxResponse bounds what is read of one answer. Each token comes with a few hundred bytes around it.
	MaxResponse config.Size `yaml:"max_response" doc:"Bytes that are read of one answer at most; each token comes with a few hundred bytes around it."`
}

// ProviderConfig is one provider.
type ProviderConfig struct {
	// Name is the part of a model's name before the slash.
	Name string `yaml:"name" doc:"Name of the provider, the part of a model's name before the slash."`
	// Kind says which API it speaks.
	Kind string `yaml:"kind" doc:"API of the provider: openai (chat completions, also of Ollama, vLLM and others), anthropic, or scripted."`
	// BaseURL is where it is.
	BaseURL string `yaml:"base_url" doc:"Address of the API, for example http://127.0.0.1:11434/v1. Empty: the public one of this kind."`
	// APIKey is the secret that it wants.
	APIKey secret.Value `yaml:"api_key" doc:"Key of the API; write ${env:NAME} to take it from the environment."`
	// Models are the known ones; any other name is passed on too.
	Models []string `yaml:"models" doc:"Models to list, the preferred first. Other names are passed on as well. Empty: the provider is asked."`
	// Headers are sent with each request.
	Headers map[string]secret.Value `yaml:"headers" doc:"Headers sent with each request."`
}

// DefaultConfig detects providers and waits 60 s for a first token.
func DefaultConfig() Config {
	return Config{Detect: true, Currency: "USD", FirstTokenTimeout: 30 * time.Second, IdleTimeout: 20 * time.Second, MaxResponse: 64 << 20}
}

var providerName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// validate returns all mistakes at once.
func (c Config) validate() error {
	var errs []error
	if c.FirstTokenTimeout <= 0 || c.IdleTimeout <= 0 || c.MaxResponse <= 0 {
		errs = append(errs, errors.New("first_token_timeout, idle_timeout and max_response must be positive"))
	}
	names := map[string]bool{builtin: true}
	for i, p := range c.Providers {
		if err := p.validate(); err != nil {
			errs = append(errs, fmt.Errorf("providers[%d]: %w", i, err))
		}
		if names[p.Name] {
			errs = append(errs, fmt.Errorf("providers[%d]: the name %q is taken", i, p.Name))
		}
		names[p.Name] = true
	}
	for i, p := range c.Prices {
		if err := p.validate(); err != nil {
			errs = append(errs, fmt.Errorf("prices[%d]: %w", i, err))
		}
	}
	for i, m := range c.Models {
		if err := m.validate(); err != nil {
			errs = append(errs, fmt.Errorf("models[%d]: %w", i, err))
		}
	}
	if c.Currency != "" && !currencyName.MatchString(c.Currency) {
		errs = append(errs, fmt.Errorf("currency %q: three capital letters, for example USD", c.Currency))
	}
	return errors.Join(errs...)
}

func (p ProviderConfig) validate() error {
	if !providerName.MatchString(p.Name) {
		return fmt.Errorf("name %q: lower-case letters, digits, dots, dashes, 63 at most", p.Name)
	}
	switch p.Kind {
	case OpenAI, Anthropic, Scripted:
	default:
		return fmt.Errorf("kind %q: it must be openai, anthropic or scripted", p.Kind)
	}
	if p.BaseURL != "" {
		u, err := url.Parse(p.BaseURL)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return errors.New("base_url must be an http or https URL")
		}
	}
	return nil
}
