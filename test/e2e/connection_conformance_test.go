package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/windlass-dev/windlass/libs/testnpm"
	"github.com/windlass-dev/windlass/test/harness"
)

// authScenarios are the scenarios of MCP's conformance suite about authorization, for clients, by protocol revision. Left out are those of
// extensions, and auth/2025-03-26-oauth-endpoint-fallback: see docs/reference/mcp.md.
var authScenarios = map[string][]string{
	"2025-03-26": {"2025-03-26-oauth-metadata-backcompat"},
	"2025-11-25": commonAuth,
	"2026-07-28": append(slices.Clone(commonAuth),
		"resource-mismatch", "offline-access-scope", "offline-access-not-supported", "authorization-server-migration", "iss-supported",
		"iss-not-advertised", "iss-supported-missing", "iss-wrong-issuer", "iss-unexpected", "iss-normalized", "metadata-issuer-mismatch"),
}

var commonAuth = []string{
	"metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "basic-cimd", "scope-from-www-authenticate",
	"scope-from-scopes-supported", "scope-omitted-when-undefined", "scope-step-up", "scope-retry-limit", "token-endpoint-auth-basic",
	"token-endpoint-auth-post", "token-endpoint-auth-none", "pre-registration",
}

// suiteDocument is the client_id that scenario auth/basic-cimd wants: the address of a document about the client.
const suiteDocument = "https://conformance-test.local/client-metadata.json"

// authRuns are runs of the conformance suite: each plays a group of scenarios in one process.
var authRuns = []struct{ revision, flag, group string }{
	{"2025-03-26", "--scenario", "auth/2025-03-26-oauth-metadata-backcompat"},
	{"2025-11-25", "--suite", "auth"},
	{"2026-07-28", "--suite", "auth"},
	{"2026-07-28", "--suite", "draft"},
}

// driverEnv has the address at which a client that the suite starts reports; such a client is this test binary again.
const driverEnv = "WINDLASS_TEST_DRIVER"

// TestConnectionConformance has a mesh play the client in MCP's scenarios about authorization. The test is its user: it opens the address
// that a connection begins with, and consents. The suite's authorization server logs everybody in.
func TestConnectionConformance(t *testing.T) {
	t.Parallel()
	_, suite, _ := testnpm.Conformance(t)
	p := newLogins(t)
	var sources atomic.Int64
	driver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var s authScenario
		if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.t, s.p, s.source = t, p, fmt.Sprint("suite", sources.Add(1))
		if err := s.play(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	t.Cleanup(driver.Close)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	results := map[string]string{}
	for _, run := range authRuns {
		dir := t.TempDir()
		cmd := exec.CommandContext(t.Context(), suite[0], append(slices.Clone(suite[1:]), "client",
			"--command", self, run.flag, run.group, "--spec-version", run.revision, "--timeout", "300000", "-o", dir)...)
		cmd.Env, cmd.Dir = append(os.Environ(), driverEnv+"="+driver.URL), t.TempDir()
		text, _ := cmd.CombinedOutput() // it fails as scenarios do that are not ours
		for _, name := range authScenarios[run.revision] {
			if found, _ := filepath.Glob(filepath.Join(dir, "auth", name+"-2*")); len(found) == 1 { // the pattern is right
				results[run.revision+"/"+name] = found[0]
			}
		}
		t.Logf("%s", text)
	}
	for revision, names := range authScenarios {
		for _, name := range names {
			dir := results[revision+"/"+name]
			if passed, failed := conformanceChecks(t, dir); passed == 0 || len(failed) > 0 {
				t.Errorf("%s/%s failed: %q of %d", revision, name, failed, passed+len(failed))
			}
		}
	}
}

// driveScenario is main of a client that the suite starts: it has the test play the scenario, and exits as that went.
func driveScenario(driver string) int {
	scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	ours := slices.Concat(slices.Collect(maps.Values(authScenarios))...)
	if !slices.Contains(ours, strings.TrimPrefix(scenario, "auth/")) {
		return 0 // it is not about authorization
	}
	body, err := json.Marshal(map[string]string{
		"url": os.Args[len(os.Args)-1], "name": scenario, "context": cmp.Or(os.Getenv("MCP_CONFORMANCE_CONTEXT"), "{}"),
	})
	if err != nil {
		panic(err)
	}
	res, err := http.Post(driver, "application/json", bytes.NewReader(body))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(os.Stderr, res.Body) // for the log of the suite
	if res.StatusCode != http.StatusOK {
		return 1
	}
	return 0
}

// conformanceChecks reads the results of one scenario; without any, none passed.
func conformanceChecks(t *testing.T, dir string) (passed int, failed []string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "checks.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	var checks []struct{ ID, Status, Description string }
	if err != nil || json.Unmarshal(raw, &checks) != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			passed++
		case "FAILURE", "WARNING":
			failed = append(failed, c.ID+": "+c.Description)
		}
	}
	return passed, failed
}

