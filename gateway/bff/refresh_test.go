package bff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	loginv1 "github.com/windlass-dev/windlass/proto/gen/windlass/login/v1"
)

// shelf keeps one login as policy does.
type shelf struct {
	loginv1.LoginServiceClient
	mu       sync.Mutex
	sealed   []byte
	revision int64
	leased   time.Time
	// broken is the number of updates that fail.
	broken int
}

func (s *shelf) CreateLogin(_ context.Context, r *loginv1.CreateLoginRequest, _ ...grpc.CallOption) (*loginv1.CreateLoginResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed, s.revision = r.GetSealed(), 1
	return &loginv1.CreateLoginResponse{}, nil
}

func (s *shelf) GetLogin(context.Context, *loginv1.GetLoginRequest, ...grpc.CallOption) (*loginv1.Login, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed == nil {
		return nil, status.Error(codes.NotFound, "gone")
	}
	return &loginv1.Login{Sealed: s.sealed, Revision: s.revision}, nil
}

func (s *shelf) LeaseLogin(_ context.Context, r *loginv1.LeaseLoginRequest, _ ...grpc.CallOption) (*loginv1.LeaseLoginResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.GetRevision() != s.revision || time.Now().Before(s.leased) {
		return nil, status.Error(codes.Aborted, "leased")
	}
	s.leased = time.Now().Add(10 * time.Second) // as services/policy/login
	return &loginv1.LeaseLoginResponse{}, nil
}

func (s *shelf) UpdateLogin(_ context.Context, r *loginv1.UpdateLoginRequest, _ ...grpc.CallOption) (*loginv1.UpdateLoginResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken--; s.broken >= 0 {
		return nil, status.Error(codes.Unavailable, "policy is away")
	}
	if r.GetRevision() != s.revision {
		return nil, status.Error(codes.Aborted, "changed")
	}
	s.sealed, s.leased = r.GetSealed(), time.Time{}
	s.revision++
	return &loginv1.UpdateLoginResponse{}, nil
}

func (s *shelf) DeleteLogin(context.Context, *loginv1.DeleteLoginRequest, ...grpc.CallOption) (*loginv1.DeleteLoginResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = nil
	return &loginv1.DeleteLoginResponse{}, nil
}

// idp accepts each refresh token once.
type idp struct {
	t      *testing.T
	mu     sync.Mutex
	valid  int // the number of the refresh token that is valid
	asked  int
	reused bool
	// fails answers further requests to a path.
	fails map[string]func(*http.Request) (*http.Response, error)
}

