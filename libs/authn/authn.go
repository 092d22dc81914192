// Package authn carries the caller's identity: from the edge into a context, from a context over the mesh in a signed
// header, and back into a context. Nothing on the mesh acts without a principal.
package authn

import (
	"context"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// DefaultTenant is the one tenant there is for now.
const DefaultTenant = "default"

type key struct{}

// With gives a context that carries the principal.
func With(ctx context.Context, p *policyv1.Principal) context.Context {
	return context.WithValue(ctx, key{}, p)
}

// From gives the context's principal. Inside an RPC handler it is never nil; elsewhere it may be.
func From(ctx context.Context) *policyv1.Principal {
	p, _ := ctx.Value(key{}).(*policyv1.Principal)
	return p
}

// Tenant gives the tenant of the context's principal, "" when there is none.
func Tenant(ctx context.Context) string { return From(ctx).GetTenant() }

// Service is the principal of a role of the mesh acting for itself.
func Service(role string) *policyv1.Principal {
	return &policyv1.Principal{
		Tenant: DefaultTenant, Subject: role, Kind: policyv1.PrincipalKind_PRINCIPAL_KIND_SERVICE, Roles: []string{role},
	}
}

// User is a person's principal.
func User(subject string, roles ...string) *policyv1.Principal {
	return &policyv1.Principal{
		Tenant: DefaultTenant, Subject: subject, Kind: policyv1.PrincipalKind_PRINCIPAL_KIND_USER, Roles: roles,
	}
}

// Local is who calls from this machine without a token, where the configuration allows that.
func Local() *policyv1.Principal { return User("local", "local") }
