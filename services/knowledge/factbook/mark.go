package factbook

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// keyPurpose derives the key of marks from the key of the mesh.
const keyPurpose = "windlass memory marks v1"

// Marker makes the keyed hashes that stay of forgotten facts. Without the key a hash cannot be tried against a list of values.
type Marker struct{ key []byte }

// NewMarker returns the marker of a mesh.
func NewMarker(mesh secret.Value) (Marker, error) {
	key, err := hkdf.Key(sha256.New, []byte(mesh.Reveal()), nil, keyPurpose, sha256.Size)
	if err != nil {
		return Marker{}, fmt.Errorf("derive the key of memory marks: %w", err)
	}
	return Marker{key}, nil
}

// mark returns the hash of what a fact states about its user, for whatever agent.
func (m Marker) mark(o store.Owner, f store.Fact) string {
	value := f.Value
	if f.Attribute == "" {
		value = f.Text
	}
	h := hmac.New(sha256.New, m.key)
	for _, part := range []string{o.Tenant, o.Subject, entityOf(f.Entity), attributeOf(f.Attribute), foldValue(value)} {
		fmt.Fprintf(h, "%d:%s,", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}
