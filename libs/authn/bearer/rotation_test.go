package bearer_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authn/bearertest"
)

func TestS2ANewKeyIsAcceptedWithinAMinute(t *testing.T) {
	idp := bearertest.New(t)
	v, now := newVerifier(t, idp.Config())
	old := idp.Token("alice")
	if _, err := v.Verify(t.Context(), old, ""); err != nil {
		t.Fatal(err)
	}
	idp.Rotate()
	now.advance(31 * time.Second)
	if _, err := v.Verify(t.Context(), idp.Token("alice"), ""); err != nil {
		t.Errorf("a token with the new key: %v", err)
	}
	if _, err := v.Verify(t.Context(), old, ""); err != nil {
		t.Errorf("a token with the old key, which is still published: %v", err)
	}
}

func TestS2ANewKeyIsAcceptedDuringAFlood(t *testing.T) {
	idp := bearertest.New(t)
	v, now := newVerifier(t, idp.Config())
	if _, err := v.Verify(t.Context(), idp.Token("alice"), ""); err != nil {
		t.Fatal(err)
	}
	flood := func() {
		for n := range 20 {
			_, _ = v.Verify(t.Context(), unknownKey(t, idp, n), "")
		}
	}
	now.advance(31 * time.Second)
	flood() // spends the fetch of this half minute
	idp.Rotate()
	token, waited := idp.Token("alice"), time.Duration(0)
	for waited <= time.Minute {
		if _, err := v.Verify(t.Context(), token, ""); err == nil {
			return
		}
		flood()
		now.advance(5 * time.Second)
		waited += 5 * time.Second
	}
	t.Error("the new key was not accepted within a minute")
}

func TestS2AWithdrawnKeyStopsWorking(t *testing.T) {
	idp := bearertest.New(t)
	v, now := newVerifier(t, idp.Config())
	stolen := idp.Token("alice", jwt.MapClaims{"exp": now.time().Add(time.Hour).Unix()})
	if _, err := v.Verify(t.Context(), stolen, ""); err != nil {
		t.Fatal(err)
	}
	idp.Withdraw()
	idp.Rotate()
	now.advance(6 * time.Minute)
	_, _ = v.Verify(t.Context(), stolen, "") // known keys are fetched behind the call
	if _, err := v.Verify(t.Context(), idp.Token("bob"), ""); err != nil {
		t.Fatalf("a token with the new key, after the fetch: %v", err)
	}
	now.advance(61 * time.Second)
	if _, err := v.Verify(t.Context(), stolen, ""); !errors.Is(err, authn.ErrToken) {
		t.Errorf("a token with a key that was withdrawn: %v", err)
	}
}

func TestS2KnownKeysWorkWhileTheIssuerIsDown(t *testing.T) {
	idp := bearertest.New(t)
	v, now := newVerifier(t, idp.Config())
	long := jwt.MapClaims{"exp": now.time().Add(48 * time.Hour).Unix()}
	if _, err := v.Verify(t.Context(), idp.Token("alice", long), ""); err != nil {
		t.Fatal(err)
	}
	idp.SetDown(true)
	for range 20 {
		now.advance(time.Hour)
		if _, err := v.Verify(t.Context(), idp.Token("alice", long), ""); err != nil {
			t.Fatalf("a key that was known before: %v", err)
		}
	}
	now.advance(5 * time.Hour)
	if _, err := v.Verify(t.Context(), idp.Token("alice", long), ""); err == nil || errors.Is(err, authn.ErrToken) {
		t.Errorf("a key that could not be checked for a day: %v, want that tokens cannot be verified now", err)
	}
	idp.SetDown(false)
	now.advance(time.Minute)
	if _, err := v.Verify(t.Context(), idp.Token("alice", long), ""); err != nil {
		t.Errorf("the issuer is back: %v", err)
	}
}

func TestS2AnIssuerThatIsDownAtFirst(t *testing.T) {
	idp := bearertest.New(t)
	idp.SetDown(true)
	v, now := newVerifier(t, idp.Config())
	token := idp.Token("alice")
	if _, err := v.Verify(t.Context(), token, ""); err == nil || errors.Is(err, authn.ErrToken) {
		t.Errorf("err = %v, want that tokens cannot be verified now", err)
	}
	idp.SetDown(false)
	now.advance(6 * time.Second)
	if _, err := v.Verify(t.Context(), token, ""); err != nil {
		t.Errorf("the issuer is there: %v", err)
	}
}

func TestS2AFloodOfUnknownKeysFetchesOnce(t *testing.T) {
	idp := bearertest.New(t)
	v, now := newVerifier(t, idp.Config())
	good := idp.Token("alice")
	if _, err := v.Verify(t.Context(), good, ""); err != nil {
		t.Fatal(err)
	}
	before := idp.Fetches()
	now.advance(31 * time.Second)
	for range 2 {
		var all sync.WaitGroup
		for n := range 200 {
			token := unknownKey(t, idp, n)
			all.Go(func() {
				if _, err := v.Verify(t.Context(), token, ""); !errors.Is(err, authn.ErrToken) {
					t.Errorf("err = %v, want ErrToken", err)
				}
			})
		}
		all.Wait()
		if _, err := v.Verify(t.Context(), good, ""); err != nil {
			t.Errorf("a valid token meanwhile: %v", err)
		}
	}
	if n := idp.Fetches() - before; n != 1 {
		t.Errorf("400 tokens with unknown keys fetched %d times within 30 s, want once", n)
	}
}

func unknownKey(t *testing.T, idp *bearertest.Issuer, n int) string {
	t.Helper()
	return bearertest.Sign(t, jwt.SigningMethodHS256, []byte("x"), idp.Claims("mallory"), map[string]any{
		"alg": "RS256", "kid": fmt.Sprintf("unknown-%d", n),
	})
}
