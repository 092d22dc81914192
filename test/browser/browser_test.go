// Package browser drives the console in Chromium, against `windlass up`.
package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/windlass-dev/windlass/libs/testnpm"
	"github.com/windlass-dev/windlass/test/harness"
)

// agents are what the scenarios talk to.
func agents(c *harness.Client) {
	for _, a := range []harness.JSON{
		{
			"id": "careful", "tools": []string{"*", "mesh__ask_user"}, "model": "builtin/scripted", "on_unknown_outcome": "park",
			"approvals": []harness.JSON{{
				"name": "careful", "tools": []string{"mesh__uuid"}, "reason": "Somebody should look.", "allow_requester": true,
			}},
		},
		{"id": "worker", "description": "Computes sums.", "tools": []string{"calculator__*"}, "model": "builtin/scripted"},
		{"id": "boss", "agents": []string{"worker"}, "model": "builtin/scripted"},
	} {
		c.Must("POST", "/v1/agents", a)
	}
}

// shields are one that finds something, and one that finds nobody to ask.
const shields = `policy:
  shields:
  - {name: falcon, detector: pattern, pattern: '(?i)falcon', action: redact, stage: [input]}
  - {name: away, detector: webhook, url: 'http://127.0.0.1:9/', stage: [output], on_error: open}
`

func TestConsole(t *testing.T) {
	t.Parallel()
	testnpm.Browser(t)
	config := filepath.Join(t.TempDir(), "windlass.yaml")
	harness.Must(t, os.WriteFile(config, []byte(shields), 0o600))
	for name, scripts := range map[string][]string{
		"on one mesh": {"chat.mjs", "waits.mjs", "journal.mjs", "temporal.mjs", "turn.mjs"}, "which is killed": {"button.mjs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := harness.Up(t, t.TempDir(), nil, "--config", config)
			faulty := filepath.Join(filepath.Dir(harness.Bin(t, "windlass")), "examples", "faulty")
			up.Client.Must("POST", "/v1/sources", harness.JSON{"name": "shaky", "kind": "mcp", "command": []string{faulty}})
			agents(up.Client)
			up.Client.Must("POST", "/v1/agents", harness.JSON{
				"id": "guarded", "model": "builtin/scripted", "shields": []string{"falcon", "away"},
			})
			run(t, harness.Pages(t, up, scripts...))
		})
	}
}

// run runs scripts, and fails the test with what they printed.
func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// pages are the paths that frame.mjs opens besides those whose content it makes.
const pages = "/turns /sessions /agents /agents/worker /tools /tools/calculator__evaluate /sources /knowledge /access /usage /system"

// TestFrame: what all pages share, the chat and the inbox, on one mesh.
func TestFrame(t *testing.T) {
	t.Parallel()
	testnpm.Browser(t)
	up := harness.Up(t, t.TempDir(), nil)
	faulty := filepath.Join(filepath.Dir(harness.Bin(t, "windlass")), "examples", "faulty")
	up.Client.Must("POST", "/v1/sources", harness.JSON{"name": "shaky", "kind": "mcp", "command": []string{faulty}})
	agents(up.Client)
	up.Client.Must("POST", "/v1/agents", harness.JSON{"id": "overseer", "agents": []string{"careful"}, "model": "builtin/scripted"})
	up.Client.Must("POST", "/v1/agents", harness.JSON{
		"id": "two", "tools": []string{"*"}, "model": "builtin/scripted",
		"approvals": []harness.JSON{{"name": "both", "tools": []string{"mesh__uuid"}, "quorum": 2, "allow_requester": true}},
	})
	cmd := harness.Pages(t, up, "conversation.mjs", "inbox.mjs", "share.mjs", "frame.mjs")
	cmd.Env = append(cmd.Env, "PAGES="+pages)
	run(t, cmd)
}

// TestS12AnswersCarryNothingAway: images, links and addresses in an answer of a model reach the attacker's server neither by themselves nor
// by a click, and the page's policy stops what a page could try besides.
func TestS12AnswersCarryNothingAway(t *testing.T) {
	t.Parallel()
	testnpm.Browser(t)
	var requests atomic.Int32
	canary := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		t.Errorf("the attacker's server got %s %s", r.Method, r.URL)
	}))
	defer canary.Close()
	up := harness.Up(t, t.TempDir(), []string{"WINDLASS_GATEWAY_LINK_HOSTS=.docs.example.com"})
	agents(up.Client)
	cmd := harness.Pages(t, up, "exfiltrate.mjs")
	cmd.Env = append(cmd.Env, "CANARY="+canary.URL, "LISTED=https://www.docs.example.com")
	run(t, cmd)
	if got := requests.Load(); got != 0 {
		t.Errorf("the attacker's server got %d requests", got)
	}
}

