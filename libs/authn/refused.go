package authn

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// tokenError returns an ErrToken for the log.
func tokenError(why string) error { return fmt.Errorf("%w: %s", ErrToken, why) }

// refused returns what the caller sees of a token that was not accepted. One text covers all reasons, so that an attacker learns nothing
// from it.
func refused(err error) error {
	if !errors.Is(err, ErrToken) {
		return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "tokens cannot be verified now").
			Hint("Try again. The identity provider may not be reachable from Windlass.").Cause(err)
	}
	return fault.New(codes.Unauthenticated, faultv1.Reason_REASON_UNAUTHENTICATED, "the token is not accepted").
		Hint("Log in again. If a fresh token is refused too, compare it with identity.issuers.").Cause(err)
}
