package login_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/login"
	"github.com/windlass-dev/windlass/internal/issuer"
	"github.com/windlass-dev/windlass/internal/issuer/account"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

const password = "correct-horse"

// world is a server with an issuer, and a user with a home.
type world struct {
	t      *testing.T
	issuer *issuer.Issuer
	server string
	home   string
	env    []string

	mu   sync.Mutex
	sent []string // Authorization headers that the server got
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, home: t.TempDir()}
	w.issuer = startIssuer(t)
	srv := httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(srv.Close)
	w.server, w.env = srv.URL, []string{"HOME=" + w.home}
	return w
}

func startIssuer(t *testing.T) *issuer.Issuer {
	t.Helper()
	cfg := config.Default[account.Config]()
	cfg.Users = []account.User{{Name: "bob", Password: secret.New(password)}}
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	i, err := issuer.New(issuer.Options{
		Config: cfg, Dir: t.TempDir(), Key: secret.New("0123456789abcdef0123456789abcdef"), Listener: l, Log: slog.New(slog.DiscardHandler),
		Resources: issuer.Resources{Known: func(string) (string, bool) { return "", false }}, Documents: http.DefaultClient,
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- i.Serve() }()
	t.Cleanup(func() {
		if err := i.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return i
}

// serve is the Windlass server.
func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.sent = append(w.sent, r.Header.Get("Authorization"))
	w.mu.Unlock()
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource":
		_, _ = fmt.Fprintf(rw, `{"authorization_servers":[%q]}`, w.issuer.URL())
	case "/v1/me":
		_, _ = io.WriteString(rw, `{"subject":"dev:bob","tenant":"default","roles":["user"]}`)
	default:
		http.NotFound(rw, r)
	}
}

// received returns what the server got, and forgets it.
func (w *world) received() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	got := w.sent
	w.sent = nil
	return got
}

// shown is where login shows the address to open.
type shown struct {
	bytes.Buffer
	open func(address, code string)
}

var prompt = regexp.MustCompile(`Open (\S+)\nand log in if it shows the code (\S+)\.`)

// Write implements io.Writer.
func (s *shown) Write(p []byte) (int, error) {
	n, err := s.Buffer.Write(p)
	if m := prompt.FindStringSubmatch(s.String()); m != nil && s.open != nil {
		s.open(m[1], m[2])
		s.open = nil
	}
	return n, err
}

// run runs a command; open is called with the address that it shows.
func (w *world) run(open func(address, code string), args ...string) (code int, out, errs string) {
	w.t.Helper()
	var stdout bytes.Buffer
	stderr := &shown{open: open}
	a := &app.App{Out: &stdout, Err: stderr, Environ: w.env}
	root := &cobra.Command{Use: "windlass"}
	root.PersistentFlags().StringP("output", "o", "table", "")
	server := root.PersistentFlags().String("server", w.server, "")
	root.AddCommand(login.Commands(a, func(*cobra.Command) string { return *server })...)
	code = a.Execute(w.t.Context(), root, args)
	return code, stdout.String(), stderr.String()
}

// decide returns a browser in which bob decides.
func (w *world) decide(decision string) func(string, string) {
	return func(_, code string) {
		form := url.Values{"user_code": {code}, "username": {"bob"}, "password": {password}, "decision": {decision}}
		resp, err := http.PostForm(w.issuer.URL()+"/device", form)
		if err != nil {
			w.t.Error(err)
			return
		}
		_ = resp.Body.Close()
		http.DefaultClient.CloseIdleConnections()
	}
}

func (w *world) login() {
	w.t.Helper()
	if code, out, errs := w.run(w.decide("allow"), "login"); code != 0 || !strings.Contains(out, "as dev:bob") {
		w.t.Fatalf("%d %s %s", code, out, errs)
	}
}

func (w *world) file() string {
	return filepath.Join(w.home, ".config", "windlass", "credentials.json")
}

// change edits the stored login.
func (w *world) change(edit func(map[string]any)) {
	w.t.Helper()
	raw, err := os.ReadFile(w.file())
	if err != nil {
		w.t.Fatal(err)
	}
	var f map[string]map[string]map[string]any
	if err := json.Unmarshal(raw, &f); err != nil {
		w.t.Fatal(err)
	}
	edit(f["servers"][w.server])
	if raw, err = json.Marshal(f); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.file(), raw, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) expire() {
	w.t.Helper()
	w.change(func(l map[string]any) { l["expires"] = time.Now().Add(-time.Minute) })
}

func (w *world) token(server string) (secret.Value, error) {
	return login.Source(&app.App{Environ: w.env})(w.t.Context(), server)
}

