package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/secret"
)

// KeyConfig is one of several keys of a provider.
type KeyConfig struct {
	Provider string       `yaml:"provider" doc:"Name of the provider, which then has no api_key of its own."`
	Alias    string       `yaml:"alias" doc:"Name of the key in lists, events and errors."`
	APIKey   secret.Value `yaml:"api_key" doc:"The key; write ${env:NAME} to take it from the environment, or ${secret:NAME} for a stored secret."`
	Tenant   string       `yaml:"tenant" doc:"Tenant whose stored secret api_key refers to; empty: default."`
}

// maxKeys bounds the keys of all providers.
const maxKeys = 1000

var aliasForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// checkKeys returns the mistakes of the keys.
func (c Config) checkKeys() (errs []error) {
	if len(c.Keys) > maxKeys {
		errs = append(errs, fmt.Errorf("%d keys, at most %d are possible", len(c.Keys), maxKeys))
	}
	providers, seen := map[string]ProviderConfig{}, map[string]bool{}
	for _, p := range c.Providers {
		providers[p.Name] = p
	}
	for i, k := range c.Keys {
		p, ok := providers[k.Provider]
		name := k.Provider + "/" + k.Alias
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("keys[%d]: no provider %q in inference.providers", i, k.Provider))
		case !p.APIKey.IsZero() || p.AccessKeyID != "":
			errs = append(errs, fmt.Errorf("keys[%d]: provider %q has a key of its own: move it to inference.keys", i, k.Provider))
		case !aliasForm.MatchString(k.Alias):
			errs = append(errs, fmt.Errorf("keys[%d]: alias %q: lower-case letters, digits, dots, dashes, 63 at most", i, k.Alias))
		case k.APIKey.IsZero():
			errs = append(errs, fmt.Errorf("keys[%d]: api_key is required", i))
		case k.Tenant != "" && !authn.ValidTenant(k.Tenant):
			errs = append(errs, fmt.Errorf("keys[%d]: tenant %q: use up to 63 letters, digits, hyphens and underscores", i, k.Tenant))
		case seen[name]:
			errs = append(errs, fmt.Errorf("keys[%d]: provider %q has two keys %q", i, k.Provider, k.Alias))
		}
		seen[name] = true
	}
	return errs
}

// PoolKey is one of several keys of a provider.
type PoolKey struct {
	// Alias names it.
	Alias string
	// Value is the key.
	Value secret.Value
	// Mark changes with the key and does not reveal it.
	Mark string
}

// poolOf returns the keys of a provider.
func (c Config) poolOf(provider string) (out []KeyConfig) {
	for _, k := range c.Keys {
		if k.Provider == provider {
			out = append(out, k)
		}
	}
	return out
}

// Aliases returns the names of the keys of a provider that has several, in order; none for others.
func (c *Catalog) Aliases(provider string) (names []string) {
	for _, k := range c.cfg.poolOf(provider) {
		names = append(names, k.Alias)
	}
	return names
}

// PoolKey returns a key of a provider by its alias.
func (c *Catalog) PoolKey(p *Provider, alias string) (PoolKey, error) {
	for _, k := range c.cfg.poolOf(p.Name) {
		if k.Alias != alias {
			continue
		}
		value := k.APIKey
		if envref.Whole(value.Reveal()) {
			var err error
			if value, err = c.resolveKey(p, value.Reveal(), cmp.Or(k.Tenant, authn.DefaultTenant)); err != nil {
				return PoolKey{}, err
			}
		}
		sum := sha256.Sum256([]byte("key of a pool\x00" + value.Reveal()))
		return PoolKey{Alias: alias, Value: value, Mark: hex.EncodeToString(sum[:4])}, nil
	}
	return PoolKey{}, fmt.Errorf("provider %q has no key %q", p.Name, alias)
}
