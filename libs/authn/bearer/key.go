package bearer

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

const (
	// minRSA is the smallest RSA key in bits that is accepted.
	minRSA = 2048
	// maxKeys bounds the keys of an issuer.
	maxKeys = 100
)

// publicKey is a key of an issuer.
type publicKey struct {
	id, alg string
	key     any // *rsa.PublicKey, *ecdsa.PublicKey or ed25519.PublicKey
}

// parseKeys returns the public keys for signatures of a JWKS document. It skips keys for other purposes and of unknown kinds.
func parseKeys(document []byte) ([]publicKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(document, &set); err != nil {
		return nil, fmt.Errorf("decode keys: %w", err)
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("it publishes more than %d keys", maxKeys)
	}
	var keys []publicKey
	for _, raw := range set.Keys {
		var k jose.JSONWebKey
		if err := k.UnmarshalJSON(raw); err != nil || k.Use != "" && k.Use != "sig" || !usable(k.Key) {
			continue
		}
		keys = append(keys, publicKey{id: k.KeyID, alg: k.Algorithm, key: k.Key})
	}
	if len(keys) == 0 {
		return nil, errors.New("it publishes no usable key")
	}
	return keys, nil
}

func usable(key any) bool {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= minRSA
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	}
	return false
}

// choose returns the key with an ID if it suits the algorithm; for an empty ID, the only key that suits. It is nil if there is none.
func choose(keys []publicKey, id, alg string) any {
	var found any
	for _, k := range keys {
		if id != "" && k.id != id || !k.suits(alg) {
			continue
		}
		if found != nil {
			return nil // which of them is not said
		}
		found = k.key
	}
	return found
}

// suits reports whether signatures with an algorithm can be by this key.
func (k publicKey) suits(alg string) bool {
	if k.alg != "" && k.alg != alg {
		return false
	}
	switch key := k.key.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(alg, "RS") || strings.HasPrefix(alg, "PS")
	case *ecdsa.PublicKey:
		switch alg {
		case "ES256":
			return key.Curve == elliptic.P256()
		case "ES384":
			return key.Curve == elliptic.P384()
		case "ES512":
			return key.Curve == elliptic.P521()
		}
		return false
	case ed25519.PublicKey:
		return alg == "EdDSA"
	}
	return false
}
