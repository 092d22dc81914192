// Package discovery finds out how users log in at a source: from the protected resource's metadata (RFC 9728) and that of its authorization
// server (RFC 8414, OpenID Connect Discovery), and registers a client there (RFC 7591). Documents come from hosts that sources name, so
// they are fetched through the given client, bounded, and used only where they match what they were fetched for.
package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Server is the metadata of an authorization server.
type Server struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	AuthMethods           []string `json:"token_endpoint_auth_methods_supported"`
	Scopes                []string `json:"scopes_supported"`
	// NamesIssuer means that its authorization responses have the parameter iss (RFC 9207).
	NamesIssuer bool `json:"authorization_response_iss_parameter_supported"`
	// TakesDocuments means that a client_id may be the URL of a document about the client.
	TakesDocuments bool `json:"client_id_metadata_document_supported"`
}

// Client finds out. It is safe for concurrent use.
type Client struct {
	// HTTP sends the requests. It must not follow redirects, and must bound responses and time.
	HTTP *http.Client
}

// errAbsent means that there is no document at an address.
var errAbsent = errors.New("not found")

// Server returns the metadata of an issuer.
func (c Client) Server(ctx context.Context, issuer string) (Server, error) {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" {
		return Server{}, fmt.Errorf("issuer %q is no URL", issuer)
	}
	appended := strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration"
	places := []string{wellKnown(u, "oauth-authorization-server", true), wellKnown(u, "openid-configuration", true), appended}
	for _, place := range slices.Compact(places) {
		var s Server
		err := c.get(ctx, place, &s)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			return Server{}, fmt.Errorf("metadata of the authorization server: %w", err)
		}
		if s.Issuer != issuer && s.Issuer != strings.TrimSuffix(issuer, "/") {
			return Server{}, fmt.Errorf("%s is about another issuer, %q", place, s.Issuer)
		}
		return s, s.check()
	}
	return Server{}, fmt.Errorf("issuer %q has no metadata", issuer)
}

// check refuses servers that cannot be used safely.
func (s Server) check() error {
	switch {
	case s.AuthorizationEndpoint == "" || s.TokenEndpoint == "":
		return fmt.Errorf("issuer %q has no authorization or no token endpoint", s.Issuer)
	case !slices.Contains(s.ChallengeMethods, "S256"):
		return fmt.Errorf("issuer %q does not say that it supports PKCE with S256 (code_challenge_methods_supported); "+
			"if it does, set authorization_url and token_url instead", s.Issuer)
	}
	for _, endpoint := range []string{s.AuthorizationEndpoint, s.TokenEndpoint, s.RevocationEndpoint, s.RegistrationEndpoint} {
		if endpoint != "" && !safe(endpoint) {
			return fmt.Errorf("issuer %q has an endpoint without https: %s", s.Issuer, endpoint)
		}
	}
	return nil
}

// safe reports whether secrets may be sent to an address: over https, or on this machine.
func safe(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// wellKnown returns the place of a document: between host and path, or at the root.
func wellKnown(u *url.URL, name string, withPath bool) string {
	path := ""
	if withPath {
		path = strings.TrimSuffix(u.Path, "/")
	}
	return u.Scheme + "://" + u.Host + "/.well-known/" + name + path
}

func (c Client) get(ctx context.Context, address string, into any) error {
	if !safe(address) {
		return fmt.Errorf("%q is not https", address)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("%q is no URL", address)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	res, err := c.HTTP.Do(req)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", address, plain(err))
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode >= 400 && res.StatusCode < 500:
		return errAbsent
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answered with status %d", address, res.StatusCode)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", address, plain(err))
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s is not JSON of the expected form", address)
	}
	return nil
}

// plain returns an error without its URL.
func plain(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
