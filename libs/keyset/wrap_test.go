package keyset_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/windlass-dev/windlass/libs/keyset"
)

func TestWrappedSetsOpenWithTheirMasterOnly(t *testing.T) {
	s, err := keyset.Generate()
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := s.Seal([]byte("hello"), "here")
	if err != nil {
		t.Fatal(err)
	}
	wrapped, err := s.Wrap(set(t, "master", of("m")), "a database")
	if err != nil {
		t.Fatal(err)
	}
	back, err := keyset.Unwrap(wrapped, set(t, "master", of("n"), of("m")), "a database")
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := back.Open(sealed, "here"); err != nil || string(plain) != "hello" {
		t.Errorf("opened %q, %v", plain, err)
	}
	if _, err := keyset.Unwrap(wrapped, set(t, "master", of("n")), "a database"); err == nil {
		t.Error("unwrapped with another master")
	}
	if _, err := keyset.Unwrap(wrapped, set(t, "master", of("m")), "another database"); err == nil {
		t.Error("unwrapped in another place")
	}
	if _, err := keyset.Unwrap(bytes.Repeat([]byte{1}, 64), set(t, "master", of("m")), "a database"); err == nil {
		t.Error("unwrapped noise")
	}
}

func TestRotation(t *testing.T) {
	first, err := keyset.Generate()
	if err != nil {
		t.Fatal(err)
	}
	old, err := first.Seal([]byte("old"), "")
	if err != nil {
		t.Fatal(err)
	}
	second, err := first.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := second.Seal([]byte("new"), "")
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := second.Open(old, ""); err != nil || string(plain) != "old" || second.Primary(old) || !second.Primary(fresh) {
		t.Errorf("after the rotation: %q, %v", plain, err)
	}
	if _, err := first.Open(fresh, ""); !errors.Is(err, keyset.ErrUnknownKey) {
		t.Errorf("the first set opened what the second sealed: %v", err)
	}
	only, err := second.OnlyPrimary()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := only.Open(old, ""); !errors.Is(err, keyset.ErrUnknownKey) {
		t.Errorf("a removed key opened: %v", err)
	}
	if plain, err := only.Open(fresh, ""); err != nil || string(plain) != "new" || only.PrimaryID() != second.PrimaryID() {
		t.Errorf("the kept key opened %q, %v", plain, err)
	}
}
