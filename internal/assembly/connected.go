package assembly

import (
	"context"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// connected lets turns go on that wait for a user to connect a source.
type connected struct {
	turns executionv1.ExecutionServiceClient
}

// Connected implements connection.Notice.
func (c connected) Connected(ctx context.Context, tenant, subject, source string) error {
	_, err := c.turns.ResolveAuthorizations(ctx, &executionv1.ResolveAuthorizationsRequest{
		Tenant: tenant, Subject: subject, Source: source, Kind: turnv1.AuthorizationKind_AUTHORIZATION_KIND_CONNECTION,
	})
	return err
}
