package inference

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/scripted"
)

// builtin is the provider that always exists.
const builtin = "builtin"

// Timeout of listing a provider's models, how long the list is cached, and the pause after a failure.
const (
	listTimeout = 5 * time.Second
	listAge     = 5 * time.Minute
	retryAge    = 30 * time.Second
)

// source is a named provider.
type source struct {
	name      string
	kind      string
	preferred string   // its default model, "" = none
	models    []string // configured; nil = ask the provider
	keyFrom   string   // key of the provider data that has the API's key, "" = none
	stored    string   // reference to a stored secret that is its key, "" = none
	tenant    string   // whose secret stored is
	keyless   bool     // it has no key of its own
	provider.Provider
	reach reach

	mu    sync.Mutex
	fresh time.Time // known is cached until then
	known []string
}

// model is a model of a provider.
type model struct {
	provider  *source
	name      string // without the provider
	isDefault bool
}

func (m model) full() string { return m.provider.name + "/" + m.name }

// catalog holds the providers. It is immutable.
type catalog struct {
	sources   []*source // in order of preference, builtin last
	byDefault string
	log       *slog.Logger
}

// newCatalog determines the default model: the configured one, else the first model of the first provider that has one.
func newCatalog(cfg Config, found []*source, deps Deps) (*catalog, error) {
	own, err := scripted.New()
	if err != nil {
		return nil, err
	}
	c := &catalog{log: deps.Log, byDefault: cfg.DefaultModel}
	c.sources = append(slices.Clone(found), &source{
		name: builtin, kind: Scripted, preferred: scripted.ModelName, Provider: own,
	})
	if c.byDefault == "" {
		first := c.sources[0]
		if first.preferred == "" {
			return nil, fmt.Errorf("provider %q: name at least one model in models, or set default_model", first.name)
		}
		c.byDefault = first.name + "/" + first.preferred
	}
	if _, err := c.resolve(c.byDefault, codes.InvalidArgument); err != nil {
		return nil, fmt.Errorf("default_model: %w. %s", err, missing(c.byDefault))
	}
	return c, nil
}

// missing returns what to do if the default model's provider is missing.
func missing(name string) string {
	switch kind, _, _ := strings.Cut(name, "/"); kind {
	case OpenAI:
		return "Set OPENAI_API_KEY"
	case Anthropic:
		return "Set ANTHROPIC_API_KEY"
	default:
		return "Configure the provider in inference.providers"
	}
}

func (c *catalog) names() []string {
	names := make([]string, 0, len(c.sources))
	for _, s := range c.sources {
		names = append(names, s.name)
	}
	return names
}

// resolve returns the model with a name, or the default for an empty name. A provider accepts any name; builtin only its own. The error has
// the given code and MODEL_UNKNOWN.
func (c *catalog) resolve(name string, code codes.Code) (model, error) {
	if name == "" {
		name = c.byDefault
	}
	first, rest, _ := strings.Cut(name, "/")
	for _, s := range c.sources {
		if s.name == first && rest != "" && (s.kind != Scripted || rest == scripted.ModelName) {
			return model{provider: s, name: rest, isDefault: name == c.byDefault}, nil
		}
	}
	return model{}, fault.New(code, faultv1.Reason_REASON_MODEL_UNKNOWN, "no model %q", name).
		Hint("Write provider/model. Providers: %s.", strings.Join(c.names(), ", "))
}

// list returns all known models, the default first, then by name. It omits providers that do not answer.
func (c *catalog) list(ctx context.Context) []model {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	names := make([][]string, len(c.sources))
	var wg sync.WaitGroup
	for i, s := range c.sources {
		wg.Go(func() { names[i] = c.ask(ctx, s) })
	}
	wg.Wait()
	seen := map[string]bool{}
	var all []model
	add := func(m model) {
		m.isDefault = m.full() == c.byDefault
		if !seen[m.full()] {
			seen[m.full()] = true
			all = append(all, m)
		}
	}
	if m, err := c.resolve("", codes.NotFound); err == nil {
		add(m)
	}
	for i, s := range c.sources {
		if s.preferred != "" {
			add(model{provider: s, name: s.preferred})
		}
		for _, name := range names[i] {
			add(model{provider: s, name: name})
		}
	}
	slices.SortFunc(all[1:], func(a, b model) int { return cmp.Compare(a.full(), b.full()) })
	return all
}

// ask returns the configured models of a provider, else those that it lists itself, cached for a while.
func (c *catalog) ask(ctx context.Context, s *source) []string {
	if len(s.models) > 0 {
		return s.models
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.fresh) {
		return s.known
	}
	names, err := s.Models(ctx)
	switch {
	case err == nil:
		s.known, s.fresh = names, time.Now().Add(listAge)
	case ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded):
		s.fresh = time.Now().Add(retryAge)
		c.log.WarnContext(ctx, "models not listed", "provider", s.name, "error", err)
	}
	return s.known
}