// TestUsersLogInWithThePage: alice and bob log in at the built-in issuer, and each sees their own conversations.
func TestUsersLogInWithThePage(t *testing.T) {
	t.Parallel()
	testnpm.Browser(t)
	up := harness.Up(t, t.TempDir(), nil)
	agents(up.Client)
	cmd := harness.Pages(t, up, "login.mjs")
	cmd.Env = append(cmd.Env, "PASSWORDS="+passwords(t, up))
	run(t, cmd)
}

// TestThePageAsksForLogins: a turn whose user's login has ended, and one for whose tool the user has not logged in, say what they wait for.
func TestThePageAsksForLogins(t *testing.T) {
	t.Parallel()
	testnpm.Browser(t)
	up := harness.Up(t, t.TempDir(), nil)
	agents(up.Client)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "orders of alice") }))
	t.Cleanup(api.Close)
	for name, auth := range map[string]harness.JSON{
		"orders": {"kind": "exchange", "audience": "orders"},
		"people": {
			"kind": "oauth2_authorization_code", "authorization_url": "http://127.0.0.1:9/authorize", "token_url": "http://127.0.0.1:9/token",
			"client_id": "windlass",
		},
	} {
		up.Client.Must("POST", "/v1/sources", harness.JSON{
			"name": name, "kind": "http", "base_url": api.URL, "auth": auth,
			"endpoints": []harness.JSON{{"name": "mine", "path": "/mine"}, {"name": "contacts", "path": "/contacts"}},
		})
	}
	cmd := harness.Pages(t, up, "authorize.mjs")
	cmd.Env = append(cmd.Env, "PASSWORDS="+passwords(t, up))
	run(t, cmd)
}

// TestThePagesExplainThemselves: the documentation, and the page on which the API is tried.
func TestThePagesExplainThemselves(t *testing.T) {
	t.Parallel()
	testnpm.Browser(t)
	up := harness.Up(t, t.TempDir(), nil)
	agents(up.Client)
	run(t, harness.Pages(t, up, "docs.mjs", "api.mjs"))
}

// TestListsAndAdministration walks the pages of lists and administration with three users.
func TestListsAndAdministration(t *testing.T) {
	t.Parallel()
	testnpm.Browser(t)
	up := harness.Up(t, t.TempDir(), nil)
	agents(up.Client)
	cmd := harness.Pages(t, up, "views.mjs")
	cmd.Env = append(cmd.Env, "PASSWORDS="+passwords(t, up))
	run(t, cmd)
}

// passwords returns those of the built-in issuer's users as a JSON object.
func passwords(t *testing.T, up *harness.Embedded) string {
	t.Helper()
	list := exec.CommandContext(t.Context(), harness.Bin(t, "windlass"), "user", "list", "-o", "json", "--data-dir", up.DataDir)
	out, err := list.Output()
	harness.Must(t, err)
	var users []struct{ Name, Password string }
	harness.Must(t, json.Unmarshal(out, &users))
	all := map[string]string{}
	for _, u := range users {
		all[u.Name] = u.Password
	}
	text, err := json.Marshal(all)
	harness.Must(t, err)
	return string(text)
}

// TestThePageSurvivesAKill kills everything behind an open page in the middle of an answer.
func TestThePageSurvivesAKill(t *testing.T) {
	t.Parallel()
	testnpm.Browser(t)
	dir := t.TempDir()
	up := harness.Up(t, dir, nil)
	agents(up.Client)
	cmd := harness.Pages(t, up, "killed.mjs")
	out, err := cmd.StdoutPipe()
	harness.Must(t, err)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	harness.Must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		switch lines.Text() {
		case "half":
			up.Kill()
		case "noticed":
			up = harness.Up(t, dir, nil, "--http-addr", strings.TrimPrefix(up.Client.Base, "http://"))
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, problems.String())
	}
}
