package discovery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/challenge"
)

// Resource is the metadata of a protected resource.
type Resource struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
}

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

// challenge asks a resource without a token, and returns where its refusal says that its metadata is, and which scopes it wants. Some
// servers let every caller begin a session, and refuse what comes next.
func (c Client) challenge(ctx context.Context, server string) (metadata string, scopes []string, err error) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"windlass","version":"1"}}}`
	status, header, err := c.ask(ctx, server, hello, "")
	if err == nil && status != http.StatusUnauthorized {
		session := header.Get("Mcp-Session-Id")
		status, header, err = c.ask(ctx, server, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, session)
		defer c.leave(ctx, server, session)
	}
	if err != nil || status != http.StatusUnauthorized {
		return "", nil, err
	}
	p := challenge.Bearer(header)
	return p["resource_metadata"], challenge.Scopes(p["scope"]), nil
}

// ask sends a request to an MCP server, and returns status and header of the response.
func (c Client) ask(ctx context.Context, server, text, session string) (int, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server, strings.NewReader(text))
	if err != nil {
		return 0, nil, fmt.Errorf("%q is no URL", server)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
		req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("ask %s: %w", req.URL.Host, plain(err))
	}
	_ = res.Body.Close()
	return res.StatusCode, res.Header, nil
}

// leave ends a session; a server that does not take that ends it later.
func (c Client) leave(ctx context.Context, server, session string) {
	if session == "" {
		return
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, server, http.NoBody)
	if err != nil {
		return
	}
	req.Header.Set("Mcp-Session-Id", session)
	if res, err := c.HTTP.Do(req); err == nil {
		_ = res.Body.Close()
	}
}
