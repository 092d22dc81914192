// Package responses calls models through OpenAI's responses API. The server keeps nothing: each request has the whole conversation, and
// reasoning goes back to it encrypted.
package responses

import (
	"context"
	"net/http"

	"github.com/windlass-dev/windlass/services/inference/provider"
)

// name is the name of the kind.
const name = "openai-responses"

// defaultModel is used when only a key is known.
const defaultModel = "gpt-5.4-mini"

// defaultBaseURL is OpenAI's own API.
const defaultBaseURL = "https://api.openai.com/v1"

// Kind implements provider.Kind.
type Kind struct{}

// Traits implements provider.Kind.
func (Kind) Traits() provider.Traits {
	return provider.Traits{Name: name, DefaultModel: defaultModel, Features: features, Sheet: sheet}
}

// Provider implements provider.Provider.
type Provider struct {
	client  provider.Client
	issuer  string // of what is returned to it only
	lessons *provider.Lessons
}

// New implements provider.Kind.
func (Kind) New(cfg provider.Config) (provider.Provider, error) {
	client, err := provider.NewClient(cfg, defaultBaseURL, provider.OpenAIKey)
	return &Provider{client: client, issuer: provider.Issuer(name, cfg.BaseURL), lessons: provider.NewLessons()}, err
}

// Generate implements provider.Provider.
func (p *Provider) Generate(ctx context.Context, req provider.Request, emit func(provider.Delta) error) (provider.Finished, error) {
	own := *p
	own.client = p.client.With(req.APIKey)
	write := func(m *provider.Manner) provider.Attempt { return own.newCall(req, m) }
	return p.lessons.Generate(ctx, own.client.Identity, req, write, emit)
}

// Body implements provider.Attempt.
func (c *call) Body() any { return c.body() }

// Send implements provider.Attempt.
func (c *call) Send(ctx context.Context, body []byte) (*http.Response, error) {
	return c.provider.client.Do(ctx, http.MethodPost, "/responses", "text/event-stream", body)
}

// Reader implements provider.Attempt.
func (c *call) Reader(emit func(provider.Delta) error) provider.Reader {
	return &stream{provider: c.provider, names: c.names, model: c.req.Model, emit: emit, items: map[int]*item{}}
}

// Sent implements provider.Attempt.
func (c *call) Sent() provider.Sent {
	out := provider.Sent{Tools: c.tools, Warnings: c.warnings}
	if !c.manner.Plain {
		out.Returned = []string{"include"}
	}
	return out
}

// Models implements provider.Provider.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	resp, err := p.client.Do(ctx, http.MethodGet, "/models", "application/json", nil) //nolint:bodyclose // ReadModels closes it
	if err != nil {
		return nil, p.client.Failed(ctx, "", err)
	}
	return p.client.ReadModels(resp)
}
