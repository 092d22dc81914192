// Package keyset encrypts with several AES-256-GCM keys at once: the primary key encrypts, all keys decrypt. Each ciphertext begins with
// the id of its key, in Tink's format.
package keyset

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/aead/aesgcm"
	"github.com/tink-crypto/tink-go/v2/insecuresecretdataaccess"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/secretdata"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/windlass-dev/windlass/libs/secret"
)

const (
	// MinSecret is the least length of a secret that keys are derived from, in bytes.
	MinSecret = 32

	// A ciphertext in Tink's format begins with this byte and the key's id.
	version = 1
	prefix  = 1 + 4
)

// ErrUnknownKey means that a value was encrypted with a key that the set lacks.
var ErrUnknownKey = errors.New("encrypted with a key that is not configured here")

// Set is a set of keys. It is safe for concurrent use.
type Set struct {
	handle  *keyset.Handle
	aead    tink.AEAD
	primary uint32
	ids     map[uint32]bool
}

// Derive returns the set of the keys that follow from secrets, for one purpose: sets for different purposes share no key. The newest secret
// gives the primary key. The same secret may be given twice.
func Derive(purpose string, newest secret.Value, older ...secret.Value) (*Set, error) {
	m := keyset.NewManager()
	seen := map[uint32]bool{}
	for i, s := range append([]secret.Value{newest}, older...) {
		key, id, err := derive(purpose, s)
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i+1, err)
		}
		if seen[id] {
			continue
		}
		seen[id] = true
		if _, err := m.AddKey(key); err != nil {
			return nil, fmt.Errorf("key %d: %w", i+1, err)
		}
		if i == 0 {
			if err := m.SetPrimary(id); err != nil {
				return nil, fmt.Errorf("make a key the primary one: %w", err)
			}
		}
	}
	return ofManager(m)
}

// derive returns the key of a secret and its id, which reveals nothing about either.
func derive(purpose string, s secret.Value) (*aesgcm.Key, uint32, error) {
	raw := []byte(s.Reveal())
	if len(raw) < MinSecret {
		return nil, 0, fmt.Errorf("the secret has %d bytes; at least %d are needed", len(raw), MinSecret)
	}
	bytes, err := hkdf.Key(sha256.New, raw, nil, "windlass keyset "+purpose, 32)
	if err != nil {
		return nil, 0, fmt.Errorf("derive the key: %w", err)
	}
	name, err := hkdf.Key(sha256.New, raw, nil, "windlass keyset id "+purpose, 4)
	if err != nil {
		return nil, 0, fmt.Errorf("derive the key's id: %w", err)
	}
	parameters, err := aesgcm.NewParameters(aesgcm.ParametersOpts{
		KeySizeInBytes: 32, IVSizeInBytes: 12, TagSizeInBytes: 16, Variant: aesgcm.VariantTink,
	})
	if err != nil {
		return nil, 0, fmt.Errorf("choose the cipher: %w", err)
	}
	id := binary.BigEndian.Uint32(name)
	key, err := aesgcm.NewKey(secretdata.NewBytesFromData(bytes, insecuresecretdataaccess.Token{}), id, parameters)
	if err != nil {
		return nil, 0, fmt.Errorf("build the key: %w", err)
	}
	return key, id, nil
}

func ofManager(m *keyset.Manager) (*Set, error) {
	h, err := m.Handle()
	if err != nil {
		return nil, fmt.Errorf("build the keyset: %w", err)
	}
	return ofHandle(h)
}

func ofHandle(h *keyset.Handle) (*Set, error) {
	cipher, err := aead.New(h)
	if err != nil {
		return nil, fmt.Errorf("build the cipher: %w", err)
	}
	s := &Set{handle: h, aead: cipher, ids: map[uint32]bool{}}
	for i := range h.Len() {
		e, err := h.Entry(i)
		if err != nil {
			return nil, fmt.Errorf("read the keyset: %w", err)
		}
		s.ids[e.KeyID()] = true
		if e.IsPrimary() {
			s.primary = e.KeyID()
		}
	}
	return s, nil
}

// Seal encrypts with the primary key. Open needs the same context: a ciphertext that is moved to another place cannot be opened there.
func (s *Set) Seal(plain []byte, context string) ([]byte, error) {
	out, err := s.aead.Encrypt(plain, []byte(context))
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	return out, nil
}

// Open decrypts. ErrUnknownKey means that the set lacks the key; any other error means that the ciphertext was changed or is of another
// context.
func (s *Set) Open(sealed []byte, context string) ([]byte, error) {
	id, err := keyID(sealed)
	if err != nil {
		return nil, err
	}
	if !s.ids[id] {
		return nil, fmt.Errorf("%w (its id is %08x)", ErrUnknownKey, id)
	}
	plain, err := s.aead.Decrypt(sealed, []byte(context))
	if err != nil {
		return nil, errors.New("the ciphertext was changed, or is of another context") // Tink's error says no more
	}
	return plain, nil
}

// Primary reports whether a value was encrypted with the primary key.
func (s *Set) Primary(sealed []byte) bool {
	id, err := keyID(sealed)
	return err == nil && id == s.primary
}

// PrimaryID is the id of the primary key, as a number in hexadecimal.
func (s *Set) PrimaryID() string { return fmt.Sprintf("%08x", s.primary) }

func keyID(sealed []byte) (uint32, error) {
	if len(sealed) < prefix || sealed[0] != version {
		return 0, errors.New("not a ciphertext of a keyset")
	}
	return binary.BigEndian.Uint32(sealed[1:prefix]), nil
}
