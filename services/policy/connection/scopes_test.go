package connection_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/challenge"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/policy/connection"
)

// short is a call that the source has refused for the scopes of the token of a version.
func short(w *world, version uint32, scopes ...string) connection.Wanted {
	want := wanted(w, "dev:alice")
	want.Insufficient, want.Scopes = version, scopes
	return want
}

func wantScopes(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: scopes %q, want %q", what, got, want)
	}
}

// wantRefused wants the fault of a call that no consent helps.
func wantRefused(t *testing.T, err error, text string) {
	t.Helper()
	if fault.CodeOf(err) != "failed_precondition" || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want %q", err, text)
	}
}

func stepUp(t *testing.T, w *world) {
	connect(t, w, "dev:alice")
	wantScopes(t, "at first", begin(t, w, "dev:alice").attempt.Login.Scopes, "read", "write")

	_, err := w.a.Token(t.Context(), short(w, 1, "write", "delete"))
	f := fault.From(err)
	if fault.CodeOf(err) != "authorization_required" || f.Details["kind"] != "connection" || f.Details["scopes"] != "write delete" ||
		!strings.Contains(f.Details["connect_url"], "/connect?source=step-up") || !strings.Contains(f.Message, "write delete") {
		t.Errorf("the call: %v with %v", err, f.Details)
	}
	if got := token(t, w.b, wanted(w, "dev:alice")); got.Version != 1 { // calls that do with less go on
		t.Errorf("another call gets version %d", got.Version)
	}
	wantScopes(t, "bob's", begin(t, w, "dev:bob").attempt.Login.Scopes, "read", "write")
	wantScopes(t, "the next attempt", begin(t, w, "dev:alice").attempt.Login.Scopes, "read", "write", "delete")

	connect(t, w, "dev:alice")
	if got := token(t, w.b, short(w, 1, "delete")); got.Version != 2 { // a call with the old token: there is another one by now
		t.Errorf("after the consent: version %d", got.Version)
	}
	have, err := w.a.Get(t.Context(), "default", "dev:alice", "step-up")
	if err != nil {
		t.Fatal(err)
	}
	wantScopes(t, "granted", have.Scopes, "read", "write", "delete")

	// A source that refuses a login with all that it wants is not believed again.
	_, err = w.a.Token(t.Context(), short(w, 2, "delete"))
	wantRefused(t, err, "although your login has the scopes")
	_, err = w.a.Token(t.Context(), short(w, 2))
	wantRefused(t, err, "does not say which ones")
	_, err = w.a.Token(t.Context(), short(w, 2, "\x00", `a"b`))
	wantRefused(t, err, "does not say which ones")

	// It may want more, step by step, but not without an end.
	for i := range 2 * challenge.MaxScopes {
		_, err := w.a.Token(t.Context(), short(w, 2, fmt.Sprint("more-", i)))
		if fault.CodeOf(err) != "authorization_required" {
			t.Fatalf("scope %d: %v", i, err)
		}
	}
	if n := len(begin(t, w, "dev:alice").attempt.Login.Scopes); n > challenge.MaxScopes+3 {
		t.Errorf("%d scopes are requested", n)
	}

	// At another authorization server what was granted here means nothing.
	w.login.Stored.AuthorizationURL, w.login.Stored.TokenURL = w.idp.URL+"/other", w.idp.URL+"/token"
	wantScopes(t, "at another server", begin(t, w, "dev:alice").attempt.Login.Scopes,
		"read", "write", fmt.Sprint("more-", 2*challenge.MaxScopes-1))
}

func withheld(t *testing.T, w *world) {
	w.idp.Withheld = "delete"
	connect(t, w, "dev:alice")
	if _, err := w.a.Token(t.Context(), short(w, 1, "delete")); fault.CodeOf(err) != "authorization_required" {
		t.Fatalf("the call: %v", err)
	}
	connect(t, w, "dev:alice")
	_, err := w.a.Token(t.Context(), short(w, 2, "delete"))
	wantRefused(t, err, "did not grant you: delete")
	wantScopes(t, "an attempt that the user begins again", begin(t, w, "dev:alice").attempt.Login.Scopes, "read", "write", "delete")
}
