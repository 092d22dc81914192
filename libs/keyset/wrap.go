package keyset

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
)

// Master encrypts keysets for storage. A Set is one; a key in a key management service can be another.
type Master interface {
	// Seal encrypts. Open needs the same context.
	Seal(plain []byte, context string) ([]byte, error)
	// Open decrypts what Seal encrypted.
	Open(sealed []byte, context string) ([]byte, error)
}

var _ Master = (*Set)(nil)

// ErrAway means that a Master could not be asked, for example because its key management service does not answer: a later call may succeed.
var ErrAway = errors.New("the master key cannot be used now")

// Generate returns a set of one random key.
func Generate() (*Set, error) {
	h, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("generate a keyset: %w", err)
	}
	return ofHandle(h)
}

// Rotate returns a set with one more random key, which is its primary one.
func (s *Set) Rotate() (*Set, error) {
	m := keyset.NewManagerFromHandle(s.handle)
	id, err := m.Add(aead.AES256GCMKeyTemplate())
	if err == nil {
		err = m.SetPrimary(id)
	}
	if err != nil {
		return nil, fmt.Errorf("add a key: %w", err)
	}
	return ofManager(m)
}

// OnlyPrimary returns a set of the primary key alone.
func (s *Set) OnlyPrimary() (*Set, error) {
	m := keyset.NewManagerFromHandle(s.handle)
	for id := range s.ids {
		if id == s.primary {
			continue
		}
		if err := m.Delete(id); err != nil {
			return nil, fmt.Errorf("remove a key: %w", err)
		}
	}
	return ofManager(m)
}

// Wrap encrypts the set itself, for storage.
func (s *Set) Wrap(m Master, context string) ([]byte, error) {
	var out bytes.Buffer
	with := &master{Master: m}
	err := s.handle.WriteWithAssociatedData(keyset.NewBinaryWriter(&out), with, []byte(context))
	if with.away != nil {
		return nil, with.away
	}
	if err != nil {
		return nil, fmt.Errorf("encrypt a keyset: %w", err)
	}
	return out.Bytes(), nil
}

// Unwrap decrypts a wrapped set. ErrAway means that the master could not be asked.
func Unwrap(wrapped []byte, m Master, context string) (*Set, error) {
	with := &master{Master: m}
	h, err := keyset.ReadWithAssociatedData(keyset.NewBinaryReader(bytes.NewReader(wrapped)), with, []byte(context))
	if with.away != nil {
		return nil, with.away
	}
	if err != nil {
		return nil, errors.New("the master key does not decrypt the keyset") // the cause may quote what it decrypted
	}
	return ofHandle(h)
}

// master is a Master as Tink wants it. Tink's errors do not wrap those of the master.
type master struct {
	Master
	away error
}

func (m *master) Encrypt(plain, context []byte) ([]byte, error) {
	out, err := m.Seal(plain, string(context))
	if errors.Is(err, ErrAway) {
		m.away = err
	}
	return out, err
}

func (m *master) Decrypt(sealed, context []byte) ([]byte, error) {
	out, err := m.Open(sealed, string(context))
	if errors.Is(err, ErrAway) {
		m.away = err
	}
	return out, err
}