func TestLogin(t *testing.T) {
	w := newWorld(t)
	w.login()
	got := w.received()
	if len(got) != 3 || got[0] != "" || !strings.HasPrefix(got[1], "Bearer ey") || got[2] != got[1] {
		t.Errorf("the server got %q: one request for the issuer without a token, then who it is, and the grants to renew", got)
	}
	for path, mode := range map[string]os.FileMode{w.file(): 0o600, filepath.Dir(w.file()): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if code, out, _ := w.run(nil, "whoami"); code != 0 || !strings.Contains(out, "dev:bob") || !strings.Contains(out, w.issuer.URL()) {
		t.Errorf("whoami: %d %s", code, out)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for _, server := range []string{other.URL, "https://example.com", strings.Replace(w.server, "127.0.0.1", "localhost", 1)} {
		if token, err := w.token(server); err != nil || !token.IsZero() {
			t.Errorf("a token for %s goes to %s, %v", w.server, server, err)
		}
	}
	if code, out, errs := w.run(nil, "logout"); code != 0 || !strings.Contains(out, "Logged out") {
		t.Errorf("logout: %d %s %s", code, out, errs)
	}
	if token, err := w.token(w.server); err != nil || !token.IsZero() {
		t.Errorf("a token after the logout, %v", err)
	}
	if code, out, _ := w.run(nil, "logout"); code != 0 || !strings.Contains(out, "not logged in") {
		t.Errorf("the second logout: %d %s", code, out)
	}
}

// Several commands at once must not use the refresh token twice, which would end the login.
func TestRefreshingAtTheSameTime(t *testing.T) {
	w := newWorld(t)
	w.login()
	first, err := w.token(w.server)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.expire()
		var wg sync.WaitGroup
		tokens := make([]secret.Value, 8)
		for i := range tokens {
			wg.Go(func() {
				var err error
				if tokens[i], err = w.token(w.server); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, token := range tokens {
			if !token.Equal(tokens[0]) || token.Equal(first) || token.IsZero() {
				t.Fatal("the commands got different tokens, or the old one")
			}
		}
	}
}

func TestALoginThatHasEnded(t *testing.T) {
	w := newWorld(t)
	w.login()
	w.change(func(l map[string]any) {
		form := url.Values{"token": {fmt.Sprint(l["refresh_token"])}, "client_id": {"windlass-cli"}}
		resp, err := http.PostForm(w.issuer.URL()+"/revoke", form)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	w.expire()
	w.received()
	code, _, errs := w.run(nil, "whoami")
	if code != app.ExitDenied || !strings.Contains(errs, "has ended") || !strings.Contains(errs, "windlass login") {
		t.Errorf("%d %s", code, errs)
	}
	if got := w.received(); len(got) != 0 {
		t.Errorf("the command went on without a token: %q", got)
	}
	_, err := w.token(w.server)
	if e := fault.As(err); e == nil || e.Code != codes.Unauthenticated || strings.Contains(fmt.Sprintf("%+v", err), "wlr_") {
		t.Errorf("%v", err)
	}
	w.login()
	if _, err := w.token(w.server); err != nil {
		t.Error(err)
	}
}

func TestLoginsThatFail(t *testing.T) {
	w := newWorld(t)
	plain := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(rw, `{"issuer":"http://127.0.0.1:1","token_endpoint":"http://127.0.0.1:1/t"}`)
	}))
	defer plain.Close()
	var open *httptest.Server
	open = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(rw, `{"issuer":%q,"token_endpoint":"http://id.example.com/t","device_authorization_endpoint":"https://x/d"}`, open.URL)
	}))
	defer open.Close()
	for _, tc := range []struct {
		name string
		open func(string, string)
		args []string
		code int
		err  string
	}{
		{"refused in the browser", w.decide("deny"), nil, 1, "refused in the browser"},
		{"a server without issuers", nil, []string{"--server", plain.URL + "/x"}, 1, "names no issuer"},
		{"a server that is not there", nil, []string{"--server", "127.0.0.1:1"}, 1, "no answer"},
		{"a server in clear", nil, []string{"--server", "http://windlass.example.com"}, 2, "not encrypted"},
		{"an issuer in clear", nil, []string{"--issuer", "http://id.example.com"}, 1, "not encrypted"},
		{"an issuer with an endpoint in clear", nil, []string{"--issuer", open.URL}, 1, "not encrypted"},
		{"a document of another issuer", nil, []string{"--issuer", plain.URL}, 1, "exact name"},
		{"an issuer with another slash", nil, []string{"--issuer", w.issuer.URL() + "/"}, 1, "exact name"},
		{"a client that is unknown", nil, []string{"--client", "nobody"}, 1, `the client "nobody"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, out, errs := w.run(tc.open, append([]string{"login"}, tc.args...)...)
			if code != tc.code || !strings.Contains(errs, tc.err) || out != "" {
				t.Errorf("%d %s %s", code, out, errs)
			}
			if _, err := os.Stat(w.file()); err == nil {
				t.Error("tokens were kept")
			}
		})
	}
}

func TestTokensThatOthersCanRead(t *testing.T) {
	w := newWorld(t)
	w.login()
	if err := os.Chmod(w.file(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := w.token(w.server); err == nil || !strings.Contains(err.Error(), "other users can read") {
		t.Errorf("%v", err)
	}
}

func TestATokenInTheEnvironment(t *testing.T) {
	w := newWorld(t)
	w.env = append(w.env, "WINDLASS_TOKEN=tok")
	if code, out, _ := w.run(nil, "whoami"); code != 0 || !strings.Contains(out, "WINDLASS_TOKEN") {
		t.Errorf("%d %s", code, out)
	}
	if got := w.received(); len(got) != 1 || got[0] != "Bearer tok" {
		t.Errorf("sent %q", got)
	}
	if _, err := w.token("http://windlass.example.com"); err == nil {
		t.Error("the token would be sent in clear")
	}
}
