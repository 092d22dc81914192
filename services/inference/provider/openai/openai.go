// Package openai calls models through OpenAI's chat completions API, which Ollama, vLLM, llama.cpp, OpenRouter and many others implement
// with differences: it tolerates missing or odd fields in their streams.
package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// DefaultModel is used when only a key is known.
const DefaultModel = "gpt-5.4-mini"

// defaultBaseURL is OpenAI's own API.
const defaultBaseURL = "https://api.openai.com/v1/"

// Config is one provider; Identity and HTTP are required.
type Config struct {
	// Identity is for errors. New adds to its secrets.
	provider.Identity
	// BaseURL is the API's address; empty means OpenAI's own.
	BaseURL string
	// APIKey is sent as bearer token; zero sends none.
	APIKey secret.Value
	// Headers are sent with each request.
	Headers map[string]secret.Value
	// HTTP is the client, without its own timeout.
	HTTP *http.Client
}

// Provider implements provider.Provider.
type Provider struct {
	id       provider.Identity
	client   sdk.Client
	official bool
}

// New returns a provider. It reads no environment and does not connect.
func New(cfg Config) (*Provider, error) {
	if cfg.HTTP == nil || cfg.Name == "" {
		return nil, errors.New("openai needs Name and HTTP")
	}
	base := cfg.BaseURL
	if base == "" {
		base = defaultBaseURL
	}
	address, err := url.Parse(base)
	if err != nil {
		return nil, errors.New("openai: base URL cannot be read")
	}
	opts := []option.RequestOption{
		option.WithBaseURL(strings.TrimRight(base, "/") + "/"), option.WithHTTPClient(cfg.HTTP), option.WithMaxRetries(0),
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
	host := address.Hostname()
	official := host == "api.openai.com" || strings.HasSuffix(host, ".openai.com") || strings.HasSuffix(host, ".azure.com")
	// Do not use the SDK's constructor, which reads keys and addresses from the environment.
	return &Provider{id: id, client: sdk.Client{Options: opts}, official: official}, nil
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
	params, err := p.params(req)
	if err != nil {
		return provider.Finished{}, err
	}
	var resp *http.Response
	err = p.client.Post(ctx, "chat/completions", params, &resp,
		option.WithJSONSet("stream", true), option.WithHeader("Accept", "text/event-stream"))
	if err != nil {
		return provider.Finished{}, p.failed(ctx, req.Model, err)
	}
	batch := provider.NewBatch(emit)
	s := &stream{provider: p, model: req.Model, emit: batch.Emit}
	if err := p.id.Events(ctx, resp, failureOf, req.Model, batch, s.event); err != nil {
		if !s.ended() || fault.As(err) == nil {
			return provider.Finished{}, err
		}
		// The answer is complete: errors after its end do not matter.
	}
	return s.finish()
}

// Models implements provider.Provider.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	var listed struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	var resp *http.Response
	if err := p.client.Get(ctx, "models", nil, &resp); err != nil {
		return nil, p.failed(ctx, "", err)
	}
	defer func() { _ = resp.Body.Close() }() // read only: nothing is lost
	if err := json.NewDecoder(resp.Body).Decode(&listed); err != nil {
		return nil, provider.Broken("the model list of %s cannot be read", p.id.Name).Cause(err)
	}
	names := make([]string, 0, len(listed.Data))
	for _, m := range listed.Data {
		if m.ID != "" && (!p.official || chats(m.ID)) {
			names = append(names, m.ID)
		}
	}
	return names, nil
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

// failed maps an error of the SDK.
func (p *Provider) failed(ctx context.Context, model string, err error) error {
	api, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return p.id.Transport(ctx, err)
	}
	f := provider.Failure{
		Status: api.StatusCode, Kind: api.Type + " " + api.Code, Message: api.Message,
		RetryAfter: provider.RetryAfter(api.Response.Header, time.Now()),
	}
	return p.id.Fault(model, f)
}

// failureOf reads the failure in a body: {"error": {…}}, {"error": "text"}, or vLLM's {"object": "error", …}.
func failureOf(body []byte) (provider.Failure, bool) {
	if !bytes.Contains(body, []byte(`"error"`)) { // nearly always
		return provider.Failure{}, false
	}
	var outer struct {
		Error  json.RawMessage `json:"error"`
		Object string          `json:"object"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return provider.Failure{}, false
	}
	inner := outer.Error
	if outer.Object == "error" && isNull(inner) {
		inner = body
	}
	if isNull(inner) {
		return provider.Failure{}, false
	}
	var text string
	if json.Unmarshal(inner, &text) == nil {
		return provider.Failure{Message: text}, true
	}
	var e struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
	}
	if json.Unmarshal(inner, &e) != nil {
		return provider.Failure{Message: string(inner)}, true
	}
	f := provider.Failure{Message: e.Message, Kind: e.Type}
	var status int
	if json.Unmarshal(e.Code, &status) == nil { // a number is an HTTP status
		if status >= 400 && status < 600 {
			f.Status = status
		}
		return f, true
	}
	f.Kind += " " + string(bytes.Trim(e.Code, `"`))
	return f, true
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
