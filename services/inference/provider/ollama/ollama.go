// Package ollama calls models through Ollama's own API. Its OpenAI-compatible one does not take the size of the context window, and cuts a
// longer conversation in silence.
package ollama

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/services/inference/provider"
)

// Name is the name of the kind.
const Name = "ollama"

// defaultBaseURL is an Ollama on this machine.
const defaultBaseURL = "http://127.0.0.1:11434"

// shownAge is how long what a model can do is kept: a model may be replaced under its name.
const shownAge = 5 * time.Minute

// Kind implements provider.Kind.
type Kind struct{}

// Traits implements provider.Kind.
func (Kind) Traits() provider.Traits {
	return provider.Traits{Name: Name, Features: features, Sheet: sheet}
}

// Provider implements provider.Provider.
type Provider struct {
	client  provider.Client
	issuer  string // of what is returned to it only
	lessons *provider.Lessons
	shown   *shown
}

// New implements provider.Kind.
func (Kind) New(cfg provider.Config) (provider.Provider, error) {
	client, err := provider.NewClient(cfg, defaultBaseURL, provider.Bearer)
	return &Provider{
		client: client, issuer: provider.Issuer(Name, cfg.BaseURL), lessons: provider.NewLessons(), shown: &shown{models: map[string]model{}},
	}, err
}

// Generate implements provider.Provider.
func (p *Provider) Generate(ctx context.Context, req provider.Request, emit func(provider.Delta) error) (provider.Finished, error) {
	own := *p
	own.client = p.client.With(req.APIKey)
	can := own.abilities(ctx, req.Model)
	write := func(m *provider.Manner) provider.Attempt { return own.newCall(req, m, can) }
	return p.lessons.Generate(ctx, own.client.Identity, req, write, emit)
}

// Body implements provider.Attempt.
func (c *call) Body() any { return c.body() }

// Send implements provider.Attempt.
func (c *call) Send(ctx context.Context, body []byte) (*http.Response, error) {
	return c.provider.client.Do(ctx, http.MethodPost, "/api/chat", provider.Lines().Media, body)
}

// Reader implements provider.Attempt.
func (c *call) Reader(emit func(provider.Delta) error) provider.Reader {
	return &stream{provider: c.provider, names: c.names, model: c.req.Model, emit: emit}
}

// Sent implements provider.Attempt.
func (c *call) Sent() provider.Sent {
	return provider.Sent{Tools: c.tools, Returned: c.returned, Warnings: c.warnings}
}

// Models implements provider.Provider.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	var listed struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := p.client.Read(ctx, http.MethodGet, "/api/tags", nil, &listed); err != nil {
		return nil, err
	}
	var names []string
	for _, m := range listed.Models {
		if m.Name != "" {
			names = append(names, m.Name)
		}
	}
	return names, nil
}

// shown is what models can do, as the server shows it.
type shown struct {
	mu     sync.Mutex
	models map[string]model
}

type model struct {
	abilities abilities
	until     time.Time
}

// abilities are the names of what a model can do; nil if the server does not say.
type abilities []string

// has reports whether a model has an ability, and whether that is known.
func (a abilities) has(name string) (has, known bool) { return slices.Contains(a, name), a != nil }

// maxShown limits the models that are kept.
const maxShown = 1000

// abilities returns what a model can do. A server that does not answer says why when the model is called.
func (p *Provider) abilities(ctx context.Context, name string) abilities {
	p.shown.mu.Lock()
	known, ok := p.shown.models[name]
	p.shown.mu.Unlock()
	if ok && time.Now().Before(known.until) {
		return known.abilities
	}
	body, err := json.Marshal(map[string]string{"model": name})
	if err != nil {
		return nil
	}
	var said struct {
		Capabilities abilities `json:"capabilities"`
	}
	if p.client.Read(ctx, http.MethodPost, "/api/show", body, &said) != nil {
		return nil
	}
	p.shown.mu.Lock()
	defer p.shown.mu.Unlock()
	if len(p.shown.models) >= maxShown {
		clear(p.shown.models)
	}
	p.shown.models[name] = model{said.Capabilities, time.Now().Add(shownAge)}
	return said.Capabilities
}
