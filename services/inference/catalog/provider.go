package catalog

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/services/inference/provider"
)

// Timeout of listing a provider's models, how long the list is cached, and the pause after a failure.
const (
	listTimeout = 5 * time.Second
	listAge     = 5 * time.Minute
	retryAge    = 30 * time.Second
)

// Provider is a named provider.
type Provider struct {
	provider.Provider
	// Name is the part of a model's name before the slash.
	Name string
	// Kind is the API that it speaks.
	Kind provider.Traits

	preferred string   // its default model, "" = none
	models    []string // configured; nil = ask the provider
	keyFrom   string   // key of the provider data that has the API's key, "" = none
	stored    string   // reference to a stored secret that is its key, "" = none
	tenant    string   // whose secret stored is
	keyless   bool     // it has no key of its own
	reach     reach

	mu     sync.Mutex
	fresh  time.Time // listed is cached until then
	listed []string
}

// list returns the configured models, else those that the provider lists itself, cached for a while.
func (p *Provider) list(ctx context.Context, log *slog.Logger) []string {
	if len(p.models) > 0 {
		return p.models
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().Before(p.fresh) {
		return p.listed
	}
	names, err := p.Models(ctx)
	switch {
	case err == nil:
		p.listed, p.fresh = names, time.Now().Add(listAge)
	case ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded):
		p.fresh = time.Now().Add(retryAge)
		log.WarnContext(ctx, "models not listed", "provider", p.Name, "error", err)
	}
	return p.listed
}
