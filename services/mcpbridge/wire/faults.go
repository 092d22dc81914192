package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge/server"
)

// Unavailable returns the fault of a request that certainly did not run.
func Unavailable(sp *server.Spec, err error) *fault.Error {
	text := strings.ReplaceAll(plain(err), context.DeadlineExceeded.Error(), "it did not answer in time")
	f := fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "tool server %q cannot be reached: %s", sp.Name, sp.Redact(text)).
		Hint("See that the server runs and that its entry is right; the call was not carried out and may be repeated.")
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return f
	}
	if e.RetryAfter > 0 {
		f = f.RetryAfter(e.RetryAfter)
	}
	switch { // the server refused the user's token, or its scopes, before it did anything
	case sp.User == nil:
	case e.scopes != nil:
		f.Details = map[string]string{"scopes_wanted": strings.Join(*e.scopes, " ")}
	case e.status == http.StatusUnauthorized:
		f.Details = map[string]string{"token_refused": "true"}
	}
	return f
}

// NotListed is Unavailable for a server whose tools were to be listed. It says whether the server answered.
func NotListed(sp *server.Spec, err error) *fault.Error {
	f := Unavailable(sp, err)
	if e, ok := errors.AsType[*Error](err); ok && f.Details == nil && e.Answered() {
		f.Message = fmt.Sprintf("tool server %q does not answer as an MCP server: %s", sp.Name, Describe(sp, err))
		f.Details = map[string]string{"answered": "true"}
	}
	return f
}

// NotCalled is Unavailable for a call. One whose time is up, or that of the handshake, has none for another attempt, which its code says.
func NotCalled(sp *server.Spec, err error) *fault.Error {
	f := Unavailable(sp, err)
	if errors.Is(err, context.DeadlineExceeded) {
		f.Code = codes.DeadlineExceeded
	}
	return f
}

// OutcomeUnknown returns the fault of a call with unknown outcome.
func OutcomeUnknown(sp *server.Spec, tool string, err error) *fault.Error {
	return fault.New(codes.Aborted, faultv1.Reason_REASON_OUTCOME_UNKNOWN,
		"tool server %q: %s; whether %q was carried out is unknown", sp.Name, sp.Redact(AsError(err).Error()), tool).
		Hint("Find out at the server before the call is repeated, unless repeating it does no harm.")
}
