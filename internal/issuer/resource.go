package issuer

import (
	"errors"
	"slices"

	"github.com/zitadel/oidc/v3/pkg/oidc"

	"github.com/windlass-dev/windlass/internal/issuer/account"
)

var errTarget = errors.New("audience is not allowed")

// audienceOf returns the audience of a client's tokens: the resources that it requests (RFC 8707), which must be among its audiences, or
// endpoints of the mesh if it may have tokens for the mesh.
func (i *Issuer) audienceOf(c client, resources []string) ([]string, error) {
	if len(resources) == 0 {
		return c.Audiences[:1], nil
	}
	var all []string
	for _, r := range resources {
		if canonical, ok := i.resources.Known(r); ok && c.forMesh() {
			r = canonical
		} else if !slices.Contains(c.Audiences, r) {
			return nil, errTarget
		}
		if !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	return all, nil
}

// narrowed returns the part of a login's audience that a request for tokens names.
func (i *Issuer) narrowed(audience, resources []string) ([]string, error) {
	if len(resources) == 0 {
		return audience, nil
	}
	var all []string
	for _, r := range resources {
		if canonical, ok := i.resources.Known(r); ok {
			r = canonical
		}
		if _, ok := i.resources.Known(r); !slices.Contains(audience, r) && !(ok && slices.Contains(audience, account.Audience)) {
			return nil, oidc.ErrInvalidTarget().WithDescription("the user has not allowed this resource")
		}
		all = append(all, r)
	}
	return all, nil
}

// addressed reports whether tokens for an audience may be presented to a client.
func (i *Issuer) addressed(audience []string, c client) bool {
	return slices.ContainsFunc(audience, func(a string) bool {
		_, ok := i.resources.Known(a)
		return ok && c.registered == nil && c.forMesh() || slices.Contains(c.Audiences, a)
	})
}

// forMesh reports whether a client may have tokens for the mesh, and so for each of its endpoints.
func (c client) forMesh() bool {
	return c.registered != nil || slices.Contains(c.Audiences, account.Audience)
}

// requested returns the scopes of a login. A client may name none; MCP clients do. Those that registered for refresh tokens get them
// nevertheless.
func (c client) requested(scopes []string) []string {
	if c.registered != nil {
		scopes = c.allowed(scopes)
	}
	if len(scopes) == 0 {
		scopes = []string{oidc.ScopeProfile}
	}
	if c.registered != nil && c.registered.Refresh && !slices.Contains(scopes, oidc.ScopeOfflineAccess) {
		scopes = append(scopes, oidc.ScopeOfflineAccess)
	}
	return scopes
}
