package authn

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/protobuf/proto"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Header is the gRPC metadata key that carries a signed principal between processes of the mesh.
const Header = "windlass-principal"

const (
	audience = "windlass-mesh"
	lifetime = 5 * time.Minute
	// renew is how old a cached token may get. Half the lifetime tolerates clocks that differ.
	renew     = lifetime / 2
	cacheSize = 4096
)

// ErrToken means that a mesh token is missing, forged or expired.
var ErrToken = errors.New("mesh token is not valid")

// Keyring signs and verifies mesh tokens with a key that all processes of the mesh share. It is safe for concurrent use.
type Keyring struct {
	key    []byte
	signed *lru.Cache[string, stamped[string]]
	seen   *lru.Cache[string, stamped[*policyv1.Principal]]
	now    func() time.Time
}

type stamped[T any] struct {
	value T
	until time.Time
}

// NewKeyring returns a keyring. The key must have at least 32 bytes.
func NewKeyring(key []byte) (*Keyring, error) {
	if len(key) < 32 {
		return nil, fmt.Errorf("mesh key has %d bytes; at least 32 are needed", len(key))
	}
	signed, err := lru.New[string, stamped[string]](cacheSize)
	if err != nil {
		return nil, fmt.Errorf("make token cache: %w", err)
	}
	seen, err := lru.New[string, stamped[*policyv1.Principal]](cacheSize)
	if err != nil {
		return nil, fmt.Errorf("make token cache: %w", err)
	}
	return &Keyring{key: key, signed: signed, seen: seen, now: time.Now}, nil
}

// NewKey returns a random key, for a mesh in one process.
func NewKey() []byte {
	b := make([]byte, 32)
	rand.Read(b) // never fails, see crypto/rand
	return b
}

type claims struct {
	jwt.RegisteredClaims
	Principal string `json:"principal"`
}

// Sign returns a token for the principal, valid for five minutes. Tokens are cached.
func (k *Keyring) Sign(p *policyv1.Principal) (string, error) {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("encode principal: %w", err)
	}
	id, now := string(raw), k.now()
	if c, ok := k.signed.Get(id); ok && now.Before(c.until) {
		return c.value, nil
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Audience: jwt.ClaimStrings{audience}, IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(lifetime)),
		},
		Principal: base64.RawURLEncoding.EncodeToString(raw),
	}).SignedString(k.key)
	if err != nil {
		return "", fmt.Errorf("sign principal: %w", err)
	}
	k.signed.Add(id, stamped[string]{token, now.Add(renew)})
	return token, nil
}

// Verify returns the principal of a token, or ErrToken. The principal is shared: do not modify it.
func (k *Keyring) Verify(token string) (*policyv1.Principal, error) {
	now := k.now()
	if c, ok := k.seen.Get(token); ok && now.Before(c.until) {
		return c.value, nil
	}
	var c claims
	_, err := jwt.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return k.key, nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithAudience(audience), jwt.WithExpirationRequired(),
		jwt.WithLeeway(30*time.Second), jwt.WithTimeFunc(k.now))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrToken, err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(c.Principal)
	if err != nil {
		return nil, fmt.Errorf("%w: principal is not base64", ErrToken)
	}
	p := &policyv1.Principal{}
	if err := proto.Unmarshal(raw, p); err != nil || p.GetSubject() == "" || p.GetTenant() == "" {
		return nil, fmt.Errorf("%w: principal is incomplete", ErrToken)
	}
	k.seen.Add(token, stamped[*policyv1.Principal]{p, c.ExpiresAt.Time})
	return p, nil
}
