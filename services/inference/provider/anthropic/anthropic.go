// Package anthropic calls models through Anthropic's messages API.
package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// defaultModel is used when only a key is known.
const defaultModel = "claude-sonnet-5-5"

// defaultMaxTokens is sent if the caller sets no limit: the API requires one.
const defaultMaxTokens = 8192

// Kind implements provider.Kind.
type Kind struct{}

// Traits implements provider.Kind.
func (Kind) Traits() provider.Traits {
	return provider.Traits{Name: "anthropic", DefaultModel: defaultModel, EnvPrefix: "ANTHROPIC", Features: features, Sheet: sheet}
}

// Provider implements provider.Provider.
type Provider struct {
	id      provider.Identity
	client  sdk.Client
	issuer  string // of what is returned to it only
	lessons *provider.Lessons
}

// New implements provider.Kind.
func (Kind) New(cfg provider.Config) (provider.Provider, error) {
	if cfg.HTTP == nil || cfg.Name == "" {
		return nil, errors.New("anthropic needs Name and HTTP")
	}
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(), option.WithHTTPClient(cfg.HTTP), option.WithMaxRetries(0),
		option.WithTracerProvider(noop.NewTracerProvider()), // the service creates the span of a call
		option.WithMiddleware(provider.Refusals),
	}
	if cfg.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/v1")+"/"))
	}
	id := cfg.Identity
	if !cfg.APIKey.IsZero() {
		opts = append(opts, option.WithAPIKey(cfg.APIKey.Reveal()))
		id.Secrets = append(id.Secrets, cfg.APIKey)
	}
	for name, value := range cfg.Headers {
		opts = append(opts, option.WithHeader(name, value.Reveal()))
		id.Secrets = append(id.Secrets, value)
	}
	return &Provider{
		id: id, client: sdk.NewClient(opts...), issuer: provider.Issuer("anthropic", cfg.BaseURL), lessons: provider.NewLessons(),
	}, nil
}

// with returns a provider with another key.
func (p *Provider) with(key secret.Value) *Provider {
	own := *p
	own.id.Secrets = append(slices.Clone(p.id.Secrets), key)
	own.id.KeyFrom = "the provider data of the request"
	own.client.Options = append(slices.Clone(p.client.Options), option.WithAPIKey(key.Reveal()))
	return &own
}

// Generate implements provider.Provider.
func (p *Provider) Generate(ctx context.Context, req provider.Request, emit func(provider.Delta) error) (provider.Finished, error) {
	if !req.APIKey.IsZero() {
		p = p.with(req.APIKey)
	}
	write := func(m *provider.Manner) provider.Attempt { return p.newCall(req, m) }
	return p.lessons.Generate(ctx, p.id, req, write, emit)
}

// Body implements provider.Attempt.
func (c *call) Body() any { return c.body() }

// Send implements provider.Attempt.
func (c *call) Send(ctx context.Context, body []byte) (resp *http.Response, err error) {
	err = c.provider.client.Post(ctx, "v1/messages", body, &resp, option.WithHeader("Accept", "text/event-stream"))
	return resp, err
}

// Reader implements provider.Attempt.
func (c *call) Reader(emit func(provider.Delta) error) provider.Reader {
	return &stream{provider: c.provider, names: c.names, model: c.req.Model, emit: emit, blocks: map[int]*block{}}
}

// Sent implements provider.Attempt.
func (c *call) Sent() provider.Sent {
	out := provider.Sent{Tools: c.tools, Warnings: c.warnings}
	if c.returned {
		out.Returned = []string{"thinking"}
	}
	if c.cached {
		out.Marks = cacheField
	}
	return out
}

// Models implements provider.Provider.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	var resp *http.Response
	if err := p.client.Get(ctx, "v1/models?limit=1000", nil, &resp); err != nil {
		return nil, p.id.Failed(ctx, "", err)
	}
	return p.id.ReadModels(resp)
}

// failureOf reads {"type": "error", "error": …} and whatever other servers send in its place.
func failureOf(body []byte) (provider.Failure, bool) {
	var outer struct {
		Type  string          `json:"type"`
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &outer) == nil && outer.Type != "error" && outer.Type != "" || !json.Valid(body) {
		return provider.Failure{}, false
	}
	f := provider.ReadFailure(body)
	return f, outer.Type == "error" || f.Message != ""
}
