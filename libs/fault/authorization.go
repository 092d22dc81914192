package fault

import (
	"google.golang.org/grpc/codes"

	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// Kinds of what AuthorizationRequired asks for.
const (
	// Login is to log in again.
	Login = "login"
	// Connection is to connect a source.
	Connection = "connection"
)

// Names of the details of AuthorizationRequired.
const (
	DetailSource     = "source"
	DetailKind       = "kind"
	DetailConnectURL = "connect_url"
	DetailScopes     = "scopes"
)

// AuthorizationRequired says that a call to a source can only be made for a user who logs in again (kind Login), or who connects the source
// at connectURL (kind Connection). A turn waits for it, and then makes the call again; a direct caller gets the error.
func AuthorizationRequired(source, kind, connectURL, format string, args ...any) *Error {
	e := New(codes.FailedPrecondition, faultv1.Reason_REASON_AUTHORIZATION_REQUIRED, format, args...)
	e.Details = map[string]string{DetailSource: source, DetailKind: kind}
	if connectURL != "" {
		e.Details[DetailConnectURL] = connectURL
		return e.Hint("Connect the source at %s, then call the tool again.", connectURL)
	}
	return e.Hint("Log in again (windlass login), then call the tool again.")
}
