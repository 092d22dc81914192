package decide

import (
	"context"

	"github.com/windlass-dev/windlass/libs/authn"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Actor returns the role of the mesh that calls for a principal; empty if the caller acts for itself.
func Actor(ctx context.Context) string {
	if p := authn.From(ctx); p.GetKind() == policyv1.PrincipalKind_PRINCIPAL_KIND_SERVICE {
		return p.GetSubject()
	}
	return ""
}
