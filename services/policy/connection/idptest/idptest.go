// Package idptest is a strict authorization server for tests. It issues a code for each authorization request that a test approves, rotates
// refresh tokens, and ends a login whose refresh token is used twice.
package idptest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Server is an authorization server. Its fields may be changed before requests are made.
type Server struct {
	*httptest.Server
	// ExpiresIn is the lifetime of access tokens in seconds.
	ExpiresIn int
	// NoRefresh leaves refresh tokens out.
	NoRefresh bool
	// Iss is what responses name as issuer; empty = they name none.
	Iss string
	// Withheld is a scope that is not granted.
	Withheld string
	// TakesDocuments lets clients be identified by the address of a document about them.
	TakesDocuments bool
	// TokenGate is called in each request for a token; nil = not.
	TokenGate func()

	mu      sync.Mutex
	n       int
	codes   map[string]grant
	refresh map[string]*login
	access  map[string]*login
	clients map[string]string // redirect by client
	tokens  int               // requests for tokens
	revoked []string
	seen    []string // all secrets that were issued
}

type grant struct{ user, client, redirect, challenge, resource, scope string }

type login struct {
	grant
	live    string // refresh token that is valid
	over    bool
	resurge int // how often a used one came back
}

// New starts a server with one client, "mesh", that may redirect to a URI.
func New(t *testing.T, redirect string) *Server {
	t.Helper()
	s := &Server{
		ExpiresIn: 600, codes: map[string]grant{}, refresh: map[string]*login{}, access: map[string]*login{},
		clients: map[string]string{"mesh": redirect},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", s.metadata)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("POST /revoke", s.revoke)
	mux.HandleFunc("POST /register", s.register)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *Server) secret(kind string) string {
	s.n++
	text := fmt.Sprintf("canary-%s-%d-%x", kind, s.n, sha256.Sum256([]byte(fmt.Sprint(kind, s.n))))
	s.seen = append(s.seen, text)
	return text
}

// Secrets are all tokens and codes that were issued.
func (s *Server) Secrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.seen...)
}

// TokenRequests is how many requests for tokens came.
func (s *Server) TokenRequests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens
}

// Revoked are the tokens that were revoked.
func (s *Server) Revoked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.revoked...)
}

// Reused is how often a refresh token was used after it had been replaced.
func (s *Server) Reused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, l := range s.refresh {
		n = max(n, l.resurge)
	}
	return n
}

// End ends all logins of a user.
func (s *Server) End(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.refresh {
		l.over = l.over || l.user == user
	}
	for _, l := range s.access {
		l.over = l.over || l.user == user
	}
}

// UserOf returns the user of a request's valid access token; empty if it has none.
func (s *Server) UserOf(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.access[token]; l != nil && !l.over {
		return l.user
	}
	return ""
}

// Expire makes all access tokens of a user invalid.
func (s *Server) Expire(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for token, l := range s.access {
		if l.user == user {
			delete(s.access, token)
		}
	}
}

// Forget forgets the clients that registered themselves.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.clients, func(id, _ string) bool { return strings.HasPrefix(id, "registered-") })
}

// Approve logs a user in at an authorization URL, and returns the parameters of the response.
func (s *Server) Approve(t *testing.T, authorize, user string) url.Values {
	t.Helper()
	u, err := url.Parse(authorize)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	redirect, known := s.clients[q.Get("client_id")]
	switch {
	case !known || q.Get("redirect_uri") != redirect:
		t.Fatalf("client %q may not redirect to %q", q.Get("client_id"), q.Get("redirect_uri"))
	case q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43:
		t.Fatalf("not an authorization request with PKCE: %s", u.RawQuery)
	case len(q.Get("state")) < 43:
		t.Fatalf("state %q can be guessed", q.Get("state"))
	}
	code := s.secret("code")
	scope := slices.DeleteFunc(strings.Fields(q.Get("scope")), func(scope string) bool { return scope == s.Withheld })
	s.codes[code] = grant{user, q.Get("client_id"), redirect, q.Get("code_challenge"), q.Get("resource"), strings.Join(scope, " ")}
	out := url.Values{"code": {code}, "state": {q.Get("state")}}
	if s.Iss != "" {
		out.Set("iss", s.Iss)
	}
	return out
}

func (s *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, map[string]any{
		"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
		"revocation_endpoint": s.URL + "/revoke", "registration_endpoint": s.URL + "/register",
		"code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": s.Iss != "",
		"client_id_metadata_document_supported": s.TakesDocuments,
	})
}

func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	var m struct {
		Redirects []string `json:"redirect_uris"`
	}
	if json.NewDecoder(r.Body).Decode(&m) != nil || len(m.Redirects) != 1 {
		write(w, http.StatusBadRequest, map[string]any{"error": "invalid_redirect_uri"})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	id := fmt.Sprint("registered-", s.n)
	s.clients[id] = m.Redirects[0]
	write(w, http.StatusCreated, map[string]any{"client_id": id, "token_endpoint_auth_method": "none"})
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	if s.TokenGate != nil {
		s.TokenGate()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens++
	if _, known := s.clients[r.PostFormValue("client_id")]; !known && !s.TakesDocuments {
		write(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	var l *login
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		code := r.PostFormValue("code")
		g, ok := s.codes[code]
		delete(s.codes, code)
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if !ok || g.client != r.PostFormValue("client_id") || g.redirect != r.PostFormValue("redirect_uri") ||
			g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) || g.resource != r.PostFormValue("resource") {
			write(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": "code " + code + " is not valid"})
			return
		}
		l = &login{grant: g}
	case "refresh_token":
		token := r.PostFormValue("refresh_token")
		l = s.refresh[token]
		if l == nil || l.over || l.live != token || l.client != r.PostFormValue("client_id") {
			if l != nil {
				l.over = true
				l.resurge++
			}
			write(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
			return
		}
	default:
		write(w, http.StatusBadRequest, map[string]any{"error": "unsupported_grant_type"})
		return
	}
	out := map[string]any{"access_token": s.secret("access"), "token_type": "Bearer", "expires_in": s.ExpiresIn, "scope": l.scope}
	s.access[out["access_token"].(string)] = l
	if !s.NoRefresh {
		l.live = s.secret("refresh")
		s.refresh[l.live] = l
		out["refresh_token"] = l.live
	}
	write(w, http.StatusOK, out)
}

func (s *Server) revoke(_ http.ResponseWriter, r *http.Request) {
	token := r.PostFormValue("token")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = append(s.revoked, token)
	for _, l := range []*login{s.refresh[token], s.access[token]} {
		if l != nil {
			l.over = true
		}
	}
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
