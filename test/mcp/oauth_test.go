package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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

// TestUsersLogInWithTheSDK has clients of two users, with the OAuth support of the TypeScript SDK of MCP, log in at the built-in issuer at
// the same time. Each sees and calls the tools of its user; what the other one has does not exist.
func TestUsersLogInWithTheSDK(t *testing.T) {
	t.Parallel()
	suite, _, sdk := testnpm.Conformance(t)
	up := newLogins(t)
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
