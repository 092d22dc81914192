package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"github.com/windlass-dev/windlass/test/harness"
)

// logins is a `windlass up` whose users log in.
type logins struct {
	*harness.Embedded
	t      *testing.T
	issuer string
	home   string
	args   []string
	env    []string
	launch func(t testing.TB, dataDir string, env []string, args ...string) *harness.Process // of `windlass up`; nil = the usual program
}

func newLogins(t *testing.T, args ...string) *logins {
	t.Helper()
	return newLoginsWith(t, nil, args...)
}

func newLoginsWith(t *testing.T, env []string, args ...string) *logins {
	t.Helper()
	// The issuer keeps its address across restarts: it is its name.
	args = append(args, "--issuer-addr", harness.FreeAddr(t))
	p := &logins{t: t, home: t.TempDir(), args: args, env: []string{"WINDLASS_INFERENCE_DETECT=false"}}
	p.env = append(p.env, env...)
	if slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "WINDLASS_FAULT_") }) {
		p.launch = harness.LaunchFaultyUp
	}
	p.start(t.TempDir())
	return p
}

func (p *logins) start(dataDir string, args ...string) {
	p.t.Helper()
	if p.launch == nil {
		p.launch = harness.LaunchUp
	}
	process := p.launch(p.t, dataDir, p.env, append(args, p.args...)...)
	process.Await()
	url, _ := process.Ready["url"].(string)
	p.Embedded = &harness.Embedded{Process: process, Client: harness.NewClient(p.t, url), DataDir: dataDir}
	p.issuer, _ = p.Ready["issuer"].(string)
}

// restart kills the program and starts it again at the same addresses.
func (p *logins) restart() {
	p.t.Helper()
	p.Kill()
	p.Wait()
	p.start(p.DataDir, "--http-addr", strings.TrimPrefix(p.Client.Base, "http://"))
}

// password reads a user's password, or a client's secret, as their owner does.
func (p *logins) password(name string) string {
	p.t.Helper()
	for _, flag := range []string{"--clients=false", "--clients"} {
		out, _ := run(p.t, 0, "", harness.Bin(p.t, "windlass"), "user", "list", flag, "-o", "json", "--data-dir", p.DataDir)
		var all []struct{ Name, ID, Password, Secret string }
		if err := json.Unmarshal([]byte(out), &all); err != nil {
			p.t.Fatal(err)
		}
		for _, a := range all {
			if a.Name == name || a.ID == name {
				return a.Password + a.Secret
			}
		}
	}
	p.t.Fatalf("there is no %s", name)
	return ""
}

// browser posts a form as a browser does, and follows nothing.
func (p *logins) browser(path string, form url.Values) *http.Response {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.issuer+path, strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	req.Header.Set("Origin", p.issuer)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// token gets tokens of the token endpoint.
func (p *logins) token(want int, pairs ...string) harness.JSON {
	p.t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	resp := p.browser("/token", form)
	var out harness.JSON
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil || resp.StatusCode != want {
		p.t.Fatalf("%v: %d %v, want %d: %v", pairs, resp.StatusCode, out, want, err)
	}
	return out
}

// windlass runs the command line of a user, who has a home of their own.
func (p *logins) windlass(user string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), harness.Bin(p.t, "windlass"), append(args, "--server", p.Client.Base)...)
	cmd.Env = []string{"HOME=" + filepath.Join(p.home, user), harness.RaceOptions}
	return cmd
}

// says runs a command that must succeed, and returns its output.
func (p *logins) says(user string, args ...string) string {
	p.t.Helper()
	var out, errs bytes.Buffer
	cmd := p.windlass(user, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		p.t.Fatalf("%s: windlass %q: %v\n%s%s", user, args, err, out.String(), errs.String())
	}
	return out.String()
}

var userCode = regexp.MustCompile(`shows the code ([A-Z]{4}-[A-Z]{4})`)

