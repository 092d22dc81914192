package login

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/testwant"
)

const server = "http://127.0.0.1:8080"

// stale is an environment with a login at an issuer whose access token has expired.
func stale(t *testing.T, issuer string, change func(*Login)) *app.App {
	t.Helper()
	a := &app.App{Environ: []string{"XDG_CONFIG_HOME=" + t.TempDir()}}
	l := Login{
		Issuer: issuer, Client: "cli", TokenURL: issuer + "/token", Access: secret.New("old"), Refresh: secret.New("refresh"),
		Expires: time.Now().Add(-time.Minute),
	}
	if change != nil {
		change(&l)
	}
	err := Open(a).Update(server, func(*Login) (*Login, error) { return &l, nil })
	testwant.Equal(t, "the error of Update", err, nil)
	return a
}

// answering is an issuer whose token endpoint answers in one way.
func answering(t *testing.T, status int, body string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestWhatAnIssuerAnswersToARefresh(t *testing.T) {
	for _, tc := range []struct {
		name   string
		status int
		body   string
		token  string
		code   codes.Code
		err    string
	}{
		{name: "a token", status: 200, body: `{"access_token":"new","token_type":"bearer","expires_in":600}`, token: "new"},
		{
			name: "that the login is over", status: 400, body: `{"error":"invalid_grant","error_description":"revoked"}`,
			code: codes.Unauthenticated, err: "has ended",
		},
		{name: "that it does not know the client", status: 401, body: `{"error":"invalid_client"}`, code: codes.Unauthenticated, err: "has ended"},
		{name: "that there are too many requests", status: 429, body: `{}`, code: codes.Unavailable, err: "no answer from "},
		{name: "that it took too long", status: 408, body: `{}`, code: codes.Unavailable, err: "no answer from "},
		{name: "an error", status: 503, body: `{"error":"down"}`, code: codes.Unavailable, err: "no answer from "},
		{name: "nothing that can be read", status: 200, body: `<html>`, code: codes.Unavailable, err: "no answer from "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := stale(t, answering(t, tc.status, tc.body).URL, nil)
			token, err := Source(a)(t.Context(), server)
			testwant.Equal(t, "the token", token.Reveal(), tc.token)
			if tc.err == "" {
				testwant.Equal(t, "the error", err, nil)
			} else if e := fault.As(err); e == nil || e.Code != tc.code || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("the error is %v", err)
			}
			l, ok, err := Open(a).Get(server)
			testwant.Equal(t, "the error of Get", err, nil)
			testwant.Equal(t, "the login is kept", ok, true)
			testwant.Equal(t, "its refresh token", l.Refresh.Reveal(), "refresh")
		})
	}
}

func TestLoginsThatAreNotRefreshed(t *testing.T) {
	none := answering(t, http.StatusInternalServerError, "")
	for _, tc := range []struct {
		name   string
		change func(*Login)
		token  string
		err    string
	}{
		{name: "a fresh one", change: func(l *Login) { l.Expires = time.Now().Add(time.Hour) }, token: "old"},
		{name: "one that does not say when it expires", change: func(l *Login) { l.Expires = time.Time{} }, token: "old"},
		{name: "one that expires soon", change: func(l *Login) { l.Expires = time.Now().Add(early / 2) }, err: "no answer from"},
		{name: "one without a refresh token", change: func(l *Login) { l.Refresh = secret.Value{} }, err: "has ended"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			token, err := Source(stale(t, none.URL, tc.change))(t.Context(), server)
			testwant.Equal(t, "the token", token.Reveal(), tc.token)
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("the error is %v, want %q", err, tc.err)
			}
		})
	}
}

// TestARefreshThatIsInterruptedIsNoEnd: Ctrl-C says nothing about the login.
func TestARefreshThatIsInterruptedIsNoEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{})
	issuer := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		cancel()
		<-asked
	}))
	t.Cleanup(issuer.Close)
	_, err := Source(stale(t, issuer.URL, nil))(ctx, server)
	close(asked)
	testwant.Equal(t, "the error", err, context.Canceled)
}

func TestWhereLoginsAreKept(t *testing.T) {
	for _, tc := range []struct {
		name    string
		environ []string
		want    string
	}{
		{"the folder of the user", []string{"HOME=/home/ann"}, "/home/ann/.config/windlass/credentials.json"},
		{"that of XDG", []string{"HOME=/home/ann", "XDG_CONFIG_HOME=/etc/ann"}, "/etc/ann/windlass/credentials.json"},
		{"a relative one is ignored", []string{"HOME=/home/ann", "XDG_CONFIG_HOME=config"}, "/home/ann/.config/windlass/credentials.json"},
		{"nowhere", nil, ""},
	} {
		testwant.Equal(t, tc.name, Open(&app.App{Environ: tc.environ}).path, tc.want)
	}
	nowhere := Open(&app.App{})
	_, ok, err := nowhere.Get(server)
	testwant.Equal(t, "a login without a home", ok, false)
	testwant.Equal(t, "its error", err, nil)
	err = nowhere.Update(server, func(*Login) (*Login, error) { return &Login{}, nil })
	if err == nil || !strings.Contains(err.Error(), "set HOME or XDG_CONFIG_HOME") {
		t.Errorf("keeping one without a home: %v", err)
	}
}

func TestLoginsAreKeptByServer(t *testing.T) {
	a := stale(t, "https://id.example.com", nil)
	store := Open(a)
	const other = "https://mesh.example.com"
	err := store.Update(other, func(l *Login) (*Login, error) {
		testwant.Equal(t, "there was one", l != nil, false)
		return &Login{Issuer: "https://other.example.com", Access: secret.New("theirs")}, nil
	})
	testwant.Equal(t, "the error", err, nil)
	l, _, err := store.Get(server)
	testwant.Equal(t, "the error of Get", err, nil)
	testwant.Equal(t, "the token of the first", l.Access.Reveal(), "old")
	testwant.Equal(t, "the error of a removal", store.Update(server, func(*Login) (*Login, error) { return nil, nil }), nil)
	_, ok, _ := store.Get(server)
	testwant.Equal(t, "the first is kept", ok, false)
	l, ok, _ = store.Get(other)
	testwant.Equal(t, "the other is kept", ok, true)
	testwant.Equal(t, "its token", l.Access.Reveal(), "theirs")
	file := filepath.Join(strings.TrimPrefix(a.Environ[0], "XDG_CONFIG_HOME="), "windlass", "credentials.json")
	for _, content := range []string{"{", `{"servers":null}`, ""} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := store.Get(other); err == nil || !strings.Contains(err.Error(), "is damaged: remove it, and log in again") {
			t.Errorf("a file with %q: %v", content, err)
		}
	}
}

func TestAddressesAtWhichATokenIsSafe(t *testing.T) {
	for address, want := range map[string]string{
		"https://mesh.example.com": "", "http://127.0.0.1:8080": "", "http://localhost:8080": "", "http://LOCALHOST": "", "http://[::1]:1": "",
		"http://[::ffff:127.0.0.1]": "", "http://mesh.example.com": "is not encrypted", "http://127.0.0.1.example.com": "is not encrypted",
		"http://localhost.example.com": "is not encrypted", "ftp://127.0.0.1": "is not encrypted", "http://ann@127.0.0.1": "is no URL",
		"https://ann:pw@mesh.example.com": "is no URL", "mesh.example.com": "is no URL", "http://%zz": "is no URL", "": "is no URL",
	} {
		err := safe(address)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", address, err, want)
		}
	}
}
