// Package openai calls models through OpenAI's chat completions API, which Ollama, vLLM, llama.cpp, OpenRouter and many others implement
// with differences: it tolerates missing or odd fields in their streams.
package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// defaultModel is used when only a key is known.
const defaultModel = "gpt-5.4-mini"

// defaultBaseURL is OpenAI's own API.
const defaultBaseURL = "https://api.openai.com/v1/"

// Kind implements provider.Kind.
type Kind struct{}

// Traits implements provider.Kind.
func (Kind) Traits() provider.Traits {
	return provider.Traits{
		Name: "openai", DefaultModel: defaultModel, EnvPrefix: "OPENAI", Features: features, Sheet: sheet, Profiles: profileNames(),
	}
}

// Provider implements provider.Provider.
type Provider struct {
	id      provider.Identity
	client  sdk.Client
	host    string
	issuer  string // of what is returned to it only
	profile profile
	lessons *provider.Lessons
}

// New implements provider.Kind.
func (Kind) New(cfg provider.Config) (provider.Provider, error) {
	if cfg.HTTP == nil || cfg.Name == "" {
		return nil, errors.New("openai needs Name and HTTP")
	}
	base := cmp.Or(cfg.BaseURL, profileOf(cfg.Profile, "").baseURL, defaultBaseURL)
	address, err := url.Parse(base)
	if err != nil {
		return nil, errors.New("openai: base URL cannot be read")
	}
	opts := []option.RequestOption{
		option.WithBaseURL(strings.TrimRight(base, "/") + "/"), option.WithHTTPClient(cfg.HTTP), option.WithMaxRetries(0),
		option.WithMiddleware(provider.Refusals),
	}
	id := cfg.Identity
	if !cfg.APIKey.IsZero() {
		opts = append(opts, withKey(address.Hostname(), cfg.APIKey))
		id.Secrets = append(id.Secrets, cfg.APIKey)
	}
	for name, value := range cfg.Headers {
		opts = append(opts, option.WithHeader(name, value.Reveal()))
		id.Secrets = append(id.Secrets, value)
	}
	host := address.Hostname()
	// Do not use the SDK's constructor, which reads keys and addresses from the environment.
	return &Provider{
		id: id, client: sdk.Client{Options: opts}, host: host, issuer: provider.Issuer("openai", base),
		profile: profileOf(cfg.Profile, host),
		lessons: provider.NewLessons(),
	}, nil
}

// Sheet implements provider.Described.
func (p *Provider) Sheet() provider.Sheet { return p.profile.sheet }

// Host implements provider.Located: a server behind another address has its profile from the configuration.
func (p *Provider) Host() string {
	if at, err := url.Parse(p.profile.baseURL); err == nil && at.Host != "" {
		return at.Hostname()
	}
	return p.host
}

// with returns a provider with another key.
func (p *Provider) with(key secret.Value) *Provider {
	own := *p
	own.id.Secrets = append(slices.Clone(p.id.Secrets), key)
	own.id.KeyFrom = "the provider data of the request"
	own.client.Options = append(slices.Clone(p.client.Options), withKey(p.host, key))
	return &own
}

// withKey adds a key to each request.
func withKey(host string, key secret.Value) option.RequestOption {
	if provider.IsAzure(host) {
		return option.WithHeader(provider.AzureKey, key.Reveal())
	}
	return option.WithAPIKey(key.Reveal())
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
func (c *call) Send(ctx context.Context, body []byte) (*http.Response, error) {
	var resp *http.Response
	err := c.provider.client.Post(ctx, "chat/completions", body, &resp, option.WithHeader("Accept", "text/event-stream"))
	return resp, err
}

// Reader implements provider.Attempt.
func (c *call) Reader(emit func(provider.Delta) error) provider.Reader {
	return &stream{provider: c.provider, names: c.names, model: c.req.Model, emit: emit}
}

// Sent implements provider.Attempt.
func (c *call) Sent() provider.Sent {
	return provider.Sent{Tools: c.tools, Returned: slices.Sorted(maps.Keys(c.returned)), Warnings: c.warnings}
}

// Models implements provider.Provider.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	var resp *http.Response
	if err := p.client.Get(ctx, "models", nil, &resp); err != nil {
		return nil, p.id.Failed(ctx, "", err)
	}
	names, err := p.id.ReadModels(resp)
	return slices.DeleteFunc(names, func(name string) bool { return p.profile.official && !chats(name) }), err
}

// chats reports, judging by its name, whether a model of OpenAI's own is for conversations: the list does not say, and most are not.
func chats(name string) bool {
	for _, other := range []string{
		"audio", "realtime", "image", "transcribe", "tts", "search", "instruct", "embedding", "moderation",
		"live",
	} {
		if strings.Contains(name, other) {
			return false
		}
	}
	for _, start := range []string{"gpt-", "chatgpt-", "o1", "o3", "o4", "ft:"} {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}

// failureOf reads the failure in an event: {"error": …} in an object or a list, vLLM's {"object": "error", …}, or an object that is no
// chunk and has a message.
func failureOf(body []byte) (provider.Failure, bool) {
	if !bytes.Contains(body, []byte(`"error"`)) && bytes.Contains(body, []byte(`"choices"`)) { // nearly always
		return provider.Failure{}, false
	}
	list := []map[string]json.RawMessage{{}}
	if json.Unmarshal(body, &list[0]) != nil && (json.Unmarshal(body, &list) != nil || len(list) == 0) {
		return provider.Failure{}, false
	}
	e := list[0]
	text := func(name string) string {
		var s string
		_ = json.Unmarshal(e[name], &s) // another type is no text
		return s
	}
	said := !isNull(e["error"]) && !slices.Contains([]string{`""`, "false", "{}"}, string(e["error"]))
	isError := text("object") == "error" || text("type") == "error"
	noChunk := e["choices"] == nil && e["usage"] == nil && text("object") == "" &&
		(text("message") != "" || e["detail"] != nil || text("msg") != "" || text("error_description") != "")
	if !said && !isError && !noChunk {
		return provider.Failure{}, false
	}
	return provider.ReadFailure(body), true
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
