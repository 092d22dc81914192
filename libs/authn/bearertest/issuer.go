// Package bearertest provides an issuer of access tokens for tests: a real HTTP server that publishes real keys.
package bearertest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"

	"github.com/windlass-dev/windlass/libs/authn/bearer"
)

// Audience is the audience of the mesh under test.
const Audience = "windlass"

// Issuer is an identity provider.
type Issuer struct {
	// URL is the issuer's name and address.
	URL string

	t      testing.TB
	server *httptest.Server

	mu      sync.Mutex
	keys    map[string]crypto.Signer
	down    bool
	fetches int
	next    int
	signing string
	// opaque are the tokens that are no JWTs, revoked those that are not active.
	opaque  map[string]jwt.MapClaims
	revoked map[string]bool
	asked   int
	answer  http.HandlerFunc
}

// New starts an issuer with one RSA key.
func New(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{t: t, keys: map[string]crypto.Signer{}, opaque: map[string]jwt.MapClaims{}, revoked: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.discovery)
	mux.HandleFunc("GET /keys", i.jwks)
	mux.HandleFunc("POST /introspect", i.introspect)
	i.server = httptest.NewServer(mux)
	t.Cleanup(i.server.Close)
	i.URL = i.server.URL
	i.Rotate()
	return i
}

// Config returns the configuration that accepts the issuer's tokens, with roles from realm_access.roles.
func (i *Issuer) Config() bearer.Issuer {
	return bearer.Issuer{
		Name: "corp", Issuer: i.URL, Audiences: []string{Audience}, Algorithms: []string{"RS256"}, RolesClaim: "realm_access.roles",
	}
}

func (i *Issuer) discovery(w http.ResponseWriter, _ *http.Request) {
	if i.away(w) {
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]string{
		"issuer": i.URL, "jwks_uri": i.URL + "/keys", "introspection_endpoint": i.URL + "/introspect",
	})
}

func (i *Issuer) jwks(w http.ResponseWriter, _ *http.Request) {
	i.mu.Lock()
	i.fetches++
	var set jose.JSONWebKeySet
	for id, key := range i.keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: id, Use: "sig"})
	}
	i.mu.Unlock()
	if i.away(w) {
		return
	}
	_ = json.NewEncoder(w).Encode(set)
}

func (i *Issuer) away(w http.ResponseWriter) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.down {
		w.WriteHeader(http.StatusBadGateway)
	}
	return i.down
}

// Rotate publishes a new RSA key, with which tokens are signed from now on. Earlier keys stay published.
func (i *Issuer) Rotate() {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		i.t.Fatal(err)
	}
	i.publish(key)
}

// RotateEC is Rotate with a key for ES256.
func (i *Issuer) RotateEC() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		i.t.Fatal(err)
	}
	i.publish(key)
}

func (i *Issuer) publish(key crypto.Signer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.next++
	i.signing = fmt.Sprintf("key-%d", i.next)
	i.keys[i.signing] = key
}

// Withdraw stops publishing the present key.
func (i *Issuer) Withdraw() {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.keys, i.signing)
}

// SetDown makes the issuer fail all requests, or serve again.
func (i *Issuer) SetDown(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = down
}

// Fetches returns how often the keys were requested.
func (i *Issuer) Fetches() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches
}

// key returns the present key and its ID.
func (i *Issuer) key() (crypto.Signer, string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys[i.signing], i.signing
}

// Claims returns the claims of a valid access token for a user, with changes; nil removes a claim.
func (i *Issuer) Claims(subject string, changes ...jwt.MapClaims) jwt.MapClaims {
	now := time.Now()
	c := jwt.MapClaims{
		"iss": i.URL, "sub": subject, "aud": []string{Audience}, "iat": now.Unix(), "exp": now.Add(10 * time.Minute).Unix(),
		"jti": rand.Text(),
	}
	for _, change := range changes {
		maps.Copy(c, change)
	}
	maps.DeleteFunc(c, func(_ string, value any) bool { return value == nil })
	return c
}

// Token returns a valid access token for a user, with changed claims.
func (i *Issuer) Token(subject string, changes ...jwt.MapClaims) string {
	i.t.Helper()
	key, id := i.key()
	var method jwt.SigningMethod = jwt.SigningMethodRS256
	if _, ok := key.(*ecdsa.PrivateKey); ok {
		method = jwt.SigningMethodES256
	}
	return Sign(i.t, method, key, i.Claims(subject, changes...), map[string]any{"kid": id})
}

// Sign returns a token with any header and key.
func Sign(t testing.TB, method jwt.SigningMethod, key any, claims jwt.MapClaims, header map[string]any) string {
	t.Helper()
	token := jwt.NewWithClaims(method, claims)
	maps.Copy(token.Header, header)
	maps.DeleteFunc(token.Header, func(_ string, value any) bool { return value == nil })
	out, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
