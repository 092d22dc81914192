// Package callertoken carries the access token with which a user called the mesh, so that tools can be called as that user. Between
// processes it travels sealed, and only with the user's principal; policy opens it to exchange it. It is sent to no one but its issuer.
package callertoken

import (
	"context"
	"errors"
	"fmt"

	"github.com/windlass-dev/windlass/libs/seal"
	"github.com/windlass-dev/windlass/libs/secret"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Metadata is the gRPC metadata key that carries a sealed token between roles of the mesh. Its suffix means binary.
const Metadata = "windlass-user-token-bin"

// Sealer seals and opens tokens with a key that all processes of the mesh share. It is safe for concurrent use. The nil Sealer has no key:
// it seals nothing, so that no token travels.
type Sealer struct{ box *seal.Box }

// NewSealer returns a Sealer. The key must have at least 32 bytes.
func NewSealer(key secret.Value) (*Sealer, error) {
	box, err := seal.New(key)
	if err != nil {
		return nil, fmt.Errorf("build the sealer of users' tokens: %w", err)
	}
	return &Sealer{box}, nil
}

// scope binds a sealed token to the user that presented it.
func scope(tenant, subject string) string {
	return fmt.Sprintf("access token of %q in %q", subject, tenant)
}

// Seal seals the token of a principal. It returns nil for a principal without an issuer, and for no token.
func (s *Sealer) Seal(token secret.Value, p *policyv1.Principal) []byte {
	if s == nil || token.IsZero() || p.GetIssuer() == "" {
		return nil
	}
	return s.box.Seal(token, scope(p.GetTenant(), p.GetSubject()))
}

// Open opens the sealed token of a subject. The error does not quote it.
func (s *Sealer) Open(sealed []byte, tenant, subject string) (secret.Value, error) {
	if s == nil {
		return secret.Value{}, errors.New("tokens of users are not accepted here")
	}
	return s.box.Open(sealed, scope(tenant, subject))
}

type key struct{}

// With returns a context with the sealed token of its principal. Calls that are made for the principal carry it; libs/rpc sends it.
func With(ctx context.Context, sealed []byte) context.Context {
	if len(sealed) == 0 {
		return ctx
	}
	return context.WithValue(ctx, key{}, sealed)
}

// From returns the sealed token of the context's principal; nil if it came without.
func From(ctx context.Context) []byte {
	sealed, _ := ctx.Value(key{}).([]byte)
	return sealed
}