// logIn runs windlass login, and logs the user in with a browser when it says so.
func (p *logins) logIn(user string) {
	p.t.Helper()
	cmd := p.windlass(user, "login")
	var out bytes.Buffer
	cmd.Stdout = &out
	errs, err := cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	lines, seen := bufio.NewScanner(errs), ""
	for lines.Scan() {
		seen += lines.Text() + "\n"
		if m := userCode.FindStringSubmatch(seen); m != nil {
			form := url.Values{"user_code": {m[1]}, "username": {user}, "password": {p.password(user)}, "decision": {"allow"}}
			if resp := p.browser("/device", form); resp.StatusCode != http.StatusOK {
				p.t.Errorf("the page answers %s", resp.Status)
			}
			break
		}
	}
	rest, err := io.ReadAll(errs)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "Logged in to "+p.Client.Base) {
		p.t.Fatalf("login: %v\n%s%s%s", err, out.String(), seen, rest)
	}
}

func TestPeopleLogIn(t *testing.T) {
	t.Parallel()
	p := newLogins(t)
	p.says("bob", "session", "list") // as local, without a login
	p.logIn("bob")
	p.logIn("alice")
	p.logIn("admin")
	if out := p.says("bob", "chat", sum); !strings.Contains(out, "391") {
		t.Errorf("bob's chat: %s", out)
	}
	list := []string{"session", "list", "-o", "custom-columns=SUBJECT:.subject"}
	for user, want := range map[string]bool{"bob": true, "alice": false, "admin": true} {
		if out := p.says(user, list...); strings.Contains(out, "dev:bob") != want {
			t.Errorf("%s sees of bob's sessions: %s", user, out)
		}
	}
	session := strings.TrimSpace(p.says("bob", "session", "list", "-o", "name"))
	if err := p.windlass("alice", "get", "session", session).Run(); err == nil {
		t.Error("alice reads bob's session")
	}
	if err := p.windlass("bob", "source", "create", "evil", "--command", "touch /tmp/x").Run(); err == nil {
		t.Error("bob creates sources")
	}

	p.restart()
	if out := p.says("bob", list...); !strings.Contains(out, "dev:bob") {
		t.Errorf("bob after a restart: %s", out)
	}
	p.says("bob", "logout")
	if status, _, err := p.Client.Do(t.Context(), "GET", "/v1/sessions", nil); err != nil || status != http.StatusOK {
		t.Errorf("a call without a token: %d %v", status, err)
	}
}

