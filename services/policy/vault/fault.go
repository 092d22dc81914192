package vault

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/keyset"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// Fault says what is wrong with a request about a secret.
func Fault(err error, name string) error {
	switch {
	case errors.Is(err, ErrNotFound):
		return fault.NotFound("there is no secret %q", name)
	case errors.Is(err, ErrExists):
		return fault.New(codes.AlreadyExists, faultv1.Reason_REASON_ALREADY_EXISTS, "there is a secret %q already", name).
			Hint("Replace its value with UpdateSecret.")
	case errors.Is(err, ErrFull):
		return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "the tenant has %d secrets, and may not have more",
			MaxSecrets)
	case errors.Is(err, keyset.ErrAway):
		return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "the key management service of the vault does not answer").
			Hint("Try again. Secrets that policy has opened stay usable; others need the service of policy.vault.kms.").Cause(err)
	case errors.Is(err, ErrNoMaster):
		return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "this mesh has no master key, so it stores no secrets").
			Hint("Set policy.vault.master_key (WINDLASS_POLICY_VAULT_MASTER_KEY) to a secret of at least 32 characters, or " +
				"policy.vault.master_key_file to a file that has one, in all processes with the policy role; or set policy.vault.kms.")
	}
	return fmt.Errorf("vault: %w", err)
}
