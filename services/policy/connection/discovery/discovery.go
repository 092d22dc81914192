// Package discovery finds out how users log in at a source: from the protected resource's metadata (RFC 9728) and that of its authorization
// server (RFC 8414, OpenID Connect Discovery), and registers a client there (RFC 7591). Documents come from hosts that sources name, so
// they are fetched through the given client, bounded, and used only where they match what they were fetched for.
package discovery

import (
	"bytes"
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
	// NamesIssuer means that its authorization responses have the parameter iss (RFC 9207).
	NamesIssuer bool `json:"authorization_response_iss_parameter_supported"`
	// TakesDocuments means that a client_id may be the URL of a document about the client.
	TakesDocuments bool `json:"client_id_metadata_document_supported"`
}

// Resource is the metadata of a protected resource.
type Resource struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
}

// Client finds out. It is safe for concurrent use.
type Client struct {
	// HTTP sends the requests. It must not follow redirects, and must bound responses and time.
	HTTP *http.Client
}

// errAbsent means that there is no document at an address.
var errAbsent = errors.New("not found")

// Protected returns the metadata of a protected resource. A request without a token comes first: its refusal says where the metadata is,
// and which scopes are wanted. Otherwise the metadata is at a well-known place.
func (c Client) Protected(ctx context.Context, server string) (Resource, error) {
	challenged, scopes, err := c.challenge(ctx, server)
	if err != nil {
		return Resource{}, err
	}
	u, err := url.Parse(server)
	if err != nil {
		return Resource{}, fmt.Errorf("%q is no URL", server)
	}
	places := []string{wellKnown(u, "oauth-protected-resource", true), wellKnown(u, "oauth-protected-resource", false)}
	if challenged != "" {
		places = []string{challenged}
	}
	for _, place := range slices.Compact(places) {
		var r Resource
		err := c.get(ctx, place, &r)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			return Resource{}, fmt.Errorf("metadata of the protected resource: %w", err)
		}
		if !covers(r.Resource, u) {
			return Resource{}, fmt.Errorf("%s describes another resource, %q", place, r.Resource)
		}
		if len(r.Servers) == 0 {
			return Resource{}, fmt.Errorf("%s names no authorization server", place)
		}
		if len(scopes) > 0 {
			r.Scopes = scopes
		}
		return r, nil
	}
	// Servers of the first revision with authorization are authorization servers themselves.
	return Resource{Resource: server, Servers: []string{u.Scheme + "://" + u.Host}, Scopes: scopes}, nil
}

// covers reports whether a resource is a URL or a parent of it.
func covers(resource string, u *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || !strings.EqualFold(r.Scheme, u.Scheme) || !strings.EqualFold(r.Host, u.Host) {
		return false
	}
	parent := strings.TrimSuffix(r.Path, "/")
	return u.Path == parent || strings.HasPrefix(u.Path, parent+"/") || parent == ""
}

// challenge asks a resource without a token, and returns where its refusal says that its metadata is, and which scopes it wants.
func (c Client) challenge(ctx context.Context, server string) (metadata string, scopes []string, err error) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"windlass","version":"1"}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server, strings.NewReader(hello))
	if err != nil {
		return "", nil, fmt.Errorf("%q is no URL", server)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := c.HTTP.Do(req)
	if err != nil {
		return "", nil, fmt.Errorf("ask %s: %w", req.URL.Host, plain(err))
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		return "", nil, nil
	}
	p := Challenge(res.Header)
	return p["resource_metadata"], strings.Fields(p["scope"]), nil
}

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

// Registered is a client that was registered.
type Registered struct {
	ID     string `json:"client_id"`
	Secret string `json:"client_secret"`
	Method string `json:"token_endpoint_auth_method"`
}

// Metadata describes this client to authorization servers.
type Metadata struct {
	ID              string   `json:"client_id,omitempty"`
	Name            string   `json:"client_name"`
	URI             string   `json:"client_uri,omitempty"`
	Redirects       []string `json:"redirect_uris"`
	Grants          []string `json:"grant_types"`
	Responses       []string `json:"response_types"`
	Method          string   `json:"token_endpoint_auth_method"`
	ApplicationType string   `json:"application_type"`
}

// Describe returns the metadata of the client that has its callback at redirect.
func Describe(redirect string) Metadata {
	kind := "web"
	if u, err := url.Parse(redirect); err == nil && u.Scheme == "http" {
		kind = "native" // RFC 8252: only those have loopback addresses
	}
	return Metadata{
		Name: "Windlass", Redirects: []string{redirect}, Grants: []string{"authorization_code", "refresh_token"}, Responses: []string{"code"},
		Method: "none", ApplicationType: kind,
	}
}

// Register registers a client.
func (c Client) Register(ctx context.Context, endpoint string, m Metadata) (Registered, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return Registered{}, fmt.Errorf("encode the registration: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(text))
	if err != nil {
		return Registered{}, fmt.Errorf("%q is no URL", endpoint)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	res, err := c.HTTP.Do(req)
	if err != nil {
		return Registered{}, fmt.Errorf("register at %s: %w", req.URL.Host, plain(err))
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusCreated && res.StatusCode != http.StatusOK {
		return Registered{}, fmt.Errorf("%s refuses to register a client (status %d); register one there, and set client_id", req.URL.Host,
			res.StatusCode)
	}
	var out Registered
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil || out.ID == "" {
		return Registered{}, fmt.Errorf("%s answered a registration without a client_id", req.URL.Host)
	}
	return out, nil
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
