package credential_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// world is a keeper with a token endpoint.
type world struct {
	*credential.Keeper
	owner  credential.Owner
	issued atomic.Int32
	life   atomic.Int32 // of a token, in seconds
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Setenv("TOOL_SECRET", "hunter2-hunter2")
	out, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Keeper: credential.New(credential.Config{Env: envref.Config{Allow: []string{"TOOL_*"}}, Timeout: 5 * time.Second}, out)}
	w.life.Store(3600)
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(rw, `{"access_token":"token-%d","expires_in":%d}`, w.issued.Add(1), w.life.Load())
	}))
	t.Cleanup(func() { out.CloseIdle(); srv.Close() })
	w.owner = credential.Owner{ID: "a", Version: "1", Title: `source "a"`, Path: "source", Auth: &credential.Auth{
		Kind: credential.ClientCredentials, TokenURL: srv.URL, ClientID: "c", Secret: "${env:TOOL_SECRET}",
	}}
	return w
}

// request returns a request with the credentials of the owner.
func (w *world) request(t *testing.T) (*credential.Set, *http.Request) {
	t.Helper()
	set, err := w.For(w.owner)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://api.test/", nil)
	if err := set.Authorize(r); err != nil {
		t.Fatal(err)
	}
	return set, r
}

func TestATokenIsUsedUntilItIsRefusedOrExpires(t *testing.T) {
	w := newWorld(t)
	set, first := w.request(t)
	_, second := w.request(t)
	if got := second.Header.Get("Authorization"); got != "Bearer token-1" {
		t.Errorf("the second request has %q", got)
	}
	if !set.Refused(first) {
		t.Error("another attempt would not have a new token")
	}
	if _, r := w.request(t); r.Header.Get("Authorization") != "Bearer token-2" {
		t.Errorf("after the refusal: %q", r.Header.Get("Authorization"))
	}
	// The refusal of the old token arrives again, from a request that ran in parallel: the new one stays.
	set.Refused(second)
	if _, r := w.request(t); r.Header.Get("Authorization") != "Bearer token-2" {
		t.Errorf("after a late refusal: %q", r.Header.Get("Authorization"))
	}
	if got := set.Hide("old token-1, new token-2, hunter2-hunter2"); got != "old ***, new ***, ***" {
		t.Errorf("hidden: %q", got)
	}

	w.life.Store(20) // less than the time that clocks may differ
	w.Forget(w.owner.ID)
	w.request(t)
	if _, r := w.request(t); r.Header.Get("Authorization") != "Bearer token-4" {
		t.Errorf("a token that expires soon is used: %q", r.Header.Get("Authorization"))
	}
}

func TestAChangedClientGetsATokenOfItsOwn(t *testing.T) {
	w := newWorld(t)
	w.request(t)
	for name, change := range map[string]func(){
		"version":  func() { w.owner.Version = "2" },
		"scopes":   func() { w.owner.Auth.Scopes = []string{"a b"} },
		"audience": func() { w.owner.Auth.Audience = "x" },
		"secret":   func() { w.owner.Auth.Secret += "2" },
	} {
		before := w.issued.Load()
		change()
		w.request(t)
		if w.issued.Load() != before+1 {
			t.Errorf("another %s uses the token of before", name)
		}
	}
}

func TestOtherCredentialsAreNotRenewed(t *testing.T) {
	w := newWorld(t)
	w.owner.Auth = &credential.Auth{Kind: credential.Bearer, Secret: "${env:TOOL_SECRET}"}
	set, r := w.request(t)
	if r.Header.Get("Authorization") != "Bearer hunter2-hunter2" || set.Refused(r) {
		t.Errorf("got %q; Refused: %t", r.Header.Get("Authorization"), set.Refused(r))
	}
}

func TestReferencesThatCannotBeResolved(t *testing.T) {
	w := newWorld(t)
	for reference, want := range map[string]string{
		"${env:HOME}": "HOME may not be used here", "${env:TOOL_ABSENT}": "has no variable TOOL_ABSENT", "a\nb": "a header cannot hold",
	} {
		w.owner.Auth.Secret = reference
		if _, err := w.For(w.owner); err == nil || !strings.Contains(err.Error(), `source "a": source.auth.secret: `) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", reference, err)
		}
	}
}

func TestOrigins(t *testing.T) {
	for address, want := range map[string]string{
		"https://API.test/x": "https://api.test:443", "http://api.test:8080/": "http://api.test:8080", "/x": "", "::": "",
	} {
		if got := credential.Origin(address); got != want {
			t.Errorf("%q: got %q, want %q", address, got, want)
		}
	}
}
