package catalog

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/services/inference/price"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// Config says which providers and models there are.
type Config struct {
	DefaultModel string           `yaml:"default_model" doc:"Model used when an agent names none, as provider/model. Empty: the first one found."`
	Providers    []ProviderConfig `yaml:"providers" doc:"Model providers. The first model of the first one is the default."`
	Keys         []KeyConfig      `yaml:"keys" doc:"Keys of providers that have several. A key that the provider limits or refuses is left out, and the next one is used; a session keeps to its key while that is healthy."`
	Detect       bool             `yaml:"detect" default:"true" doc:"Also use OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY and a local Ollama where they are found."`
	Prices       []PriceConfig    `yaml:"prices" doc:"Prices of models. The first entry that matches a model applies. A model without a match has no price: it is refused under a budget of money."`
	PriceFile    string           `yaml:"price_file" doc:"File with more prices, behind those of prices: what windlass model prices import writes. It is read at start."`
	Models       []ModelConfig    `yaml:"models" doc:"Limits of models. The first entry that matches a model applies, before what is known for its family. A conversation that outgrows the window is compacted."`
	Currency     string           `yaml:"currency" default:"USD" doc:"Currency of prices, costs and money budgets, three letters."`
}

// ProviderConfig is one provider.
type ProviderConfig struct {
	Name         string                  `yaml:"name" doc:"Name of the provider, the part of a model's name before the slash."`
	Kind         string                  `yaml:"kind" doc:"API of the provider: openai (chat completions, also of vLLM and many others), openai-responses, anthropic, gemini (also of Vertex AI), bedrock, ollama, or scripted."`
	Profile      string                  `yaml:"profile" doc:"Server with OpenAI's chat API, for openai: vllm, deepseek, mistral, groq, openrouter, lmstudio or llamacpp. It says what the server takes, and its address without base_url. Empty: as the host of base_url says."`
	BaseURL      string                  `yaml:"base_url" doc:"Address of the API, for example http://127.0.0.1:8000/v1. Empty: the public one of this kind."`
	APIKey       secret.Value            `yaml:"api_key" doc:"Key of the API; write ${env:NAME} to take it from the environment, or ${secret:NAME} for a stored secret."`
	Tenant       string                  `yaml:"tenant" doc:"Tenant whose stored secret api_key refers to; empty: default. All tenants use the provider."`
	APIKeyFrom   string                  `yaml:"api_key_from" doc:"Key of the provider data of a request (header X-Windlass-Provider-Data) whose value replaces api_key. Without api_key, a request must have it."`
	Region       string                  `yaml:"region" doc:"Region of AWS, for bedrock."`
	AccessKeyID  string                  `yaml:"access_key_id" doc:"Id of the AWS access key whose secret is api_key, for bedrock. Empty: api_key is a key of Bedrock's own."`
	SessionToken secret.Value            `yaml:"session_token" doc:"Session token of temporary AWS credentials, for bedrock."`
	Models       []string                `yaml:"models" doc:"Models to list, the preferred first. Other names are passed on as well. Empty: the provider is asked."`
	Headers      map[string]secret.Value `yaml:"headers" doc:"Headers sent with each request."`
}

// awsRegion is the form of the names of regions, which are parts of host names.
var awsRegion = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

var providerName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// Check returns all mistakes at once.
func (c Config) Check() error {
	var errs []error
	names := map[string]bool{builtin: true}
	for i, p := range c.Providers {
		if err := p.check(); err != nil {
			errs = append(errs, fmt.Errorf("providers[%d]: %w", i, err))
		}
		if names[p.Name] {
			errs = append(errs, fmt.Errorf("providers[%d]: the name %q is taken", i, p.Name))
		}
		names[p.Name] = true
	}
	errs = append(errs, c.checkKeys()...)
	for i, p := range c.Prices {
		if err := p.Check(); err != nil {
			errs = append(errs, fmt.Errorf("prices[%d]: %w", i, err))
		}
	}
	for i, m := range c.Models {
		if err := m.check(); err != nil {
			errs = append(errs, fmt.Errorf("models[%d]: %w", i, err))
		}
	}
	return errors.Join(append(errs, price.CheckCurrency(c.Currency))...)
}

func (p ProviderConfig) check() error {
	if !providerName.MatchString(p.Name) {
		return fmt.Errorf("name %q: lower-case letters, digits, dots, dashes, 63 at most", p.Name)
	}
	kind, err := kindOf(p.Kind)
	if err != nil {
		return err
	}
	if p.Tenant != "" && !authn.ValidTenant(p.Tenant) {
		return fmt.Errorf("tenant %q: use up to 63 letters, digits, hyphens and underscores", p.Tenant)
	}
	if p.APIKeyFrom != "" && (!providerdata.ValidKey(p.APIKeyFrom) || kind.Traits().BuiltIn) {
		return fmt.Errorf("api_key_from %q: letters, digits, \"_\", \".\" and \"-\", at most 128; not for scripted", p.APIKeyFrom)
	}
	if p.Profile != "" && !slices.Contains(kind.Traits().Profiles, p.Profile) {
		return fmt.Errorf("profile %q: the kind %s has the profiles %q", p.Profile, p.Kind, kind.Traits().Profiles)
	}
	if err := p.checkAWS(kind.Traits()); err != nil {
		return err
	}
	if p.BaseURL != "" {
		u, err := url.Parse(p.BaseURL)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return errors.New("base_url must be an http or https URL")
		}
	}
	return nil
}

func (p ProviderConfig) checkAWS(kind provider.Traits) error {
	switch {
	case !kind.AWS && (p.Region != "" || p.AccessKeyID != "" || !p.SessionToken.IsZero()):
		return fmt.Errorf("region, access_key_id and session_token are not for the kind %s", kind.Name)
	case p.Region != "" && !awsRegion.MatchString(p.Region):
		return fmt.Errorf("region %q: lower-case letters, digits and dashes", p.Region)
	case kind.AWS && p.Region == "" && (p.BaseURL == "" || p.AccessKeyID != ""):
		return errors.New("region is required: for example eu-central-1")
	case p.AccessKeyID != "" && p.APIKeyFrom != "":
		return errors.New("api_key_from and access_key_id exclude each other: a key of a request is a key of Bedrock's own")
	}
	return nil
}
