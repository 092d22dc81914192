package rest

import (
	"context"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/rpc"
)

const (
	// KeyHeader makes retries of a POST safe; it fills the field idempotency_key of requests that have one.
	KeyHeader = "Idempotency-Key"
	// ReplayedHeader is "true" in the answer to a request that was made before with this key.
	ReplayedHeader = "Idempotency-Replayed"
	keyField       = protoreflect.Name("idempotency_key")
	maxKeyBytes    = 255
)

// matchReplayHeader names the header that marks an answer which an earlier request with the same key has had. Other metadata is left out.
func matchReplayHeader(key string) (string, bool) { return ReplayedHeader, key == rpc.ReplayedMetadata }

type keyKey struct{}

func withKey(ctx context.Context, key string) context.Context {
	if key == "" {
		return ctx
	}
	return context.WithValue(ctx, keyKey{}, key)
}

// idempotencyKey returns the header's value. A POST that cannot keep its promise is refused; other methods are idempotent without a key.
func idempotencyKey(h http.Header, route Route) (string, error) {
	values := h.Values(KeyHeader)
	if len(values) == 0 {
		return "", nil
	}
	if route.Method == http.MethodPost && route.Input.Fields().ByName(keyField) == nil {
		return "", fault.Invalid(KeyHeader, "is not supported by POST %s", route.Pattern).
			Hint("Send the request without the header. Before you repeat it, read the resource to see whether it took effect.")
	}
	key := values[0]
	if len(values) > 1 {
		return "", fault.Invalid(KeyHeader, "is given twice")
	}
	if key == "" || len(key) > maxKeyBytes {
		return "", fault.Invalid(KeyHeader, "must have 1 to %d characters", maxKeyBytes)
	}
	for _, c := range []byte(key) {
		if c < ' ' || c > '~' {
			return "", fault.Invalid(KeyHeader, "must be printable ASCII")
		}
	}
	return key, nil
}

// keyed is a connection that copies the Idempotency-Key header into the message, and applies other request options.
type keyed struct{ grpc.ClientConnInterface }

// Invoke implements grpc.ClientConnInterface.
func (c keyed) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if err := setKey(ctx, args); err != nil {
		return err
	}
	if err := setRevision(ctx, args); err != nil {
		return err
	}
	if err := checkResumes(ctx, args); err != nil {
		return err
	}
	skipWait(ctx, args)
	err := c.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
	faultpoint.Hit(faultpoint.GatewayAnswered)
	return err
}

func setKey(ctx context.Context, args any) error {
	key, ok := ctx.Value(keyKey{}).(string)
	m, isMessage := args.(proto.Message)
	if !ok || !isMessage {
		return nil
	}
	fd := m.ProtoReflect().Descriptor().Fields().ByName(keyField)
	if fd == nil {
		return nil
	}
	if had := m.ProtoReflect().Get(fd).String(); had != "" && had != key {
		return fault.Invalid(string(keyField), "differs from the header %s", KeyHeader)
	}
	m.ProtoReflect().Set(fd, protoreflect.ValueOfString(key))
	return nil
}
