// Package access decides what a caller of the sessions service may see and do.
package access

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authz"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// roleAdmin sees what all subjects of its tenant have.
const roleAdmin = "admin"

// Owner returns whose sessions, turns and schedules the caller may see: their own subject's, or "" for everyone's in the tenant
// (services and administrators).
func Owner(ctx context.Context) string {
	p := authn.From(ctx)
	if p.GetKind() == policyv1.PrincipalKind_PRINCIPAL_KIND_SERVICE || slices.Contains(p.GetRoles(), roleAdmin) {
		return ""
	}
	return p.GetSubject()
}

// Sees reports whether the caller may see what belongs to a subject of their tenant.
func Sees(ctx context.Context, subject string) bool {
	own := Owner(ctx)
	return own == "" || own == subject
}

// Storable reports whether a text can be stored and looked up. PostgreSQL cannot hold NUL.
func Storable(text string) bool { return !strings.ContainsRune(text, 0) }

// PermissionReader is the part of the policy service that lists permissions.
type PermissionReader interface {
	// GetPermissions returns the permissions that a principal holds.
	GetPermissions(ctx context.Context, in *policyv1.GetPermissionsRequest, opts ...grpc.CallOption) (*policyv1.GetPermissionsResponse, error)
}

// Permissions reads the permissions that a principal holds now.
func Permissions(ctx context.Context, policy PermissionReader, p *policyv1.Principal) (authz.Permissions, error) {
	resp, err := policy.GetPermissions(ctx, &policyv1.GetPermissionsRequest{Principal: p})
	if err != nil {
		return authz.Permissions{}, fmt.Errorf("permissions of %s: %w", p.GetSubject(), err)
	}
	return authz.Parse(resp.GetPermissions(), resp.GetDeniedBy()), nil
}
