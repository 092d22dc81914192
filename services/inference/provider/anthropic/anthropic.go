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

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/wire"
)

// DefaultModel is used when only a key is known.
const DefaultModel = "claude-sonnet-5-5"

// defaultMaxTokens is sent if the caller sets no limit: the API requires one.
const defaultMaxTokens = 8192

// Config is one provider; Identity and HTTP are required.
type Config struct {
	// Identity is for errors. New adds to its secrets.
	provider.Identity
	// BaseURL is the API's address without /v1; empty means Anthropic's own.
	BaseURL string
	// APIKey is sent as x-api-key; zero sends none.
	APIKey secret.Value
	// Headers are sent with each request.
	Headers map[string]secret.Value
	// HTTP is the client, without its own timeout.
	HTTP *http.Client
}

// Provider implements provider.Provider.
type Provider struct {
	id      provider.Identity
	client  sdk.Client
	issuer  string // of what is returned to it only
	lessons *provider.Lessons
}

// New returns a provider. It reads no environment and does not connect.
func New(cfg Config) (*Provider, error) {
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
	m := p.lessons.Manner(req.Model)
	for n := 0; ; n++ {
		c := p.newCall(req, m)
		resp, err := c.send(ctx) //nolint:bodyclose // receive closes it
		if err == nil {
			p.lessons.Worked(req, m)
			return c.receive(ctx, resp, emit)
		}
		refused, ok := errors.AsType[*provider.RefusedError](err)
		if !ok || n == provider.MaxRefusals || !p.lessons.Learn(req, m, c.sent(), refused.Failure) {
			return provider.Finished{}, p.failed(ctx, req.Model, err)
		}
	}
}

// send writes the request and waits for the beginning of the answer.
func (c *call) send(ctx context.Context) (resp *http.Response, err error) {
	body, err := wire.JSON(c.body())
	if err != nil {
		return nil, err
	}
	err = c.provider.client.Post(ctx, "v1/messages", body, &resp, option.WithHeader("Accept", "text/event-stream"))
	return resp, err
}

// receive reads the answer.
func (c *call) receive(ctx context.Context, resp *http.Response, emit func(provider.Delta) error) (provider.Finished, error) {
	batch := provider.NewBatch(emit)
	s := &stream{provider: c.provider, names: c.names, model: c.req.Model, emit: batch.Emit, blocks: map[int]*block{}}
	if err := c.provider.id.Events(ctx, resp, failureOf, c.req.Model, batch, s.event); err != nil {
		if s.reason == "" || fault.As(err) == nil {
			return provider.Finished{}, err
		}
		// The answer is complete: errors after its end do not matter.
	}
	end, err := s.finish()
	end.Warnings = c.warnings
	return end, err
}

// sent says what the request held that a provider may refuse.
func (c *call) sent() provider.Sent {
	out := provider.Sent{Tools: c.tools}
	if c.returned {
		out.Returned = []string{"thinking"}
	}
	return out
}

// Models implements provider.Provider.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	var listed struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	var resp *http.Response
	if err := p.client.Get(ctx, "v1/models?limit=1000", nil, &resp); err != nil {
		return nil, p.failed(ctx, "", err)
	}
	defer func() { _ = resp.Body.Close() }() // read only: nothing is lost
	if err := json.NewDecoder(resp.Body).Decode(&listed); err != nil {
		return nil, provider.Broken("the model list of %s cannot be read", p.id.Name).Cause(err)
	}
	names := make([]string, 0, len(listed.Data))
	for _, m := range listed.Data {
		if m.ID != "" {
			names = append(names, m.ID)
		}
	}
	return names, nil
}

// failed maps an error of the SDK.
func (p *Provider) failed(ctx context.Context, model string, err error) error {
	if refused, ok := errors.AsType[*provider.RefusedError](err); ok {
		return p.id.Fault(model, refused.Failure)
	}
	return p.id.Transport(ctx, err)
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
