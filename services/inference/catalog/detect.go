package catalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// detect returns the configured providers, then the detected ones, in order of preference. A configured provider replaces a detected one
// with the same name.
func detect(ctx context.Context, cfg Config, maxResponse int64, deps Deps) ([]*Provider, error) {
	d := &detector{cfg: cfg, maxResponse: maxResponse, deps: deps}
	for i, p := range cfg.Providers {
		if err := d.add(p, "", fmt.Sprintf("inference.providers[%d].api_key", i)); err != nil {
			return nil, fmt.Errorf("providers[%d]: %w", i, err)
		}
	}
	if !cfg.Detect {
		return d.found, nil
	}
	if err := d.keys(); err != nil {
		return nil, err
	}
	if err := d.ollama(ctx); err != nil {
		return nil, err
	}
	return d.found, nil
}

// detector collects providers.
type detector struct {
	cfg         Config
	maxResponse int64
	deps        Deps
	found       []*Provider
}

func (d *detector) has(name string) bool {
	return slices.ContainsFunc(d.found, func(p *Provider) bool { return p.Name == name })
}

// add creates a provider. preferred is its default model if the configuration names none; keyFrom names the setting of its key, for errors.
func (d *detector) add(cfg ProviderConfig, preferred, keyFrom string) error {
	kind, err := kindOf(cfg.Kind)
	if err != nil {
		return err
	}
	if first := d.cfg.poolOf(cfg.Name); len(first) > 0 { // it lists the models and answers checks
		cfg.APIKey, cfg.Tenant = first[0].APIKey, first[0].Tenant
	}
	p := &Provider{Name: cfg.Name, Kind: kind.Traits(), models: cfg.Models, keyFrom: cfg.APIKeyFrom, keyless: cfg.APIKey.IsZero()}
	switch {
	case p.Kind.BuiltIn:
		p.preferred = p.Kind.DefaultModel
	case preferred == "" && len(cfg.Models) > 0:
		p.preferred = cfg.Models[0]
	case preferred == "" && cfg.BaseURL == "" && cfg.Profile == "":
		p.preferred = p.Kind.DefaultModel
	default:
		p.preferred = preferred
	}
	if envref.Whole(cfg.APIKey.Reveal()) { // read when it is used
		p.stored, p.tenant, cfg.APIKey = cfg.APIKey.Reveal(), cmp.Or(cfg.Tenant, authn.DefaultTenant), secret.Value{}
	}
	p.Provider, err = kind.New(provider.Config{
		Identity: provider.Identity{Name: cfg.Name, KeyFrom: keyFrom}, BaseURL: cfg.BaseURL, Profile: cfg.Profile, APIKey: cfg.APIKey,
		Headers: cfg.Headers,
		Region:  cfg.Region, AccessKeyID: cfg.AccessKeyID, SessionToken: cfg.SessionToken,
		HTTP: d.deps.Egress.Client(egress.Options{MaxResponseBytes: d.maxResponse}),
	})
	d.found = append(d.found, p)
	return err
}

// keys detects providers by their keys in the environment.
func (d *detector) keys() error {
	for _, kind := range kinds {
		name, env := kind.Traits().Name, kind.Traits().EnvPrefix
		if env == "" || d.has(name) {
			continue
		}
		key := d.deps.Getenv(env + "_API_KEY")
		if key == "" {
			continue
		}
		p := ProviderConfig{Name: name, Kind: name, BaseURL: d.deps.Getenv(env + "_BASE_URL"), APIKey: secret.New(key)}
		if err := p.check(); err != nil {
			return fmt.Errorf("%s_BASE_URL: %w", env, err)
		}
		if err := d.add(p, cmp.Or(d.deps.Getenv(env+"_MODEL"), kind.Traits().DefaultModel), env+"_API_KEY"); err != nil {
			return err
		}
	}
	return nil
}
