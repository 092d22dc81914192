package mcp

import (
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// failureOf converts an error of the mesh. Its data has the mesh's code, and what to do next.
func failureOf(err error) *failure {
	f := fault.From(err)
	data := map[string]any{"code": fault.CodeName(f.Reason)}
	if f.Todo != "" {
		data["hint"] = f.Todo
	}
	if f.Retry > 0 {
		data["retry_after_ms"] = f.Retry.Milliseconds()
	}
	out := &failure{Code: mcp.INTERNAL_ERROR, Message: f.Message, Data: data}
	switch f.Code {
	case codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition, codes.AlreadyExists, codes.OutOfRange:
		out.Code = mcp.INVALID_PARAMS
	case codes.Unauthenticated:
		out.status = http.StatusUnauthorized
	case codes.PermissionDenied:
		out.status = http.StatusForbidden
	}
	return out
}

// badArguments reports whether a fault is one that a model can mend, because the arguments are wrong: the protocol has tools answer that
// themselves.
func badArguments(f *fault.Error) bool {
	return f.Reason == faultv1.Reason_REASON_INVALID_TOOL_ARGUMENTS
}
