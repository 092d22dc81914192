package token

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/windlass-dev/windlass/libs/testwant"
)

const issuerURL = "http://127.0.0.1:8089"

var begin = time.Unix(1_800_000_000, 0)

// at returns a clock that stands.
func at(t time.Time) func() time.Time { return func() time.Time { return t } }

func open(t *testing.T, issuer, file string, now time.Time) *Signer {
	t.Helper()
	s, err := Open(issuer, file, at(now))
	testwant.Equal(t, "the error of Open", err, nil)
	return s
}

func access(t *testing.T, s *Signer) string {
	t.Helper()
	return testwant.Must(s.Access(Access{
		RegisteredClaims: jwt.RegisteredClaims{Subject: "alice", Audience: jwt.ClaimStrings{"windlass"}}, ClientID: "web", Tenant: "acme",
		Extra: map[string]string{"department": "finance", "sub": "eve", "tenant": "other"},
	}, 10*time.Minute))
}

func claimsOf(t *testing.T, raw string) map[string]any {
	t.Helper()
	body := testwant.Must(base64.RawURLEncoding.DecodeString(strings.Split(raw, ".")[1]))
	var claims map[string]any
	testwant.Equal(t, "the error of the claims", json.Unmarshal(body, &claims), nil)
	return claims
}

func TestFurtherClaimsReplaceNone(t *testing.T) {
	s := open(t, issuerURL, filepath.Join(t.TempDir(), "key"), begin)
	id := testwant.Must(s.ID(ID{
		RegisteredClaims: jwt.RegisteredClaims{Subject: "alice"}, Tenant: "acme", Extra: map[string]string{"department": "finance", "sub": "eve"},
	}, "web", "an access token", time.Minute))
	for name, raw := range map[string]string{"access": access(t, s), "id": id} {
		claims := claimsOf(t, raw)
		for claim, want := range map[string]any{
			"sub": "alice", "tenant": "acme", "department": "finance", "token_use": name, "iss": issuerURL, "iat": float64(begin.Unix()),
		} {
			testwant.Equal(t, claim+" of the "+name+" token", claims[claim], want)
		}
	}
	testwant.Equal(t, "the audience of the ID token", claimsOf(t, id)["aud"], any([]any{"web"}))
}

func TestWhenAccessTokensAreValid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	raw := access(t, open(t, issuerURL, file, begin))
	for _, tc := range []struct {
		name string
		now  time.Time
		ok   bool
	}{
		{"at once", begin, true},
		{"to the last second", begin.Add(10*time.Minute - time.Second), true},
		{"not at the end", begin.Add(10 * time.Minute), false},
		{"not before it was issued", begin.Add(-time.Second), false},
	} {
		_, err := open(t, issuerURL, file, tc.now).ReadAccess(raw)
		testwant.Equal(t, tc.name, err == nil, tc.ok)
		testwant.Equal(t, tc.name+": it is ErrInvalid", errors.Is(err, ErrInvalid), !tc.ok)
	}
}

func TestAccessTokensThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, issuerURL, filepath.Join(dir, "key"), begin)
	raw := access(t, s)
	id := testwant.Must(s.ID(ID{RegisteredClaims: jwt.RegisteredClaims{Subject: "alice"}}, "web", raw, time.Minute))
	parts := strings.Split(raw, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"at+jwt","kid":"` + s.kid + `"}`))
	hmacked := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": "alice", "iss": issuerURL, "token_use": "access", "jti": "x"})
	hmacked.Header["typ"], hmacked.Header["kid"] = accessType, s.kid
	public := testwant.Must(x509.MarshalPKIXPublicKey(&s.key.PublicKey))
	signed := func(typ string, a Access) string { return testwant.Must(s.sign(typ, a)) }
	full := Access{
		RegisteredClaims: jwt.RegisteredClaims{
			Subject: "alice", ID: "x", Issuer: issuerURL, ExpiresAt: jwt.NewNumericDate(begin.Add(time.Minute)),
		}, Use: "access",
	}
	if _, err := s.ReadAccess(signed(accessType, full)); err != nil {
		t.Fatalf("the token that the others differ from: %v", err)
	}
	for name, change := range map[string]func(*Access){
		"one that never expires":   func(a *Access) { a.ExpiresAt = nil },
		"one of another issuer":    func(a *Access) { a.Issuer = issuerURL + "/" },
		"one without a subject":    func(a *Access) { a.Subject = "" },
		"one without an id":        func(a *Access) { a.ID = "" },
		"one for another use":      func(a *Access) { a.Use = "id" },
		"one that is not yet good": func(a *Access) { a.NotBefore = jwt.NewNumericDate(begin.Add(time.Second)) },
	} {
		changed := full
		change(&changed)
		if _, err := s.ReadAccess(signed(accessType, changed)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, wrong := range map[string]string{
		"an ID token":                         id,
		"an access token of the general type": signed(idType, full),
		"nothing":                             "",
		"no token":                            "a.b.c",
		"an unsigned token":                   none + "." + parts[1] + ".",
		"one without its signature":           parts[0] + "." + parts[1] + ".",
		"one with other claims":               parts[0] + "." + strings.Replace(parts[1], parts[1][8:10], "AA", 1) + "." + parts[2],
		"one that the public key signs":       testwant.Must(hmacked.SignedString(public)),
		"one of another key":                  access(t, open(t, issuerURL, filepath.Join(dir, "other"), begin)),
	} {
		if a, err := s.ReadAccess(wrong); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

func TestIDTokensAsHints(t *testing.T) {
	dir := t.TempDir()
	s := open(t, issuerURL, filepath.Join(dir, "key"), begin)
	raw := testwant.Must(s.ID(ID{RegisteredClaims: jwt.RegisteredClaims{Subject: "alice"}}, "web", "x", time.Minute))
	later := open(t, issuerURL, filepath.Join(dir, "key"), begin.Add(24*time.Hour))
	hint, err := later.ReadIDHint(raw)
	testwant.Equal(t, "the error of an expired one", err, nil)
	testwant.Equal(t, "the client", hint.Authorized, "web")
	elsewhere := open(t, "http://127.0.0.1:1", filepath.Join(dir, "key"), begin)
	for name, wrong := range map[string]func() error{
		"an access token":   func() error { _, err := s.ReadIDHint(access(t, s)); return err },
		"of another issuer": func() error { _, err := elsewhere.ReadIDHint(raw); return err },
	} {
		if err := wrong(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheKeyIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	first := open(t, issuerURL, file, begin)
	again := open(t, issuerURL, file, begin)
	testwant.Equal(t, "the key's id", again.kid, first.kid)
	testwant.Equal(t, "the published key", again.Keys().Keys[0].KeyID, first.kid)
	testwant.Equal(t, "the mode of the file", testwant.Must(os.Stat(file)).Mode().Perm(), 0o600)
	if raw := testwant.Must(json.Marshal(first.Keys())); strings.Contains(string(raw), `"d":`) {
		t.Errorf("the private key is published: %s", raw)
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	curve := testwant.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	der := testwant.Must(x509.MarshalPKCS8PrivateKey(curve))
	block := func(b []byte) string { return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: b})) }
	for _, tc := range []struct{ name, content, err string }{
		{"no PEM", "a key", "holds no PEM block; remove it"},
		{"an empty file", "", "holds no PEM block; remove it"},
		{"half a key", block(der[:20]), "signing key"},
		{"an elliptic curve", block(der), "an RSA key is needed"},
	} {
		file := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(file, []byte(tc.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(issuerURL, file, at(begin)); err == nil || !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %v", tc.name, err)
		}
		testwant.Equal(t, tc.name+" stays", string(testwant.Must(os.ReadFile(file))), tc.content)
	}
}

func TestTheDepthOfActors(t *testing.T) {
	var none *Actor
	testwant.Equal(t, "without an actor", none.Depth(), 0)
	testwant.Equal(t, "two", (&Actor{Subject: "a", Actor: &Actor{Subject: "b"}}).Depth(), 2)
}
