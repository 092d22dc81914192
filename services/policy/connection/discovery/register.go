package discovery

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

// Methods of authentication at token endpoints (RFC 7591, section 2).
const (
	Public   = "none"
	InHeader = "client_secret_basic"
	InBody   = "client_secret_post"
)

// Method is how a client that registers itself authenticates: as a public one, if the server takes that or does not say.
func (s Server) Method() string {
	for _, method := range []string{Public, InHeader, InBody} {
		if slices.Contains(s.AuthMethods, method) {
			return method
		}
	}
	return Public
}

// OnlyInBody reports whether the server takes secrets in the body of requests and not in their header.
func (s Server) OnlyInBody() bool {
	return slices.Contains(s.AuthMethods, InBody) && !slices.Contains(s.AuthMethods, InHeader)
}

// Registered is a client that was registered.
type Registered struct {
	ID     string `json:"client_id"`
	Secret string `json:"client_secret"`
	Method string `json:"token_endpoint_auth_method"`
}

// Metadata describes this client to authorization servers.
type Metadata struct {
	Name            string   `json:"client_name"`
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
		Method: Public, ApplicationType: kind,
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
