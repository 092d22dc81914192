package registry_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// bomb answers with 64 MiB in a few kilobytes.
func bomb(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	out := gzip.NewWriter(w)
	_, _ = io.CopyN(out, zeros{}, 64<<20)
	_ = out.Close()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestCredentialsOfAnAPI: each kind arrives where the API expects it, and its value is nowhere else.
func TestCredentialsOfAnAPI(t *testing.T) {
	t.Setenv("WINDLASS_TOOL_SECRET", "hunter2-hunter2")
	w, api := newWorld(t), newPetAPI(t)
	r := w.start(config())
	api.set(func() {
		api.answer = func(w http.ResponseWriter, r *http.Request) { // it repeats what it was given
			fmt.Fprintf(w, "%s|%s|%s", r.Header.Get("Authorization"), r.Header.Get("X-Key"), r.URL.RawQuery)
		}
	})
	const secret = "${env:WINDLASS_TOOL_SECRET}"
	for i, row := range []struct {
		auth    *registryv1.SourceAuth
		headers map[string]string
		want    string
	}{
		{&registryv1.SourceAuth{Kind: "api_key", In: "header", Name: "X-Key", Secret: secret}, nil, "|***|"},
		{&registryv1.SourceAuth{Kind: "api_key", In: "query", Name: "q", Secret: secret}, nil, "||q=***"},
		{&registryv1.SourceAuth{Kind: "basic", Username: "ann", Secret: secret}, nil, "Basic ***||"},
		{&registryv1.SourceAuth{Kind: "bearer", Secret: secret}, nil, "Bearer ***||"},
		{nil, map[string]string{"X-Key": secret}, "|***|"},
	} {
		name := fmt.Sprint("api", i)
		src := r.createAPI(&registryv1.Source{Name: name, Url: api.URL + "/openapi.json", Auth: row.auth, Headers: row.headers})
		if strings.Contains(src.String(), "hunter2") {
			t.Errorf("the source says its secret: %v", src)
		}
		if s := r.callAPI(name+"__getPet", `{"id":7}`); s.text() != row.want {
			t.Errorf("%v: got %q, want %q", row.auth, s.text(), row.want)
		}
	}
	// A parameter that is the credential is no argument.
	if s := r.callAPI("api1__getPet", `{"id":7,"q":"mine"}`); s.completed.GetCode() != "invalid_tool_arguments" {
		t.Errorf("the credential as argument: %+v", s)
	}
	for _, row := range []struct{ reference, want string }{
		{"${env:HOME}", "HOME may not be used here"},
		{"${env:WINDLASS_TOOL_ABSENT}", "has no variable WINDLASS_TOOL_ABSENT"},
	} {
		name := "x" + strings.ToLower(row.reference[len(row.reference)-4:len(row.reference)-1])
		src := r.createAPI(&registryv1.Source{
			Name: name, Url: api.URL + "/openapi.json", Auth: &registryv1.SourceAuth{Kind: "bearer", Secret: row.reference},
		})
		if !strings.Contains(src.GetLastError(), row.want) {
			t.Errorf("%s: %q", row.reference, src.GetLastError())
		}
	}
}

// issuer is a token endpoint.
type issuer struct {
	*httptest.Server
	mu     sync.Mutex
	issued int
	status int
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{status: http.StatusOK}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		user, password, ok := r.BasicAuth()
		if !ok || user != "client" || password != "hunter2-hunter2" || r.FormValue("scope") != "pets:read" || r.FormValue("audience") != "pets" {
			http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(i.status)
		if i.status != http.StatusOK {
			fmt.Fprintf(w, `{"error":"server_error","error_description":"no %s"}`, password)
			return
		}
		i.issued++
		fmt.Fprintf(w, `{"access_token":"token-number-%d","token_type":"bearer","expires_in":3600}`, i.issued)
	}))
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.issued
}

