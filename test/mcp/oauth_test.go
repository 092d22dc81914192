package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testnpm"
	"github.com/windlass-dev/windlass/test/harness"
)

// loginConfig has MCP clients log in, and alice and bob use different tools.
const loginConfig = `
identity:
  mcp_login: true
  issuer: {access_token_ttl: 1s}
inference: {detect: false}
policy:
  rules:
    - {name: local, subjects: [local], permissions: ["*"], tools: ["*"]}
    - {name: alice, subjects: ["dev:alice"], permissions: ["registry.*"], tools: ["calculator__*"]}
    - {name: bob, subjects: ["dev:bob"], permissions: ["registry.*"], tools: ["faulty__echo"]}
`

// logins is a `windlass up` whose MCP clients log in.
type logins struct {
	*harness.Embedded
	t      *testing.T
	issuer string
}

func newLogins(t *testing.T) *logins {
	t.Helper()
	file := filepath.Join(t.TempDir(), "windlass.yaml")
	harness.Must(t, os.WriteFile(file, []byte(loginConfig), 0o600))
	up := &logins{Embedded: harness.Up(t, t.TempDir(), nil, "--config", file), t: t}
	up.issuer, _ = up.Ready["issuer"].(string)
	up.Client.Must("POST", "/v1/sources", harness.JSON{
		"name": "faulty", "kind": "mcp", "command": []string{harness.Bin(t, "examples/faulty")},
	})
	return up
}

// password reads a user's password, as their owner does.
func (l *logins) password(name string) string {
	l.t.Helper()
	args := []string{"user", "list", "-o", "json", "--data-dir", l.DataDir}
	out, err := exec.CommandContext(l.t.Context(), harness.Bin(l.t, "windlass"), args...).Output()
	harness.Must(l.t, err)
	var all []struct{ Name, Password string }
	harness.Must(l.t, json.Unmarshal(out, &all))
	for _, u := range all {
		if u.Name == name {
			return u.Password
		}
	}
	l.t.Fatalf("there is no %s", name)
	return ""
}

// seen is what a client of a user sees.
type seen struct {
	Tools         []string
	Results       map[string]string
	Page          string
	Authorization map[string]string
	Iss           string
	Elsewhere     string
	Expired       int
	After         []string
	Refreshed     bool
	Logins        int
}

// TestUsersLogIn has real MCP clients log users in at the built-in issuer.
func TestUsersLogIn(t *testing.T) {
	t.Parallel()
	testnpm.Conformance(t) // or skips the test
	up := newLogins(t)
	for name, test := range map[string]func(t *testing.T, up *logins){
		"SDK": testLoginWithSDK, "inspector": testLoginWithInspector, "conformance": testConformanceOfIssuer,
	} {
		t.Run(name, func(t *testing.T) { test(t, up) })
	}
}

// testLoginWithSDK has clients of two users, with the OAuth support of the TypeScript SDK, log in at the same time. Each sees and calls the
// tools of its user; what the other one has does not exist.
func testLoginWithSDK(t *testing.T, up *logins) {
	suite, _, sdk := testnpm.Conformance(t)
	dir, endpoint := t.TempDir(), up.Client.Base+"/mcp"
	source, err := os.ReadFile(filepath.Join("testdata", "oauth.mjs"))
	harness.Must(t, err)
	harness.Must(t, os.WriteFile(filepath.Join(dir, "oauth.mjs"), source, 0o600))
	harness.Must(t, os.Symlink(filepath.Join(sdk, "node_modules"), filepath.Join(dir, "node_modules")))
	args, err := json.Marshal(harness.JSON{
		"url": endpoint, "other": endpoint + "/calculator", "expire": true,
		"users": harness.JSON{"alice": up.password("alice"), "bob": up.password("bob")},
		"calls": harness.JSON{
			"calculator__evaluate": harness.JSON{"expression": "6*7"}, "faulty__echo": harness.JSON{"message": "hello"},
			"calculator__nothing": harness.JSON{},
		},
	})
	harness.Must(t, err)
	cmd := exec.CommandContext(t.Context(), suite[0], filepath.Join(dir, "oauth.mjs"), string(args))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, &stderr)
	}
	var got map[string]seen
	if err := json.Unmarshal(out, &got); err != nil || len(got) != 2 {
		t.Fatalf("%v: %s", err, out)
	}
	for name, s := range got {
		mine, theirs, answer := "calculator__evaluate", "faulty__echo", "42"
		if name == "bob" {
			mine, theirs, answer = theirs, mine, "hello"
		}
		if !slices.Contains(s.Tools, mine) || slices.Contains(s.Tools, theirs) || !strings.Contains(s.Results[mine], answer) {
			t.Errorf("%s sees %v, and gets %v", name, s.Tools, s.Results)
		}
		// What is there for the other one is refused like what is not there at all.
		missing := strings.ReplaceAll(s.Results["calculator__nothing"], "calculator__nothing", theirs)
		if s.Results[theirs] != missing || !strings.HasPrefix(missing, "code -32602") {
			t.Errorf("%s calls the other's tool: %q, and one that is not there: %q", name, s.Results[theirs], missing)
		}
		if !strings.Contains(s.Page, "The editor of "+name) || !strings.Contains(s.Page, "localhost:4711") ||
			s.Authorization["resource"] != endpoint || s.Iss != up.issuer {
			t.Errorf("%s logged in with %v, iss %s, on %s", name, s.Authorization, s.Iss, s.Page)
		}
		want := `401 Bearer error="invalid_token", resource_metadata="` + up.Client.Base + `/.well-known/oauth-protected-resource/mcp/calculator"`
		if s.Elsewhere != want {
			t.Errorf("%s at another endpoint: %s, want %s", name, s.Elsewhere, want)
		}
		if s.Expired != http.StatusUnauthorized || !s.Refreshed || s.Logins != 1 || !slices.Equal(s.After, s.Tools) {
			t.Errorf("%s after the token expired: %d, refreshed %t, %d logins, sees %v", name, s.Expired, s.Refreshed, s.Logins, s.After)
		}
	}
}

