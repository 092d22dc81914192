// Package openai calls models through OpenAI's chat completions API, which Ollama, vLLM, llama.cpp, OpenRouter and many others implement
// with differences: it tolerates missing or odd fields in their streams.
package openai

import (
	"bytes"
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

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/wire"
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
	host     string
	issuer   string // of what is returned to it only
	official bool
	lessons  *provider.Lessons
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
		option.WithMiddleware(provider.Refusals),
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
	return &Provider{
		id: id, client: sdk.Client{Options: opts}, host: host, issuer: provider.Issuer("openai", base), official: official,
		lessons: provider.NewLessons(),
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
func (c *call) send(ctx context.Context) (*http.Response, error) {
	body, err := wire.JSON(c.body())
	if err != nil {
		return nil, err
	}
	var resp *http.Response
	err = c.provider.client.Post(ctx, "chat/completions", body, &resp, option.WithHeader("Accept", "text/event-stream"))
	return resp, err
}

// receive reads the answer.
func (c *call) receive(ctx context.Context, resp *http.Response, emit func(provider.Delta) error) (provider.Finished, error) {
	batch := provider.NewBatch(emit)
	s := &stream{provider: c.provider, names: c.names, model: c.req.Model, emit: batch.Emit}
	if err := c.provider.id.Events(ctx, resp, failureOf, c.req.Model, batch, s.event); err != nil {
		if !s.ended() || fault.As(err) == nil {
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
	return provider.Sent{Tools: c.tools, Returned: slices.Sorted(maps.Keys(c.returned))}
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
	if refused, ok := errors.AsType[*provider.RefusedError](err); ok {
		return p.id.Fault(model, refused.Failure)
	}
	return p.id.Transport(ctx, err)
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
