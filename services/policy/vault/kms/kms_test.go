package kms_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/keyset"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/services/policy/vault/kms"
)

// transit answers as the transit engine of Vault does, by its documented API: one key of type aes256-gcm96 with versions.
// It is no Vault.
type transit struct {
	*httptest.Server
	token    string
	versions []cipher.AEAD
	// status, if it is not 0, is the answer to all calls.
	status int
	calls  int
}

func newTransit(t *testing.T) *transit {
	t.Helper()
	s := &transit{token: "hvs.first"}
	s.rotate(t)
	s.Server = httptest.NewTLSServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

// rotate adds a version of the key, as POST /transit/keys/windlass/rotate does.
func (s *transit) rotate(t *testing.T) {
	t.Helper()
	key := make([]byte, 32)
	rand.Read(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		t.Fatal(err)
	}
	s.versions = append(s.versions, gcm)
}

func (s *transit) serve(w http.ResponseWriter, r *http.Request) {
	s.calls++
	refuse := func(status int, text string) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"errors": []string{text}})
	}
	var in map[string]string
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		refuse(http.StatusBadRequest, "error parsing JSON")
		return
	}
	context, _ := base64.StdEncoding.DecodeString(in["associated_data"])
	out := map[string]string{}
	switch {
	case s.status != 0:
		refuse(s.status, "Vault is sealed")
		return
	case r.Header.Get("X-Vault-Token") != s.token:
		refuse(http.StatusForbidden, "permission denied")
		return
	case r.URL.Path == "/v1/team/transit/encrypt/windlass":
		plain, _ := base64.StdEncoding.DecodeString(in["plaintext"])
		n := len(s.versions)
		out["ciphertext"] = fmt.Sprintf("vault:v%d:%s", n, base64.StdEncoding.EncodeToString(s.versions[n-1].Seal(nil, nil, plain, context)))
	case r.URL.Path == "/v1/team/transit/decrypt/windlass":
		var n int
		var text string
		if _, err := fmt.Sscanf(strings.Replace(in["ciphertext"], ":", " ", 2), "vault v%d %s", &n, &text); err != nil || n > len(s.versions) {
			refuse(http.StatusBadRequest, "invalid ciphertext: no prefix")
			return
		}
		sealed, _ := base64.StdEncoding.DecodeString(text)
		plain, err := s.versions[n-1].Open(nil, nil, sealed, context)
		if err != nil {
			refuse(http.StatusBadRequest, "cipher: message authentication failed")
			return
		}
		out["plaintext"] = base64.StdEncoding.EncodeToString(plain)
	default:
		refuse(http.StatusNotFound, "no handler for route")
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": out})
}

func (s *transit) key(t *testing.T) *kms.Key {
	t.Helper()
	uri := "hcvault://" + s.Listener.Addr().String() + "/team/transit/keys/windlass"
	k, err := kms.New(uri, func() (secret.Value, error) { return secret.New("hvs.first"), nil }, s.Client())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKeysetsAreWrappedAtTheService(t *testing.T) {
	s := newTransit(t)
	k := s.key(t)
	keys, err := keyset.Generate()
	if err != nil {
		t.Fatal(err)
	}
	wrapped, err := keys.Wrap(k, "here")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(wrapped), "vault:v1:") {
		t.Errorf("stored: %q", wrapped)
	}
	s.rotate(t)
	again, err := keyset.Unwrap(wrapped, k, "here")
	if err != nil || again.PrimaryID() != keys.PrimaryID() {
		t.Fatalf("after a rotation at the service: %v", err)
	}
	if next, err := again.Wrap(k, "here"); err != nil || !strings.Contains(string(next), "vault:v2:") {
		t.Errorf("wrapped with the new version: %q, %v", next, err)
	}
	if _, err := keyset.Unwrap(wrapped, k, "there"); err == nil || errors.Is(err, keyset.ErrAway) {
		t.Errorf("with another context: %v", err)
	}
	local, err := keyset.Generate()
	if err != nil {
		t.Fatal(err)
	}
	other, err := keys.Wrap(local, "here")
	if err != nil {
		t.Fatal(err)
	}
	before := s.calls
	if _, err := keyset.Unwrap(other, k, "here"); err == nil || s.calls != before {
		t.Errorf("wrapped by another master: %v, %d calls", err, s.calls-before)
	}
	s.status = http.StatusServiceUnavailable
	if _, err := keyset.Unwrap(wrapped, k, "here"); !errors.Is(err, keyset.ErrAway) || !strings.Contains(err.Error(), "Vault is sealed") {
		t.Errorf("sealed: %v", err)
	}
	s.status, s.token = 0, "hvs.other"
	if _, err := keyset.Unwrap(wrapped, k, "here"); !errors.Is(err, keyset.ErrAway) || strings.Contains(err.Error(), "hvs.") {
		t.Errorf("with a token that is refused: %v", err)
	}
	s.Close()
	if _, err := keyset.Unwrap(wrapped, k, "here"); !errors.Is(err, keyset.ErrAway) {
		t.Errorf("away: %v", err)
	}
}

func TestWrongURIs(t *testing.T) {
	for _, uri := range []string{
		"", "hcvault://", "hcvault://h", "hcvault://h/transit/windlass", "hcvault://h/transit/keys/", "hcvault://h/transit/keys/a/b",
		"https://h/transit/keys/a", "gcp-kms://projects/p/locations/l/keyRings/r/cryptoKeys/k", "hcvault://u:p@h/transit/keys/a",
		"hcvault://h/transit/keys/a?x=y",
	} {
		if _, err := kms.New(uri, nil, nil); err == nil || !strings.Contains(err.Error(), "MOUNT/keys/NAME") {
			t.Errorf("%q: %v", uri, err)
		}
	}
}
