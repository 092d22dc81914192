package bearer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// discovery is where an OpenID Connect provider describes itself.
const discovery = "/.well-known/openid-configuration"

// download returns the issuer's keys, and the address that they came from.
func (s *keySet) download(ctx context.Context, address string) ([]publicKey, string, error) {
	if address == "" {
		var err error
		if address, err = s.discover(ctx); err != nil {
			return nil, "", fmt.Errorf("read its configuration: %w", err)
		}
	}
	body, err := s.get(ctx, address)
	if err != nil {
		return nil, "", fmt.Errorf("read its keys: %w", err)
	}
	keys, err := parseKeys(body)
	return keys, address, err
}

// discover returns the address of the keys from the provider's description of itself.
func (s *keySet) discover(ctx context.Context) (string, error) {
	doc, err := s.describe(ctx)
	if err != nil {
		return "", err
	}
	if err := s.cfg.checkURL(doc.JWKSURI); err != nil {
		return "", fmt.Errorf("jwks_uri: %w", err)
	}
	return doc.JWKSURI, nil
}

// description is what a provider says of its endpoints.
type description struct {
	Issuer        string `json:"issuer"`
	JWKSURI       string `json:"jwks_uri"`
	Introspection string `json:"introspection_endpoint"`
}

// describe reads the provider's description of itself.
func (s *keySet) describe(ctx context.Context) (doc description, err error) {
	body, err := s.get(ctx, strings.TrimSuffix(s.cfg.Issuer, "/")+discovery)
	if err != nil {
		return doc, err
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return doc, fmt.Errorf("decode: %w", err)
	}
	if doc.Issuer != s.cfg.Issuer {
		return doc, fmt.Errorf("it says that it is %q", doc.Issuer)
	}
	return doc, nil
}

func (s *keySet) get(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	return body, nil
}

// onLoopback reports whether a URL is that of a server on this machine.
func onLoopback(text string) bool {
	u, err := url.Parse(text)
	return err == nil && loopback(u.Hostname())
}

// loopback reports whether a host is this one.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