func answer(status int, body string) (*http.Response, error) {
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

// RoundTrip implements http.RoundTripper.
func (i *idp) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	fail := i.fails[r.URL.Path]
	delete(i.fails, r.URL.Path)
	i.mu.Unlock()
	if fail != nil {
		return fail(r)
	}
	if r.URL.Path != "/token" {
		return answer(200, `{"issuer":"https://idp.example","token_endpoint":"https://idp.example/token",
			"authorization_endpoint":"https://idp.example/auth","jwks_uri":"https://idp.example/keys"}`)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked++
	if r.FormValue("refresh_token") != fmt.Sprint("refresh-", i.valid) {
		i.reused = true
		return answer(400, `{"error":"invalid_grant"}`)
	}
	i.valid++
	return answer(200, fmt.Sprintf(`{"access_token":"access-%d","refresh_token":"refresh-%d","token_type":"Bearer","expires_in":600}`,
		i.valid, i.valid))
}

func (i *idp) fail(path string, f func(*http.Request) (*http.Response, error)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fails = map[string]func(*http.Request) (*http.Response, error){path: f}
}

// gateways are two of one mesh, with a browser whose access token has expired.
type gateways struct {
	idp    *idp
	store  *shelf
	all    [2]*BFF
	cookie string
}

func newGateways(t *testing.T) *gateways {
	t.Helper()
	g := &gateways{idp: &idp{t: t}, store: &shelf{}}
	for n := range g.all {
		cfg := config.Default[Config]()
		cfg.Issuer, cfg.ClientID = "https://idp.example", "gateway"
		var err error
		g.all[n], err = New(cfg, Deps{
			URL: "https://mesh.example", Logins: g.store, Key: secret.New(strings.Repeat("k", 32)), Log: slog.New(slog.DiscardHandler),
			Client: &http.Client{Transport: g.idp},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	g.cookie, err = g.all[0].begin(t.Context(), tokens{Access: "access-0", Refresh: "refresh-0", Expires: time.Now(), Renew: time.Now()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// token makes a request of the browser at a gateway.
func (g *gateways) token(t *testing.T, gateway int) (string, error) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://mesh.example/v1/me", nil)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.AddCookie(&http.Cookie{Name: "__Host-windlass", Value: g.cookie})
	token, _, err := g.all[gateway].Token(r)
	return token, err
}

// Each end of a refresh that is no success gives its lease back: the next request tries again, at whichever gateway.
func TestAFailedRefreshIsTriedAgainByTheNextRequest(t *testing.T) {
	broken := func(status int, body string) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) { return answer(status, body) }
	}
	refused := func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }
	hangs := func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	for _, row := range []struct {
		name, path string
		fail       func(*http.Request) (*http.Response, error)
	}{
		{"503", "/token", broken(503, "later")},
		{"an error of the protocol that is not final", "/token", broken(400, `{"error":"temporarily_unavailable"}`)},
		{"429", "/token", broken(429, "")},
		{"connection refused", "/token", refused},
		{"no answer", "/token", hangs},
		{"an answer that cannot be read", "/token", broken(200, "<html>")},
		{"an answer without a token", "/token", broken(200, "{}")},
		{"discovery fails", "/.well-known/openid-configuration", broken(502, "")},
		{"discovery hangs", "/.well-known/openid-configuration", hangs},
	} {
		for other := range 2 {
			t.Run(fmt.Sprintf("%s/gateway %d is next", row.name, other), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := newGateways(t)
					g.idp.fail(row.path, row.fail)
					if _, err := g.token(t, 0); fault.From(err).Code != codes.Unavailable {
						t.Errorf("the first request: %v", err)
					}
					begin := time.Now()
					token, err := g.token(t, other)
					if err != nil || token != "access-1" || time.Since(begin) > 0 {
						t.Errorf("the next request after %v: %q, %v", time.Since(begin), token, err)
					}
					if g.idp.reused || g.idp.asked != 1 {
						t.Errorf("the issuer was asked %d times", g.idp.asked)
					}
				})
			})
		}
	}
}

// Another gateway waits for the one that refreshes, and takes its place when it fails or is killed.
func TestAGatewayTakesTheLeaseOfAnother(t *testing.T) {
	for _, row := range []struct {
		name string
		busy func(t *testing.T, g *gateways)
		most time.Duration
	}{
		{"that fails", func(t *testing.T, g *gateways) {
			g.idp.fail("/token", func(*http.Request) (*http.Response, error) {
				time.Sleep(3 * time.Second)
				return answer(503, "")
			})
			if _, err := g.token(t, 0); err == nil {
				t.Error("it did not fail")
			}
		}, 4 * time.Second},
		{"that was killed", func(t *testing.T, g *gateways) {
			if _, err := g.store.LeaseLogin(t.Context(), &loginv1.LeaseLoginRequest{Revision: 1}); err != nil {
				t.Error(err)
			}
		}, 11 * time.Second},
		{"that succeeds", func(t *testing.T, g *gateways) {
			if _, err := g.token(t, 0); err != nil {
				t.Error(err)
			}
		}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGateways(t)
				go row.busy(t, g)
				synctest.Wait()
				begin := time.Now()
				token, err := g.token(t, 1)
				if err != nil || token != "access-1" || time.Since(begin) > row.most {
					t.Errorf("after %v: %q, %v", time.Since(begin), token, err)
				}
				if g.idp.reused || g.idp.asked != 1 {
					t.Errorf("the issuer was asked %d times", g.idp.asked)
				}
			})
		})
	}
}

// Tokens that cannot be stored at once are not lost: the ones before must not be used again.
func TestReplacedRefreshTokensAreNotUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateways(t)
		g.store.broken = 20
		for n := range 3 {
			if token, err := g.token(t, n%2); err != nil || token != "access-1" {
				t.Errorf("request %d: %q, %v", n, token, err)
			}
		}
		if g.idp.reused || g.idp.asked != 1 {
			t.Errorf("the issuer was asked %d times", g.idp.asked)
		}
	})
}