func TestAccessTokensOfAnAPI(t *testing.T) {
	t.Setenv("WINDLASS_TOOL_SECRET", "hunter2-hunter2")
	w, api, tokens := newWorld(t), newPetAPI(t), newIssuer(t)
	r := w.start(config())
	valid, challenge := "token-number-1", ""
	api.set(func() {
		api.answer = func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+valid {
				if challenge != "" {
					w.Header().Set("WWW-Authenticate", challenge)
				}
				http.Error(w, "who are you, "+r.Header.Get("Authorization"), http.StatusUnauthorized)
				return
			}
			fmt.Fprint(w, "welcome ", r.Header.Get("Authorization"))
		}
	})
	r.createAPI(&registryv1.Source{Name: "pets", Url: api.URL + "/openapi.json", Auth: &registryv1.SourceAuth{
		Kind: "oauth2_client_credentials", TokenUrl: tokens.URL, ClientId: "client", Secret: "${env:WINDLASS_TOOL_SECRET}",
		Scopes: []string{"pets:read"}, Audience: "pets",
	}})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if s := r.callAPI("pets__getPet", `{"id":7}`); s.text() != "welcome Bearer ***" {
				t.Errorf("called: %+v", s)
			}
		})
	}
	all.Wait()
	if n := tokens.count(); n != 1 {
		t.Errorf("%d tokens were requested for one source", n)
	}

	// The API forgets the token: a call that may be repeated is, with a new one; any other is not, but drops the token too.
	api.set(func() { valid = "token-number-2"; api.requests = nil })
	if s := r.callAPI("pets__getPet", `{"id":7}`); s.text() != "welcome Bearer ***" {
		t.Errorf("called with a token that was revoked: %+v", s)
	}
	api.set(func() { valid = "token-number-3"; api.requests = nil })
	s := r.callAPI("pets__addPet", `{"body":{}}`)
	if !s.completed.GetResult().GetIsError() || s.completed.GetCode() != "" || !strings.Contains(s.text(), "401 Unauthorized") ||
		strings.Contains(s.text(), "token-number") {
		t.Errorf("a call that must not be repeated: %+v", s)
	}
	api.set(func() {
		if len(api.requests) != 1 {
			t.Errorf("it was sent %d times", len(api.requests))
		}
	})
	if s := r.callAPI("pets__addPet", `{"body":{}}`); s.text() != "welcome Bearer ***" {
		t.Errorf("the next call: %+v", s)
	}

	// With a challenge it is certain that the call was not applied, so it is made with a new token.
	api.set(func() { valid, challenge = "token-number-4", `Bearer error="invalid_token"`; api.requests = nil })
	if s := r.callAPI("pets__addPet", `{"body":{}}`); s.text() != "welcome Bearer ***" {
		t.Errorf("a call that was certainly not applied: %+v", s)
	}
	api.set(func() {
		if len(api.requests) != 2 {
			t.Errorf("it was sent %d times", len(api.requests))
		}
		valid = "nothing"
		api.requests = nil
	})
	if s := r.callAPI("pets__addPet", `{"body":{}}`); !strings.Contains(s.text(), "401 Unauthorized") {
		t.Errorf("a call whose new token is refused too: %+v", s)
	}
	api.set(func() {
		if len(api.requests) != 2 {
			t.Errorf("it was sent %d times", len(api.requests))
		}
		challenge = ""
	})

	api.set(func() { valid = "nothing"; api.requests = nil })
	r.callAPI("pets__addPet", `{"body":{}}`)
	tokens.mu.Lock()
	tokens.status = http.StatusInternalServerError
	tokens.mu.Unlock()
	s = r.callAPI("pets__addPet", `{"body":{}}`)
	if s.completed.GetCode() != "tool_unavailable" ||
		!strings.Contains(s.text(), "the token endpoint gave no token: status 500 server_error no ***") {
		t.Errorf("no token: %s %q", s.completed.GetCode(), s.text())
	}
}
