package policy

import (
	"context"

	"github.com/windlass-dev/windlass/libs/authn"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// GetCaller implements PolicyService.
func (s *Service) GetCaller(ctx context.Context, _ *policyv1.GetCallerRequest) (*policyv1.Caller, error) {
	p := authn.From(ctx)
	return &policyv1.Caller{
		Tenant: p.GetTenant(), Subject: p.GetSubject(), Kind: p.GetKind(), Roles: p.GetRoles(), Issuer: p.GetIssuer(),
	}, nil
}
