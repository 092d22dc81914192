package keyset_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/keyset"
	"github.com/windlass-dev/windlass/libs/secret"
)

func of(letter string) secret.Value { return secret.New(strings.Repeat(letter, keyset.MinSecret)) }

func set(t testing.TB, purpose string, newest secret.Value, older ...secret.Value) *keyset.Set {
	t.Helper()
	s, err := keyset.Derive(purpose, newest, older...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOlderKeysOnlyOpen(t *testing.T) {
	first := set(t, "test", of("a"))
	sealed, err := first.Seal([]byte("hello"), "here")
	if err != nil || !first.Primary(sealed) {
		t.Fatalf("sealed: %v", err)
	}
	next := set(t, "test", of("b"), of("a"), of("b"))
	if plain, err := next.Open(sealed, "here"); err != nil || string(plain) != "hello" || next.Primary(sealed) {
		t.Errorf("opened with the older key: %q, %v", plain, err)
	}
	again, err := next.Seal([]byte("hello"), "here")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Open(again, "here"); !errors.Is(err, keyset.ErrUnknownKey) || !strings.Contains(err.Error(), next.PrimaryID()) {
		t.Errorf("opened without the key: %v", err)
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	s := set(t, "test", of("a"))
	sealed, err := s.Seal([]byte("hello"), "here")
	if err != nil {
		t.Fatal(err)
	}
	changed := append([]byte{}, sealed...)
	changed[len(changed)-1] ^= 1
	for name, row := range map[string]struct {
		set     *keyset.Set
		sealed  []byte
		context string
	}{
		"another context": {s, sealed, "there"},
		"another purpose": {set(t, "other", of("a")), sealed, "here"},
		"changed":         {s, changed, "here"},
		"shortened":       {s, sealed[:12], "here"},
		"empty":           {s, nil, "here"},
		"in clear":        {s, []byte("hello, world"), "here"},
	} {
		if plain, err := row.set.Open(row.sealed, row.context); err == nil {
			t.Errorf("%s: opened %q", name, plain)
		}
	}
}

func TestShortSecretsAreRefused(t *testing.T) {
	if _, err := keyset.Derive("test", secret.New("short")); err == nil || strings.Contains(err.Error(), "short ") {
		t.Errorf("got %v", err)
	}
	if _, err := keyset.Derive("test", of("a"), secret.Value{}); err == nil {
		t.Error("an empty older secret was taken")
	}
}
