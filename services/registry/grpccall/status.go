package grpccall

import (
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/truncate"
)

// Limits of what a status says to a model, in bytes.
const (
	maxStatusMessage = 4000
	maxDetail        = 2000
	maxDetails       = 10
)

// names are those of the codes, as in code.proto.
var names = map[codes.Code]string{
	codes.OK: "OK", codes.Canceled: "CANCELLED", codes.Unknown: "UNKNOWN", codes.InvalidArgument: "INVALID_ARGUMENT",
	codes.DeadlineExceeded: "DEADLINE_EXCEEDED", codes.NotFound: "NOT_FOUND", codes.AlreadyExists: "ALREADY_EXISTS",
	codes.PermissionDenied: "PERMISSION_DENIED", codes.ResourceExhausted: "RESOURCE_EXHAUSTED",
	codes.FailedPrecondition: "FAILED_PRECONDITION", codes.Aborted: "ABORTED", codes.OutOfRange: "OUT_OF_RANGE",
	codes.Unimplemented: "UNIMPLEMENTED", codes.Internal: "INTERNAL", codes.Unavailable: "UNAVAILABLE", codes.DataLoss: "DATA_LOSS",
	codes.Unauthenticated: "UNAUTHENTICATED",
}

// Answered reports whether a server answered, and will answer so again: it refused, or it is no gRPC server.
func Answered(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable:
		return strings.Contains(err.Error(), "looked like an HTTP/1.1 header") // of a server that speaks HTTP/1.1 alone
	case codes.Canceled, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Aborted, codes.Internal:
		return false
	}
	return true
}

// describe returns a status as text: code, message, and its details as JSON, one per line.
func (t types) describe(s *status.Status) string {
	var out strings.Builder
	name := names[s.Code()]
	if name == "" {
		name = s.Code().String()
	}
	out.WriteString(name)
	if text := strings.TrimSpace(strings.ToValidUTF8(s.Message(), "\uFFFD")); text != "" {
		out.WriteString(": " + truncate.Bytes(text, maxStatusMessage))
	}
	for i, detail := range s.Proto().GetDetails() {
		if i == maxDetails {
			break
		}
		if text, err := t.json(detail); err == nil {
			out.WriteString("\n" + truncate.Bytes(string(text), maxDetail))
		}
	}
	return out.String()
}

// retryDelay is how long the server wants its clients to wait; 0 = it does not say.
func retryDelay(s *status.Status) time.Duration {
	for _, d := range s.Details() {
		if r, ok := d.(*errdetails.RetryInfo); ok && r.GetRetryDelay().IsValid() {
			if wait := r.GetRetryDelay().AsDuration(); wait > 0 && wait < 24*time.Hour {
				return wait
			}
		}
	}
	return 0
}

func shorten(text string) string { return truncate.Bytes(strings.ToValidUTF8(text, "\uFFFD"), 500) }
