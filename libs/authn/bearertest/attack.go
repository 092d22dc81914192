package bearertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
)

// Attack is a token that must be refused.
type Attack struct{ Name, Token string }

// attacker is someone with a key and a server of their own.
type attacker struct {
	key  *rsa.PrivateKey
	url  string
	hits atomic.Int64
}

func (i *Issuer) newAttacker() *attacker {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		i.t.Fatal(err)
	}
	a := &attacker{key: key}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		a.hits.Add(1)
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{a.jwk()}})
	}))
	i.t.Cleanup(s.Close)
	a.url = s.URL
	i.t.Cleanup(func() {
		if n := a.hits.Load(); n > 0 {
			i.t.Errorf("the attacker's server was asked for keys %d times", n)
		}
	})
	return a
}

func (a *attacker) jwk() jose.JSONWebKey { return jose.JSONWebKey{Key: a.key.Public(), KeyID: "evil"} }

// Attacks returns forged, misused and outdated tokens against the issuer.
func (i *Issuer) Attacks() []Attack {
	return append(append(i.forged(), i.misused()...), i.outdated()...)
}

// forged returns tokens that the issuer has not signed.
func (i *Issuer) forged() []Attack {
	i.t.Helper()
	key, id := i.key()
	evil := i.newAttacker()
	good := i.Claims("alice")
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		i.t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	raw, err := json.Marshal(evil.jwk())
	if err != nil {
		i.t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		i.t.Fatal(err)
	}
	sign := func(header map[string]any) string { return Sign(i.t, jwt.SigningMethodRS256, evil.key, good, header) }
	valid := i.Token("alice")
	return []Attack{
		{"no signature", Sign(i.t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, good, map[string]any{"kid": id})},
		{"the signature is cut off", valid[:len(valid)-1]},
		{"HS256 with the public key as PEM", Sign(i.t, jwt.SigningMethodHS256, public, good, map[string]any{"kid": id})},
		{"HS256 with the public key as DER", Sign(i.t, jwt.SigningMethodHS256, der, good, map[string]any{"kid": id})},
		{"an algorithm that is not listed", Sign(i.t, jwt.SigningMethodRS512, key, good, map[string]any{"kid": id})},
		{"an algorithm of another kind of key", Sign(i.t, jwt.SigningMethodES256, other, good, map[string]any{"kid": id})},
		{"another key under the issuer's kid", sign(map[string]any{"kid": id})},
		{"another key without a kid", sign(nil)},
		{"kid is a path", sign(map[string]any{"kid": "../../../../dev/null"})},
		{"kid is SQL", sign(map[string]any{"kid": "x' UNION SELECT 'k"})},
		{"kid is a URL", sign(map[string]any{"kid": evil.url})},
		{"kid is not a string", sign(map[string]any{"kid": []string{id}})},
		{"jku of the attacker", sign(map[string]any{"kid": "evil", "jku": evil.url})},
		{"x5u of the attacker", sign(map[string]any{"kid": "evil", "x5u": evil.url})},
		{"jwk in the header", sign(map[string]any{"kid": "evil", "jwk": json.RawMessage(raw)})},
		{"critical header fields", Sign(i.t, jwt.SigningMethodRS256, key, good, map[string]any{"kid": id, "crit": []string{"exp"}})},
	}
}

// misused returns tokens that the issuer has signed for something else, or that name another issuer.
func (i *Issuer) misused() []Attack {
	key, id := i.key()
	return []Attack{
		{"another issuer", i.Token("alice", jwt.MapClaims{"iss": "https://evil.example.com"})},
		{"the issuer with a slash", i.Token("alice", jwt.MapClaims{"iss": i.URL + "/"})},
		{"no issuer", i.Token("alice", jwt.MapClaims{"iss": nil})},
		{"another audience", i.Token("alice", jwt.MapClaims{"aud": "billing-api"})},
		{"an audience that begins like ours", i.Token("alice", jwt.MapClaims{"aud": Audience + "-dev"})},
		{"no audience", i.Token("alice", jwt.MapClaims{"aud": nil})},
		{"an ID token with at_hash", i.Token("alice", jwt.MapClaims{"at_hash": "x"})},
		{"an ID token with a nonce", i.Token("alice", jwt.MapClaims{"nonce": "x"})},
		{"an ID token by its type", i.Token("alice", jwt.MapClaims{"typ": "ID"})},
		{"an ID token by its use", i.Token("alice", jwt.MapClaims{"token_use": "id"})},
		{"a logout token", Sign(i.t, jwt.SigningMethodRS256, key, i.Claims("alice"), map[string]any{"kid": id, "typ": "logout+jwt"})},
		{"a token bound to a key", i.Token("alice", jwt.MapClaims{"cnf": map[string]any{"jkt": "x"}})},
		{"no subject", i.Token("", jwt.MapClaims{"sub": nil})},
		{"a subject with a line break", i.Token("alice\nroot")},
	}
}

// outdated returns tokens that are not valid now.
func (i *Issuer) outdated() []Attack {
	in := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	return []Attack{
		{"expired", i.Token("alice", jwt.MapClaims{"exp": in(-time.Minute)})},
		{"no expiry", i.Token("alice", jwt.MapClaims{"exp": nil})},
		{"an expiry that is no number", i.Token("alice", jwt.MapClaims{"exp": "tomorrow"})},
		{"not valid yet", i.Token("alice", jwt.MapClaims{"nbf": in(time.Minute)})},
		{"issued in the future", i.Token("alice", jwt.MapClaims{"iat": in(time.Minute)})},
	}
}