// authorization is the URL that a program asks its user to open.
var authorization = regexp.MustCompile(`http://127\.0\.0\.1:\d+/authorize\?\S+`)

// interactive runs a program that asks its user to open a login page, and returns what it prints. A browser opens the page, the user types
// the password, and the browser follows the redirect to the program.
func (l *logins) interactive(t *testing.T, user string, cmd *exec.Cmd) (string, error) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	harness.Must(t, err)
	cmd.Stderr = cmd.Stdout
	harness.Must(t, cmd.Start())
	var all strings.Builder
	opened := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		if page := authorization.FindString(lines.Text()); page != "" && !opened {
			opened = true
			l.browse(t, page, user)
		}
	}
	return all.String(), cmd.Wait()
}

// browse logs a user in on a page.
func (l *logins) browse(t *testing.T, page, user string) {
	t.Helper()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	visit := func(method, to string, form url.Values) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, to, strings.NewReader(form.Encode()))
		harness.Must(t, err)
		if method == http.MethodPost {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			req.Header.Set("Sec-Fetch-Site", "same-origin")
		}
		res, err := client.Do(req)
		harness.Must(t, err)
		harness.Must(t, res.Body.Close())
		return res.Header.Get("Location")
	}
	login, err := url.Parse(visit(http.MethodGet, page, nil))
	harness.Must(t, err)
	back := visit(http.MethodPost, l.issuer+"/login", url.Values{
		"id": {login.Query().Get("id")}, "username": {user}, "password": {l.password(user)}, "decision": {"allow"},
	})
	visit(http.MethodGet, back, nil)
}

// freePort returns a port on which nothing listens.
func freePort(t *testing.T) string {
	t.Helper()
	_, port, err := net.SplitHostPort(harness.FreeAddr(t))
	harness.Must(t, err)
	return port
}

func testLoginWithInspector(t *testing.T, up *logins) {
	inspector := testnpm.Inspector(t)
	list := []string{"--method", "tools/list"}
	evaluate := []string{"--method", "tools/call", "--tool-name", "calculator__evaluate", "--tool-arg", "expression=1234*5678"}
	for _, row := range []struct {
		name, user    string
		args          []string
		want, without string
		refused       bool
	}{
		{"alice's tools", "alice", list, `"calculator__evaluate"`, "faulty__echo", false},
		{"bob's tools", "bob", list, `"faulty__echo"`, "calculator__evaluate", false},
		{"alice calls", "alice", evaluate, "7006652", "", false},
		{"bob calls", "bob", evaluate, "calculator__evaluate", "7006652", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			args := append(slices.Concat(inspector[1:], []string{
				up.Client.Base + "/mcp", "--transport", "http", "--callback-url", "http://127.0.0.1:" + freePort(t) + "/oauth/callback",
			}), row.args...)
			cmd := exec.CommandContext(t.Context(), inspector[0], args...)
			// It asks although there is no terminal, and the browser that it starts does nothing.
			cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "MCP_AUTO_OPEN_ENABLED=true", "BROWSER=true", "MCP_INSPECTOR_SECRET_STORE=memory")
			out, err := up.interactive(t, row.user, cmd)
			if (err != nil) != row.refused || !strings.Contains(out, row.want) || row.without != "" && strings.Contains(out, row.without) {
				t.Errorf("%v: %.3000s", err, out)
			}
		})
	}
}

// testConformanceOfIssuer runs what the conformance suite of MCP has for authorization servers.
func testConformanceOfIssuer(t *testing.T, up *logins) {
	_, next, _ := testnpm.Conformance(t)
	args := slices.Concat(next[1:], []string{
		"authorization", "--url", up.issuer, "--client-id", "windlass-cli", "--resource", up.Client.Base + "/mcp", "--port", freePort(t),
		"-o", t.TempDir(),
	})
	cmd := exec.CommandContext(t.Context(), next[0], args...)
	cmd.Dir = t.TempDir()
	out, err := up.interactive(t, "alice", cmd)
	if err != nil || !strings.Contains(out, "Total: 3 passed, 0 failed") {
		t.Errorf("%v: %s", err, out)
	}
}
