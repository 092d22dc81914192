package sessions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// onceOf names a request by its idempotency key; without a key it is the zero value.
func onceOf(ctx context.Context, method, key string, req proto.Message) (store.Once, error) {
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

// before gives the turn that the same request made earlier.
func (s *Service) before(ctx context.Context, once store.Once) (*sessionsv1.Turn, bool, error) {
	if once.Key == "" {
		return nil, false, nil
	}
	stands, err := s.store.Once(ctx, once, s.store.NowUs())
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, nil
	}
	if err == nil {
		err = sameRequest(once, stands)
	}
	if err != nil {
		return nil, false, err
	}
	t, err := s.readTurn(ctx, once.Tenant, stands.TurnID)
	return t, true, err
}

func sameRequest(once, stands store.Once) error {
	if once.Hash == stands.Hash {
		return nil
	}
	return fault.New(codes.AlreadyExists, faultv1.Reason_REASON_IDEMPOTENCY_CONFLICT, "the idempotency key was used with another request").
		Hint("Use a new key for a new request.")
}

// remember keeps what a request with an idempotency key made. It reports false, and what stands, when the same request made something before;
// without a key there is nothing to remember.
func (s *Service) remember(tx *journal.Tx, once store.Once) (store.Once, bool, error) {
	if once.Key == "" {
		return once, true, nil
	}
	once.ExpiresUs = tx.NowUs + s.cfg.IdempotencyAge.Microseconds()
	stands, added, err := tx.AddOnce(tx.Context(), once, tx.NowUs)
	if err == nil && !added {
		err = sameRequest(once, stands)
	}
	return stands, added, err
}
