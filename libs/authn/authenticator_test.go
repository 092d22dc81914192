package authn_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/peercred"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// prefixed accepts every token with its prefix, unless it has an error.
type prefixed struct {
	prefix string
	err    error
}

func (p prefixed) Recognizes(token string) bool { return strings.HasPrefix(token, p.prefix) }

func (p prefixed) Verify(context.Context, string, string) (*policyv1.Principal, error) {
	return authn.User(p.prefix), p.err
}

func TestAuthenticate(t *testing.T) {
	a := authn.NewAuthenticator([]authn.TokenVerifier{
		prefixed{prefix: "a"}, prefixed{prefix: "ab"}, prefixed{"bad", authn.ErrToken}, prefixed{"b", errors.New("issuer down")},
	}, []authn.PeerVerifier{authn.Loopback{}})
	here := authn.Peer{Remote: &net.TCPAddr{IP: net.IPv6loopback, Port: 1}, Host: "localhost:1", User: peercred.Same}
	with := func(values ...string) authn.Credentials { return authn.Credentials{Authorization: values, Peer: here} }
	for _, row := range []struct {
		name          string
		c             authn.Credentials
		subject, code string
	}{
		{name: "no token, on this machine", c: with(), subject: "local"},
		{name: "a token", c: with("Bearer abc"), subject: "a"},
		{name: "a scheme in lower case", c: with("bearer  abc "), subject: "a"},
		{name: "a refused token, on this machine", c: with("Bearer bad"), code: "unauthenticated"},
		{name: "an issuer that cannot be asked", c: with("Bearer b"), code: "unavailable"},
		{name: "a key for the sake of a program, on this machine", c: with("Bearer x"), subject: "local"},
		{name: "the key of such a program", c: with("Bearer sk-proj_0123456789"), subject: "local"},
		{name: "a JWT that no verifier knows", c: with("Bearer x.y.z"), code: "unauthenticated"},
		{name: "two words", c: with("Bearer x y"), code: "unauthenticated"},
		{name: "a long text", c: with("Bearer " + strings.Repeat("x", 300)), code: "unauthenticated"},
		{name: "the same from elsewhere", c: authn.Credentials{Authorization: []string{"Bearer x"}}, code: "unauthenticated"},
		{name: "an empty token", c: with("Bearer "), code: "unauthenticated"},
		{name: "an empty header", c: with(""), code: "unauthenticated"},
		{name: "a password", c: with("Basic abc"), code: "unauthenticated"},
		{name: "two tokens", c: with("Bearer abc", "Bearer abc"), code: "unauthenticated"},
		{name: "a huge token", c: with("Bearer a" + strings.Repeat("b", 16<<10)), code: "unauthenticated"},
		{name: "an unknown connection", c: authn.Credentials{}, code: "unauthenticated"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := a.Authenticate(t.Context(), row.c)
			if p.GetSubject() != row.subject || fault.CodeOf(err) != row.code {
				t.Errorf("got %v, %v", p, err)
			}
			if _, err := (*authn.Authenticator)(nil).Authenticate(t.Context(), row.c); fault.CodeOf(err) != "unauthenticated" {
				t.Errorf("without an authenticator: %v", err)
			}
		})
	}
}

func TestRefusalsSayNothingAboutTheToken(t *testing.T) {
	a := authn.NewAuthenticator([]authn.TokenVerifier{prefixed{"bad", authn.ErrToken}}, nil)
	texts := map[string]bool{}
	for _, value := range []string{"Bearer bad", "Bearer x", "Basic x", "", "Bearer "} {
		_, err := a.Authenticate(t.Context(), authn.Credentials{Authorization: []string{value}})
		texts[fault.From(err).Text()] = true
	}
	if len(texts) != 1 {
		t.Errorf("refusals differ: %v", texts)
	}
}

func TestWhoIsOfTheSameUser(t *testing.T) {
	for user, want := range map[peercred.Peer]bool{
		peercred.Same: true, peercred.Other: false, peercred.Unknown: false, peercred.Remote: false,
	} {
		peer := authn.Peer{Remote: &net.TCPAddr{IP: net.IPv6loopback, Port: 1}, Host: "localhost", User: user}
		if p := (authn.Loopback{}).Identify(t.Context(), peer); (p != nil) != want {
			t.Errorf("%s: got %v", user, p)
		}
	}
}

func TestWhoIsLoopback(t *testing.T) {
	ip := func(s string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(s), Port: 1} }
	for _, row := range []struct {
		name string
		peer authn.Peer
		want bool
	}{
		{"another user", authn.Peer{Remote: ip("127.0.0.1"), Host: "localhost", User: peercred.Other}, false},
		{"a user that the kernel does not tell", authn.Peer{Remote: ip("127.0.0.1"), Host: "localhost"}, false},
		{"by name", authn.Peer{User: peercred.Same, Remote: ip("127.0.0.1"), Host: "localhost"}, true},
		{"by address", authn.Peer{User: peercred.Same, Remote: ip("127.7.0.1"), Host: "127.7.0.1:9091"}, true},
		{"by a mapped address", authn.Peer{User: peercred.Same, Remote: ip("::ffff:127.0.0.1"), Host: "[::1]:80"}, true},
		{"another machine", authn.Peer{User: peercred.Same, Remote: ip("192.0.2.1"), Host: "localhost"}, false},
		{"a name that was made to point here", authn.Peer{User: peercred.Same, Remote: ip("127.0.0.1"), Host: "evil.example.com"}, false},
		{"through a proxy", authn.Peer{User: peercred.Same, Remote: ip("127.0.0.1"), Host: "localhost", Forwarded: true}, false},
		{"not TCP", authn.Peer{User: peercred.Same, Remote: &net.UnixAddr{Name: "x"}, Host: "localhost"}, false},
		{"in memory", authn.Peer{User: peercred.Same, Host: "localhost"}, false},
	} {
		if p := (authn.Loopback{}).Identify(t.Context(), row.peer); (p != nil) != row.want || p != nil && !authn.IsLocal(p) {
			t.Errorf("%s: got %v", row.name, p)
		}
	}
}
