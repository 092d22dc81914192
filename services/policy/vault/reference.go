package vault

import (
	"context"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// References reads the secrets that definitions refer to.
type References struct{ Vault *Vault }

// Value returns the secret of a tenant that a reference names: ${secret:NAME}. Its errors are faults.
func (r References) Value(ctx context.Context, tenant, reference string) (secret.Value, error) {
	name, ok := strings.CutPrefix(strings.TrimSuffix(reference, "}"), "${secret:")
	if !ok {
		return secret.Value{}, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION,
			"the client's secret must be a stored one: ${secret:NAME}")
	}
	value, _, err := r.Vault.Value(ctx, tenant, name)
	if err != nil {
		return secret.Value{}, Fault(err, name)
	}
	return value, nil
}
