// Package seal encrypts secrets for storage, under a key that is not stored beside them.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/libs/secret"
)

const (
	// MinKey is the minimum length of a key in bytes.
	MinKey = 32

	version = 1
	idLen   = 4
	header  = 1 + idLen
)

// ErrOtherKey means that a value was sealed with a key that the box does not have.
var ErrOtherKey = errors.New("sealed with another key")

// Box seals with one key, and opens with that and older keys. It is safe for concurrent use.
type Box struct {
	newest *lock
	locks  []*lock
}

// lock holds what is derived from one key.
type lock struct {
	aead cipher.AEAD
	id   []byte
}

// New returns a box for keys of at least MinKey bytes each. The newest one seals; older ones only open.
func New(newest secret.Value, older ...secret.Value) (*Box, error) {
	first, err := newLock(newest)
	if err != nil {
		return nil, err
	}
	b := &Box{newest: first, locks: []*lock{first}}
	for i, key := range older {
		l, err := newLock(key)
		if err != nil {
			return nil, fmt.Errorf("older key %d: %w", i+1, err)
		}
		b.locks = append(b.locks, l)
	}
	return b, nil
}

func newLock(key secret.Value) (*lock, error) {
	raw := []byte(key.Reveal())
	if len(raw) < MinKey {
		return nil, fmt.Errorf("the key has %d bytes; at least %d are needed", len(raw), MinKey)
	}
	// Separate outputs, so that the id in clear text reveals nothing about the key.
	derived, err := hkdf.Key(sha256.New, raw, nil, "windlass seal v1", 32)
	if err != nil {
		return nil, fmt.Errorf("derive the key: %w", err)
	}
	id, err := hkdf.Key(sha256.New, raw, nil, "windlass seal v1 id", idLen)
	if err != nil {
		return nil, fmt.Errorf("derive the key's id: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("build the cipher: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("build the cipher: %w", err)
	}
	return &lock{aead: aead, id: id}, nil
}

// Seal encrypts a secret for its owner: only Open with the same owner decrypts it, so that a sealed secret copied to another row cannot be
// opened. Sealing the same secret twice gives different results.
func (b *Box) Seal(s secret.Value, owner string) []byte {
	out := append([]byte{version}, b.newest.id...)
	return b.newest.aead.Seal(out, nil, []byte(s.Reveal()), []byte(owner)) //nolint:gosec // the AEAD makes the nonce
}

// Newest reports whether a value was sealed with the newest key.
func (b *Box) Newest(sealed []byte) bool {
	return len(sealed) >= header && sealed[0] == version && bytes.Equal(sealed[1:header], b.newest.id)
}

// Open returns the secret that was sealed for owner. ErrOtherKey means that the box lacks the key; any other error means that the value was
// modified or belongs to another owner.
func (b *Box) Open(sealed []byte, owner string) (secret.Value, error) {
	if len(sealed) < header || sealed[0] != version {
		return secret.Value{}, errors.New("not a sealed secret")
	}
	at := slices.IndexFunc(b.locks, func(l *lock) bool { return bytes.Equal(sealed[1:header], l.id) })
	if at < 0 {
		return secret.Value{}, ErrOtherKey
	}
	plain, err := b.locks[at].aead.Open(nil, nil, sealed[header:], []byte(owner))
	if err != nil {
		return secret.Value{}, errors.New("the sealed secret was changed, or belongs to another owner")
	}
	return secret.New(string(plain)), nil
}
