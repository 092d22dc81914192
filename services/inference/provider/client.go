package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/secret"
)

// Client calls an API over HTTP without an SDK. It is a value: With returns another one.
type Client struct {
	Identity

	http    *http.Client
	base    string
	headers map[string]secret.Value
	key     secret.Value
	sign    Sign
}

// Sign adds a key, which may be zero, to a request with a body. Its error is a *fault.Error or one of the connection.
type Sign func(r *http.Request, key secret.Value, body []byte) error

// NewClient returns a client of the API at cfg's address, or at base if that is empty.
func NewClient(cfg Config, base string, sign Sign) (Client, error) {
	if cfg.HTTP == nil || cfg.Name == "" {
		return Client{}, errors.New("a provider needs Name and HTTP")
	}
	if cfg.BaseURL != "" {
		base = cfg.BaseURL
	}
	c := Client{
		Identity: cfg.Identity, http: cfg.HTTP, base: strings.TrimRight(base, "/"), headers: cfg.Headers, key: cfg.APIKey, sign: sign,
	}
	c.Secrets = append(slices.Clone(c.Secrets), cfg.APIKey)
	for _, value := range cfg.Headers {
		c.Secrets = append(c.Secrets, value)
	}
	return c, nil
}

// With returns a client with the key of a request.
func (c Client) With(key secret.Value) Client {
	if key.IsZero() {
		return c
	}
	c.key = key
	c.Secrets = append(slices.Clone(c.Secrets), key)
	c.KeyFrom = "the provider data of the request"
	return c
}

// Do sends a request. The error of a response with an error status is a *RefusedError.
func (c Client) Do(ctx context.Context, method, path, accept string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range c.headers {
		req.Header.Set(name, value.Reveal())
	}
	if err := c.sign(req, c.key, body); err != nil {
		return nil, err
	}
	return Refusals(req, c.http.Do)
}

// Read sends a request, and reads the JSON of its answer into out. Its errors are those of Provider.Models.
func (c Client) Read(ctx context.Context, method, path string, body []byte, out any) error {
	resp, err := c.Do(ctx, method, path, "application/json", body)
	if err != nil {
		return c.Failed(ctx, "", err)
	}
	defer func() { _ = resp.Body.Close() }() // read only: nothing is lost
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return Broken("an answer of %s cannot be read", c.Name).Cause(err)
	}
	return nil
}

// AzureKey is the header of Azure's keys.
const AzureKey = "Api-Key"

// IsAzure reports whether a host is Azure's, which serves the APIs of OpenAI.
func IsAzure(host string) bool { return strings.HasSuffix(host, ".azure.com") }

// OpenAIKey adds a key as OpenAI's APIs take it.
func OpenAIKey(r *http.Request, key secret.Value, body []byte) error {
	if !IsAzure(r.URL.Hostname()) {
		return Bearer(r, key, body)
	}
	if !key.IsZero() {
		r.Header.Set(AzureKey, key.Reveal())
	}
	return nil
}

// Bearer adds a key as a token.
func Bearer(r *http.Request, key secret.Value, _ []byte) error {
	if !key.IsZero() {
		r.Header.Set("Authorization", "Bearer "+key.Reveal())
	}
	return nil
}