// A tenant sees nothing of another one.
func TestUsersOfAnotherTenant(t *testing.T) {
	t.Parallel()
	p := newLogins(t)
	session := p.Client.Session("assistant")
	p.logIn("carol")
	if out := p.says("carol", "session", "list", "-o", "name"); strings.TrimSpace(out) != "" {
		t.Errorf("carol sees %s", out)
	}
	if err := p.windlass("carol", "get", "session", session).Run(); err == nil {
		t.Error("carol reads a session of another tenant")
	}
	bundle := filepath.Join(t.TempDir(), "agent.yaml")
	if err := os.WriteFile(bundle, []byte("kind: source\nname: sums\nsource_kind: mcp\ncommand: [calculator]\n---\n"+
		"kind: agent\nid: helper\ntools: [\"sums__*\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.says("carol", "apply", "-f", bundle)
	if out := p.says("carol", "agent", "list", "-o", "name"); strings.TrimSpace(out) != "helper" {
		t.Errorf("carol's agents: %s", out)
	}
	if out := p.says("local", "agent", "list", "-o", "name"); strings.Contains(out, "helper") {
		t.Errorf("the other tenant sees carol's agent: %s", out)
	}
	p.says("carol", "source", "sync", "sums")
	if out := p.says("carol", "chat", "--agent", "helper", sum); !strings.Contains(out, "391") {
		t.Errorf("carol's turn: %s", out)
	}
	if out := p.says("local", "source", "list", "-o", "name"); strings.Contains(out, "sums") {
		t.Errorf("the other tenant sees carol's source: %s", out)
	}
}

func TestTokensOfTheIssuerThatRunsInUp(t *testing.T) {
	t.Parallel()
	p := newLogins(t)
	tokens := p.tokens("alice")
	id, _ := tokens.Extra("id_token").(string)
	robot := p.token(200, "grant_type", "client_credentials", "client_id", "robot", "client_secret", p.password("robot")).Str("access_token")
	exchange := []string{
		"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange", "client_id", "windlass-mesh", "client_secret",
		p.password("windlass-mesh"), "subject_token", tokens.AccessToken, "subject_token_type",
		"urn:ietf:params:oauth:token-type:access_token",
	}
	exchanged := p.token(200, append(exchange, "audience", "orders")...).Str("access_token")
	p.token(400, append(exchange, "audience", "windlass")...)
	p.token(400, exchange...)
	for name, tc := range map[string]struct {
		token string
		want  int
	}{
		"alice": {tokens.AccessToken, 200}, "the robot": {robot, 200}, "an ID token": {id, 401}, "a token for orders": {exchanged, 401},
		"a refresh token": {tokens.RefreshToken, 401}, "a changed token": {tokens.AccessToken[:len(tokens.AccessToken)-8] + "AAAAAAAA", 401},
	} {
		status, out, err := p.Client.Do(t.Context(), "GET", "/v1/sessions", nil, "Authorization", "Bearer "+tc.token)
		if err != nil || status != tc.want {
			t.Errorf("%s: %d %v %v, want %d", name, status, out, err, tc.want)
		}
	}

	refresh := []string{"grant_type", "refresh_token", "client_id", "windlass-cli", "refresh_token"}
	next := p.token(200, append(refresh, tokens.RefreshToken)...).Str("refresh_token")
	p.restart()
	after := p.token(200, append(refresh, next)...)
	p.token(400, append(refresh, next)...) // used twice: the login ends
	p.token(400, append(refresh, after.Str("refresh_token"))...)
}

// tokens returns those of a user who has logged in with a browser.
func (p *logins) tokens(user string) *oauth2.Token {
	p.t.Helper()
	proof := oauth2.GenerateVerifier()
	client := oauth2.Config{
		ClientID: "windlass-cli", RedirectURL: "http://127.0.0.1:1/callback", Scopes: []string{"openid", "offline_access"},
		Endpoint: oauth2.Endpoint{AuthURL: p.issuer + "/authorize", TokenURL: p.issuer + "/token"},
	}
	login := p.location(client.AuthCodeURL("s", oauth2.S256ChallengeOption(proof)))
	to, err := p.browser("/login", url.Values{
		"id": {login.Query().Get("id")}, "username": {user}, "password": {p.password(user)}, "decision": {"allow"},
	}).Location()
	if err != nil {
		p.t.Fatal(err)
	}
	tokens, err := client.Exchange(p.t.Context(), to.Query().Get("code"), oauth2.VerifierOption(proof))
	if err != nil {
		p.t.Fatal(err)
	}
	return tokens
}

// location returns where a GET is redirected.
func (p *logins) location(address string) *url.URL {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		p.t.Fatal(err)
	}
	_ = resp.Body.Close()
	to, err := resp.Location()
	if err != nil {
		p.t.Fatal(err)
	}
	return to
}

func TestUpWithoutItsIssuer(t *testing.T) {
	t.Parallel()
	up := harness.Up(t, t.TempDir(), nil, "--issuer-addr", "off")
	if _, ok := up.Ready["issuer"]; ok {
		t.Errorf("ready line %v", up.Ready)
	}
	p := harness.LaunchUp(t, t.TempDir(), nil, "--issuer-addr", "0.0.0.0:0")
	if code := p.Wait(); code == 0 || !strings.Contains(p.Log(), "this machine only") {
		t.Errorf("on all addresses: %d %s", code, p.Log())
	}
}