// authScenario is a scenario with the URL of its server.
type authScenario struct {
	URL, Name, Context string

	t      *testing.T
	p      *logins
	source string
}

// play adds the server as a source, connects it, syncs it and calls its tools. What the server wants besides is granted once.
func (s authScenario) play() error {
	var given struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if err := json.Unmarshal([]byte(s.Context), &given); err != nil {
		return err
	}
	auth := harness.JSON{"kind": "oauth2_authorization_code"}
	if s.Name == "auth/basic-cimd" {
		given.ID = suiteDocument
	}
	if given.ID != "" {
		auth["client_id"] = given.ID
	}
	if given.Secret != "" {
		if err := s.do("POST", "/v1/secrets", harness.JSON{"name": s.source, "value": given.Secret}, nil); err != nil {
			return err
		}
		auth["secret"] = "${secret:" + s.source + "}"
	}
	var created struct{ ID string }
	if err := s.do("POST", "/v1/sources", harness.JSON{"name": s.source, "kind": "mcp", "url": s.URL, "auth": auth}, &created); err != nil {
		return err
	}
	defer func() {
		if err := s.do("DELETE", "/v1/sources/"+created.ID, nil, nil); err != nil {
			s.t.Error(err)
		}
	}()
	if err := s.connect(); err != nil {
		return err
	}
	if err := s.granted(func() error { return s.do("POST", "/v1/sources/"+created.ID+":sync", harness.JSON{}, nil) }); err != nil {
		return err
	}
	var found struct{ Tools []struct{ Name string } }
	if err := s.do("GET", "/v1/tools?page_size=200", nil, &found); err != nil {
		return err
	}
	called := 0
	for _, tool := range found.Tools {
		if !strings.HasPrefix(tool.Name, s.source+"__") {
			continue
		}
		called++
		if err := s.granted(func() error { return s.do("POST", "/v1/tools/"+tool.Name+":invoke", harness.JSON{}, nil) }); err != nil {
			return err
		}
	}
	if called == 0 {
		return fmt.Errorf("no tools of %s: %v", s.source, found)
	}
	return nil
}

// granted does something, and once more after the user has connected the source again if it says so.
func (s authScenario) granted(do func() error) error {
	err := do()
	if err == nil || !strings.Contains(err.Error(), "/connect?source="+s.source) {
		return err
	}
	if err := s.connect(); err != nil {
		return err
	}
	return do()
}

// connect connects the source as its user does in a browser.
func (s authScenario) connect() error {
	var begun struct {
		URL string `json:"connect_url"`
	}
	if err := s.do("POST", "/v1/connections:begin", harness.JSON{"source": s.source}, &begun); err != nil {
		return err
	}
	w := newWeb(s.t)
	_, page, _ := w.get(begun.URL)
	field := consentField.FindStringSubmatch(page)
	if field == nil {
		return fmt.Errorf("consent page: %s", page)
	}
	for to := begun.URL; ; {
		var next *url.URL
		if to == begun.URL {
			_, page, next = w.post(to, url.Values{"consent": {field[1]}, "decision": {"allow"}})
		} else {
			_, page, next = w.get(to)
		}
		switch {
		case next == nil:
			return fmt.Errorf("%s: %s", to, page)
		case next.Path == "/connect/done":
			return nil
		}
		to = next.String()
	}
}

// do calls the API.
func (s authScenario) do(method, path string, body harness.JSON, into any) error {
	var sent any
	if body != nil {
		sent = body
	}
	status, answer, err := s.p.Client.Do(s.t.Context(), method, path, sent)
	if err != nil {
		return err
	}
	if status >= http.StatusBadRequest {
		return fmt.Errorf("%s %s: %d %v", method, path, status, answer)
	}
	if into == nil {
		return nil
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
