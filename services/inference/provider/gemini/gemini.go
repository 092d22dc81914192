// Package gemini calls models through the Gemini API: that of Google AI with a key, and that of Vertex AI with a service account.
package gemini

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// name is the name of the kind.
const name = "gemini"

// defaultModel is used when only a key is known.
const defaultModel = "gemini-flash-latest"

// defaultBaseURL is the API of Google AI.
const defaultBaseURL = "https://generativelanguage.googleapis.com/v1beta"

// Kind implements provider.Kind.
type Kind struct{}

// Traits implements provider.Kind.
func (Kind) Traits() provider.Traits {
	return provider.Traits{
		Name: name, DefaultModel: defaultModel, EnvPrefix: "GEMINI", KeyDocument: true, Features: features, Sheet: sheet,
	}
}

// Provider implements provider.Provider.
type Provider struct {
	client  provider.Client
	issuer  string // of what is returned to it only
	lessons *provider.Lessons
	vertex  bool // it is Vertex AI, whose other methods differ
}

// New implements provider.Kind.
func (Kind) New(cfg provider.Config) (provider.Provider, error) {
	accounts := newAccounts(cfg.HTTP, cfg.APIKey)
	sign := func(r *http.Request, key secret.Value, _ []byte) error {
		if isAccount(key) {
			return accounts.sign(r, key)
		}
		if !key.IsZero() {
			r.Header.Set("X-Goog-Api-Key", key.Reveal())
		}
		return nil
	}
	client, err := provider.NewClient(cfg, defaultBaseURL, sign)
	return &Provider{
		client: client, issuer: provider.Issuer(name, cfg.BaseURL), lessons: provider.NewLessons(),
		vertex: strings.Contains(cfg.BaseURL, "aiplatform.googleapis.com"),
	}, err
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
	path := "/models/" + url.PathEscape(c.req.Model) + ":streamGenerateContent?alt=sse"
	return c.provider.client.Do(ctx, http.MethodPost, path, "text/event-stream", body)
}

// Reader implements provider.Attempt.
func (c *call) Reader(emit func(provider.Delta) error) provider.Reader {
	return &stream{provider: c.provider, names: c.names, model: c.req.Model, emit: emit}
}

// Sent implements provider.Attempt.
func (c *call) Sent() provider.Sent {
	out := provider.Sent{Tools: c.tools, Warnings: c.warnings}
	if c.thoughts {
		out.Returned = []string{"thinking"}
	}
	return out
}

// generates is the method of models that take conversations.
const generates = "generateContent"

// Models implements provider.Provider.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	var listed struct {
		Models []struct {
			Name    string   `json:"name"`
			Methods []string `json:"supportedGenerationMethods"`
		} `json:"models"`
	}
	if err := p.client.Read(ctx, http.MethodGet, "/models?pageSize=1000", nil, &listed); err != nil {
		return nil, err
	}
	var names []string
	for _, m := range listed.Models {
		if own := strings.TrimPrefix(m.Name, "models/"); own != "" && (m.Methods == nil || slices.Contains(m.Methods, generates)) {
			names = append(names, own)
		}
	}
	return names, nil
}
