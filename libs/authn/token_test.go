package authn

import (
	"bytes"
	"errors"
	"testing"
	"time"
)

func TestKeyring(t *testing.T) {
	ring, err := NewKeyring(NewKey())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	ring.now = func() time.Time { return now }
	token, err := ring.Sign(User("alice", "admin"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := ring.Verify(token)
	if err != nil || p.GetSubject() != "alice" || p.GetTenant() != DefaultTenant {
		t.Fatalf("Verify = %v, %v", p, err)
	}
	if again, _ := ring.Sign(User("alice", "admin")); again != token {
		t.Error("the same principal should get the cached token")
	}

	other, err := NewKeyring(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{"empty": "", "garbage": "a.b.c", "cut": token[:len(token)-3]} {
		if _, err := ring.Verify(bad); !errors.Is(err, ErrToken) {
			t.Errorf("%s token: err = %v, want ErrToken", name, err)
		}
	}
	if _, err := other.Verify(token); !errors.Is(err, ErrToken) {
		t.Errorf("a foreign key must not verify: %v", err)
	}
	now = now.Add(lifetime + time.Minute)
	if _, err := ring.Verify(token); !errors.Is(err, ErrToken) {
		t.Errorf("an old token must not verify, also from the cache: %v", err)
	}
	if fresh, _ := ring.Sign(User("alice", "admin")); fresh == token {
		t.Error("an old token must not be given out")
	}
	if _, err := NewKeyring([]byte("short")); err == nil {
		t.Error("a short key must be refused")
	}
}
