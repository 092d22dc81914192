// Package registration keeps the clients of the built-in issuer that nobody has configured: programs, MCP clients above all, that register
// themselves (RFC 7591), or whose id is the URL of a document about them. All are public clients on this machine.
package registration

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/internal/issuer/account"
)

// Limits of what a program says about itself.
const (
	maxName      = 80 // runes
	maxRedirects = 20
	maxRedirect  = 512
)

// Metadata is what a program says about itself, in a registration or in a document. Fields that are not here are ignored: none of them can
// widen what a client gets.
type Metadata struct {
	ClientID      string   `json:"client_id,omitempty"`
	Name          string   `json:"client_name,omitempty"`
	Redirects     []string `json:"redirect_uris"`
	GrantTypes    []string `json:"grant_types,omitempty"`
	ResponseTypes []string `json:"response_types,omitempty"`
	AuthMethod    string   `json:"token_endpoint_auth_method,omitempty"`
	Secret        string   `json:"client_secret,omitempty"`
}

// Client is a client that has registered itself.
type Client struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Redirects are URIs on loopback, without ports: a program listens where it can (RFC 8252).
	Redirects []string `json:"redirects"`
	// Refresh reports that it wants refresh tokens.
	Refresh bool `json:"refresh,omitempty"`
	// Since is when the client became known, or its document was fetched.
	Since time.Time `json:"since"`
	// Until is how long a document is good for; zero for a registration.
	Until time.Time `json:"until,omitzero"`
}

// Host returns the host that vouches for the client's name, or "" if nobody does.
func (c Client) Host() string {
	u, err := url.Parse(c.ID)
	if err != nil {
		return ""
	}
	return u.Host
}

// Error is what the program is told about its metadata, in the codes of RFC 7591.
type Error struct{ Code, Description string }

// Error implements error.
func (e *Error) Error() string { return e.Code + ": " + e.Description }

func bad(format string, args ...any) error {
	return &Error{Code: "invalid_client_metadata", Description: fmt.Sprintf(format, args...)}
}

// accept returns the client that metadata describes, and the redirect URIs that it may use as they were given. Others are dropped, as RFC
// 7591 allows: some programs list those of their web version too.
func (m Metadata) accept() (Client, []string, error) {
	if !utf8.ValidString(m.Name) || utf8.RuneCountInString(m.Name) > maxName || invisible(m.Name) {
		return Client{}, nil, bad("client_name must be visible text of up to %d characters", maxName)
	}
	grants := m.GrantTypes
	if len(grants) == 0 {
		grants = []string{account.Code}
	}
	if !slices.Contains(grants, account.Code) || len(m.ResponseTypes) > 0 && !slices.Contains(m.ResponseTypes, "code") {
		return Client{}, nil, bad("only the grant type authorization_code with the response type code can be registered")
	}
	if len(m.Redirects) > maxRedirects {
		return Client{}, nil, &Error{"invalid_redirect_uri", fmt.Sprintf("at most %d redirect_uris can be registered", maxRedirects)}
	}
	c := Client{Name: m.Name, Refresh: slices.Contains(grants, account.Refresh)}
	var kept []string
	for _, uri := range m.Redirects {
		if own, ok := loopback(uri); ok {
			kept = append(kept, uri)
			c.Redirects = append(c.Redirects, own)
		}
	}
	if len(kept) == 0 {
		return Client{}, nil, &Error{
			"invalid_redirect_uri", "redirect_uris must have a URI of this machine, such as http://127.0.0.1/callback; no others are accepted",
		}
	}
	slices.Sort(c.Redirects)
	c.Redirects = slices.Compact(c.Redirects)
	return c, kept, nil
}

// loopback returns a redirect URI on this machine without its port, and reports whether it is one.
func loopback(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || len(uri) > maxRedirect || u.Scheme != "http" || u.User != nil || u.Fragment != "" || u.Opaque != "" || u.String() != uri {
		return "", false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	switch {
	case u.Hostname() == "localhost" || err == nil && addr.Is4() && addr.IsLoopback():
		u.Host = u.Hostname()
	case err == nil && addr == netip.IPv6Loopback():
		u.Host = "[::1]"
	default:
		return "", false
	}
	return u.String(), true
}

// invisible reports whether a name has characters that make it look like another one: controls, those that change the direction of text, or
// spaces around it.
func invisible(name string) bool {
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return true
		}
	}
	return name != "" && (name[0] == ' ' || name[len(name)-1] == ' ')
}
