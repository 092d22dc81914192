package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// benchClient is a client of the built-in issuer, with its secret.
const (
	benchClient = "bench"
	benchSecret = "only-for-benchmarks-on-this-machine"
)

// identityConfig has the built-in issuer give tokens to the benchmark.
func identityConfig() map[string]any {
	return map[string]any{"issuer": map[string]any{
		"access_token_ttl": "24h",
		"clients": []any{map[string]any{
			"id": benchClient, "secret": benchSecret, "grants": []string{"client_credentials"}, "audiences": []string{"windlass"},
			"roles": []string{"user"},
		}},
	}}
}

// identify has all further requests carry a token, instead of being those of the local user.
func (m *mesh) identify(ctx context.Context, issuer string) error {
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {benchClient}, "client_secret": {benchSecret}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, issuer+"/token", strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("build the request: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := m.http.Do(req)
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return fmt.Errorf("read the token: %w", err)
	}
	var token struct {
		Access string `json:"access_token"`
	}
	if err := json.Unmarshal(raw, &token); err != nil || token.Access == "" {
		return fmt.Errorf("the issuer answered %d: %.300s", resp.StatusCode, raw)
	}
	m.http = &http.Client{Transport: bearer{newTransport(), token.Access}}
	return nil
}

// bearer adds a token to requests.
type bearer struct {
	*http.Transport
	token string
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.Transport.RoundTrip(r)
}
