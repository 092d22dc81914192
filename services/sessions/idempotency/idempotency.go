// Package idempotency remembers what requests with an idempotency key made, so that the same request again gets the same answer.
package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Keys are the idempotency keys of a store.
type Keys struct {
	store *store.Store
	age   time.Duration
}

// New returns the keys of a store. A key is remembered for age.
func New(s *store.Store, age time.Duration) Keys { return Keys{store: s, age: age} }

// Of names a request of the caller by its key. Only hashes are kept. Without a key it returns the zero value, which the other
// functions take as a request that is not remembered.
func Of(ctx context.Context, method, key string, req proto.Message) (store.Once, error) {
	if key == "" {
		return store.Once{}, nil
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
	if err != nil {
		return store.Once{}, fmt.Errorf("hash request: %w", err)
	}
	sum := func(b []byte) string {
		h := sha256.Sum256(b)
		return hex.EncodeToString(h[:])
	}
	p := authn.From(ctx)
	return store.Once{Tenant: p.GetTenant(), Subject: p.GetSubject(), Method: method, Key: sum([]byte(key)), Hash: sum(body)}, nil
}

// Request is a request that carries its idempotency key.
type Request interface {
	proto.Message
	GetIdempotencyKey() string
}

// OfRequest is Of for a request that carries its key. The same request must agree in all fields but the key and those that are
// named in except.
func OfRequest(ctx context.Context, method string, req Request, except ...protoreflect.Name) (store.Once, error) {
	key := req.GetIdempotencyKey()
	if key == "" {
		return store.Once{}, nil
	}
	body := proto.Clone(req).ProtoReflect()
	for _, name := range append(except, "idempotency_key") {
		body.Clear(body.Descriptor().Fields().ByName(name))
	}
	return Of(ctx, method, key, body.Interface())
}

// Earlier returns what the same request made before, and whether it was made before: its answer is marked then, see rpc.Replayed. A key
// that was used with another request is an error with the reason IDEMPOTENCY_CONFLICT.
func (k Keys) Earlier(ctx context.Context, once store.Once) (store.Once, bool, error) {
	if once.Key == "" {
		return store.Once{}, false, nil
	}
	found, err := k.store.Once(ctx, once, k.store.Now())
	if errors.Is(err, store.ErrNotFound) {
		return store.Once{}, false, nil
	}
	if err == nil {
		err = same(once, found)
	}
	if err == nil {
		rpc.Replayed(ctx)
	}
	return found, err == nil, err
}

// Remember stores what a request makes, in the transaction that makes it. If the same request was made before, it returns what
// that one made and false.
func (k Keys) Remember(tx *journal.Tx, once store.Once) (store.Once, bool, error) {
	if once.Key == "" {
		return once, true, nil
	}
	once.ExpireTime = tx.Now().Add(k.age)
	found, added, err := tx.AddOnce(tx.Context(), once, tx.Now())
	if err == nil && !added {
		if err = same(once, found); err == nil {
			rpc.Replayed(tx.Context())
		}
	}
	return found, added, err
}

func same(once, found store.Once) error {
	if once.Hash == found.Hash {
		return nil
	}
	return fault.New(codes.AlreadyExists, faultv1.Reason_REASON_IDEMPOTENCY_CONFLICT, "the idempotency key was used with another request").
		Hint("Use a new key for a new request.")
}
