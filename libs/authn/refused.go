package authn

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// tokenError returns an ErrToken for the log.
func tokenError(why string) error { return fmt.Errorf("%w: %s", ErrToken, why) }

// ScopeError means that a token is valid, but does not have the scopes that calls with tokens of its issuer need.
type ScopeError struct {
	// Scopes are all scopes that are needed, also those that the token has.
	Scopes []string
}

// Error implements error.
func (e *ScopeError) Error() string {
	return "the token needs the scopes " + strings.Join(e.Scopes, " ")
}

// refused returns what the caller sees of a token that was not accepted. One text covers all reasons, so that an attacker learns nothing
// from it.
func refused(err error) error {
	if missing := (*ScopeError)(nil); errors.As(err, &missing) {
		return fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED, "the token lacks a scope").
			Hint("Request a token with the scopes %s.", strings.Join(missing.Scopes, " ")).Cause(err)
	}
	if !errors.Is(err, ErrToken) {
		return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "tokens cannot be verified now").
			Hint("Try again. The identity provider may not be reachable from Windlass.").Cause(err)
	}
	return fault.New(codes.Unauthenticated, faultv1.Reason_REASON_UNAUTHENTICATED, "the token is not accepted").
		Hint("Log in again. If a fresh token is refused too, compare it with identity.issuers.").Cause(err)
}
