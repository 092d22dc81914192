// Package token signs and reads the tokens of the built-in issuer. Access tokens follow RFC 9068: their header says at+jwt, so that neither
// the mesh nor this issuer takes an ID token for one.
package token

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"

	"github.com/windlass-dev/windlass/internal/datadir"
)

// Types of tokens, in their header.
const (
	accessType = "at+jwt"
	idType     = "JWT"
)

// keyBits is the size of the signing key.
const keyBits = 2048

// ErrInvalid means that a token was not issued here, has expired, or is of the wrong type.
var ErrInvalid = errors.New("token is not valid")

// Signer signs tokens for one issuer. It is safe for concurrent use.
type Signer struct {
	issuer string
	key    *rsa.PrivateKey
	kid    string
	now    func() time.Time
}

// Open returns a signer whose key is in a file that only the user of this process can read; it is generated on the first start.
func Open(issuer, file string, now func() time.Time) (*Signer, error) {
	key, err := readKey(file)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = newKey(file)
	}
	if err != nil {
		return nil, fmt.Errorf("signing key %s: %w", file, err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("signing key %s: %w", file, err)
	}
	sum := sha256.Sum256(public)
	return &Signer{issuer: issuer, key: key, kid: base64.RawURLEncoding.EncodeToString(sum[:12]), now: now}, nil
}

func readKey(file string) (*rsa.PrivateKey, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, errors.New("the file holds no PEM block; remove it, and a new key is generated")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	if k, ok := key.(*rsa.PrivateKey); ok {
		return k, nil
	}
	return nil, fmt.Errorf("the file holds a %T; an RSA key is needed", key)
}

func newKey(file string) (*rsa.PrivateKey, error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, datadir.Write(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// Keys returns the public key as a JSON web key set.
func (s *Signer) Keys() jose.JSONWebKeySet {
	return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &s.key.PublicKey, KeyID: s.kid, Algorithm: string(jose.RS256), Use: "sig"}}}
}

// Access is the content of an access token.
type Access struct {
	jwt.RegisteredClaims
	// Use tells access tokens apart for validators that do not look at the header.
	Use      string `json:"token_use"`
	ClientID string `json:"client_id"`
	Scope    string `json:"scope,omitempty"`
	// Session is the login that the token comes from; empty for a client that acts for itself.
	Session  string   `json:"sid,omitempty"`
	Username string   `json:"preferred_username,omitempty"`
	Tenant   string   `json:"tenant"`
	Roles    []string `json:"roles,omitempty"`
	// Actor is who acts for the subject, after an exchange.
	Actor *Actor `json:"act,omitempty"`
	// Extra are the user's further claims, such as department.
	Extra map[string]string `json:"-"`
}

// Actor is an act claim (RFC 8693).
type Actor struct {
	Subject string `json:"sub"`
	Actor   *Actor `json:"act,omitempty"`
}

// Depth returns the length of the chain of actors.
func (a *Actor) Depth() int {
	if a == nil {
		return 0
	}
	return 1 + a.Actor.Depth()
}

// Access signs an access token; issuer, id and times are filled in.
func (s *Signer) Access(a Access, ttl time.Duration) (string, error) {
	now := s.now()
	a.Issuer, a.ID, a.Use = s.issuer, rand.Text(), "access"
	a.IssuedAt, a.NotBefore, a.ExpiresAt = jwt.NewNumericDate(now), jwt.NewNumericDate(now), jwt.NewNumericDate(now.Add(ttl))
	return s.sign(accessType, a)
}

// ID is the content of an ID token.
type ID struct {
	jwt.RegisteredClaims
	Use        string            `json:"token_use"`
	Authorized string            `json:"azp"`
	Nonce      string            `json:"nonce,omitempty"`
	Session    string            `json:"sid,omitempty"`
	AuthTime   *jwt.NumericDate  `json:"auth_time,omitempty"`
	AMR        []string          `json:"amr,omitempty"`
	AccessHash string            `json:"at_hash,omitempty"`
	Username   string            `json:"preferred_username,omitempty"`
	Tenant     string            `json:"tenant,omitempty"`
	Roles      []string          `json:"roles,omitempty"`
	Extra      map[string]string `json:"-"`
}

// ID signs an ID token for a client; its audience is the client alone, never what the access token is addressed to.
func (s *Signer) ID(id ID, client, access string, ttl time.Duration) (string, error) {
	now := s.now()
	id.Issuer, id.Use, id.Audience, id.Authorized = s.issuer, "id", jwt.ClaimStrings{client}, client
	id.IssuedAt, id.ExpiresAt = jwt.NewNumericDate(now), jwt.NewNumericDate(now.Add(ttl))
	sum := sha256.Sum256([]byte(access))
	id.AccessHash = base64.RawURLEncoding.EncodeToString(sum[:len(sum)/2])
	return s.sign(idType, id)
}

func (s *Signer) sign(typ string, c jwt.Claims) (string, error) {
	t := jwt.NewWithClaims(jwt.SigningMethodRS256, c)
	t.Header["typ"], t.Header["kid"] = typ, s.kid
	signed, err := t.SignedString(s.key)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return signed, nil
}

// ReadAccess returns the content of an access token that was issued here and has not expired, or ErrInvalid.
func (s *Signer) ReadAccess(raw string) (*Access, error) {
	a := &Access{}
	if err := s.read(raw, accessType, a, jwt.WithExpirationRequired()); err != nil {
		return nil, err
	}
	if a.Use != "access" || a.ID == "" || a.Subject == "" {
		return nil, ErrInvalid
	}
	return a, nil
}

// ReadIDHint returns the content of an ID token that was issued here, even if it has expired: it tells who logs out.
func (s *Signer) ReadIDHint(raw string) (*ID, error) {
	id := &ID{}
	if err := s.read(raw, idType, id, jwt.WithoutClaimsValidation()); err != nil {
		return nil, err
	}
	if id.Use != "id" || id.Issuer != s.issuer {
		return nil, ErrInvalid
	}
	return id, nil
}

func (s *Signer) read(raw, typ string, into jwt.Claims, opts ...jwt.ParserOption) error {
	opts = append(opts, jwt.WithValidMethods([]string{"RS256"}), jwt.WithIssuer(s.issuer), jwt.WithTimeFunc(s.now))
	t, err := jwt.ParseWithClaims(raw, into, func(t *jwt.Token) (any, error) {
		if t.Header["kid"] != s.kid {
			return nil, ErrInvalid
		}
		return &s.key.PublicKey, nil
	}, opts...)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if t.Header["typ"] != typ {
		return ErrInvalid
	}
	return nil
}
