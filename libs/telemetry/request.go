package telemetry

import (
	"context"
	"crypto/rand"
	"strings"

	"google.golang.org/grpc/metadata"
)

const (
	// RequestHeader is the header with the id of a request, and RequestMetadata the same in gRPC.
	RequestHeader   = "X-Request-Id"
	RequestMetadata = "x-request-id"
	// maxRequestID bounds the ids of callers in bytes.
	maxRequestID = 128
)

type requestKey struct{}

// WithRequestID returns a context that carries the id of a request: the caller's own if it can be one, else a new one.
func WithRequestID(ctx context.Context, own string) (_ context.Context, id string) {
	if id = own; !requestID(own) {
		id = "req_" + strings.ToLower(rand.Text())
	}
	return context.WithValue(ctx, requestKey{}, id), id
}

// requestID reports whether a text can be logged and sent as the id of a request.
func requestID(text string) bool {
	ok := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("-_.:/+=@~", r)
	}
	return text != "" && len(text) <= maxRequestID && strings.IndexFunc(text, func(r rune) bool { return !ok(r) }) < 0
}

// RequestID returns the id of the request for which ctx's work is done, "" if it has none. A role finds that of the gateway's request in
// the metadata of the call.
func RequestID(ctx context.Context) string {
	if id, ok := ctx.Value(requestKey{}).(string); ok {
		return id
	}
	if ids := metadata.ValueFromIncomingContext(ctx, RequestMetadata); len(ids) == 1 && requestID(ids[0]) {
		return ids[0]
	}
	return ""
}
