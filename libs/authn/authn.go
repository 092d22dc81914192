// Package authn carries the caller's principal in contexts and, between processes of the mesh, in a signed gRPC header. Every call on the
// mesh has a principal.
package authn

import (
	"context"
	"regexp"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// DefaultTenant is the tenant of those whom nothing assigns to another one: the local user, roles that act for themselves, and users,
// sources and providers of the configuration that name none. It never replaces a tenant that is missing in a call, which is an error.
const DefaultTenant = "default"

// tenantForm keeps separators out of tenants, which are part of bus subjects, workflow IDs and cache keys.
var tenantForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)

// ValidTenant reports whether name can be a tenant: up to 63 letters, digits, hyphens and underscores.
func ValidTenant(name string) bool { return tenantForm.MatchString(name) }

type key struct{}

// With returns a context that carries the principal.
func With(ctx context.Context, p *policyv1.Principal) context.Context {
	return context.WithValue(ctx, key{}, p)
}

// From returns the context's principal. It is never nil inside an RPC handler; elsewhere it may be.
func From(ctx context.Context) *policyv1.Principal {
	p, _ := ctx.Value(key{}).(*policyv1.Principal)
	return p
}

// Tenant returns the tenant of the context's principal, or "" if there is none.
func Tenant(ctx context.Context) string { return From(ctx).GetTenant() }

// Service returns the principal of a mesh role that acts for itself.
func Service(role string) *policyv1.Principal {
	return &policyv1.Principal{
		Tenant: DefaultTenant, Subject: role, Kind: policyv1.PrincipalKind_PRINCIPAL_KIND_SERVICE, Roles: []string{role},
	}
}

// User returns the principal of a person.
func User(subject string, roles ...string) *policyv1.Principal {
	return &policyv1.Principal{
		Tenant: DefaultTenant, Subject: subject, Kind: policyv1.PrincipalKind_PRINCIPAL_KIND_USER, Roles: roles,
	}
}

// localUser is the subject and the role of Local. Subjects of issuers contain a colon and so never equal it.
const localUser = "local"

// Local returns the principal of a caller on this machine who sends no token, where the configuration allows that.
func Local() *policyv1.Principal { return User(localUser, localUser) }

// anonymous is the subject of Anonymous. Subjects of issuers contain a colon and so never equal it.
const anonymous = "anonymous"

// Anonymous returns the principal of a caller who shows no credentials, for the few things that need none. It has no roles.
func Anonymous() *policyv1.Principal { return User(anonymous) }

// IsAnonymous reports whether a principal is Anonymous, or missing.
func IsAnonymous(p *policyv1.Principal) bool {
	return p.GetSubject() == "" || p.GetSubject() == anonymous
}

// IsLocal reports whether a principal is Local.
func IsLocal(p *policyv1.Principal) bool {
	return p.GetKind() == policyv1.PrincipalKind_PRINCIPAL_KIND_USER && p.GetSubject() == localUser && p.GetTenant() == DefaultTenant
}
