package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/faultpoint/armed"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/test/harness"
)

// planted are the canaries of TestS17, one for each way in which a secret comes in.
var planted = map[string]string{
	"a stored secret":                 "canary-stored-2Lq9XwVd7T",
	"the stored secret before":        "canary-before-6Yr4MzKb1H",
	"the stored key of a model":       "canary-modelkey-9Tn3QcJf5R",
	"the stored key of an executor":   "canary-executor-8Gd5LwNb2P",
	"a variable of a role":            "canary-variable-4Wx8PsGa6D",
	"provider data":                   "canary-provided-7Bv1ZkNe3M",
	"an access token":                 "canary-bearer-5Hj6RtCy8U",
	"the key of the vault":            "canary-master-0123456789-abcdefghij",
	"the key of payloads in Temporal": "canary-codec-key-0123456789-abcdefgh",
}

// canaryMesh is a mesh that has been given all canaries.
type canaryMesh struct {
	*harness.Client
	answers *recorder
	spans   *harness.Collector
	// used are the secrets that arrived where they are for.
	used *sync.Map
}

// mimic is an API and a model that repeat the headers of requests in answers and errors.
func (m *canaryMesh) mimic(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, values := range r.Header {
			for _, v := range values {
				m.used.Store(strings.TrimPrefix(v, "Bearer "), true)
			}
		}
		w.Header().Set("X-Repeated", r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/ok":
			fmt.Fprintf(w, `{"you_sent": %q}`, fmt.Sprint(r.Header))
		default:
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error"}}`, "wrong key: "+fmt.Sprint(r.Header))
		}
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}

// plant uses each canary, in calls that succeed and in calls that fail.
func (m *canaryMesh) plant(t *testing.T, api string) {
	t.Helper()
	m.Must("POST", "/v1/secrets", harness.JSON{"name": "crm", "value": planted["the stored secret before"]})
	m.Must("PATCH", "/v1/secrets/crm", harness.JSON{"value": planted["a stored secret"]})
	m.Must("POST", "/v1/secrets", harness.JSON{"name": "model", "value": planted["the stored key of a model"]})
	status, _, err := m.Do(t.Context(), "POST", "/v1/secrets", harness.JSON{"name": "crm", "value": planted["a stored secret"]})
	if err != nil || status != http.StatusConflict {
		t.Errorf("the second POST of a secret: %d, %v", status, err)
	}
	server, seen := echoing(t)
	headers := harness.JSON{"X-Api-Key": "${secret:crm}", "X-Other-Key": "${env:WINDLASS_TOOL_CANARY}"}
	provided := harness.JSON{"headers": harness.JSON{"X-Provided": "token"}}
	m.Must("POST", "/v1/sources", harness.JSON{
		"name": "echo", "kind": "mcp", "url": server.URL, "headers": headers, "provider_data": provided,
	})
	m.Must("POST", "/v1/sources", harness.JSON{
		"name": "crm", "kind": "http", "base_url": api, "auth": harness.JSON{"kind": "bearer", "secret": "${secret:crm}"}, "headers": headers,
		"endpoints": []harness.JSON{{"name": "ok", "path": "/ok"}, {"name": "refused", "path": "/refused"}}, "provider_data": provided,
	})
	m.Must("POST", "/v1/agents", harness.JSON{"id": "tools", "model": "builtin/scripted", "tools": []string{"echo__*", "crm__*"}})
	m.Must("POST", "/v1/agents", harness.JSON{"id": "bad", "model": "bad/model"})
	with := []string{"X-Windlass-Provider-Data", `{"token":"` + planted["provider data"] + `"}`}
	for _, tool := range []string{"echo__status", "echo__error", "echo__html", "echo__refusal", "echo__result", "crm__ok", "crm__refused"} {
		if _, _, err := m.Do(t.Context(), "POST", "/v1/tools/"+tool+":invoke", harness.JSON{}, with...); err != nil {
			t.Error(err)
		}
		m.turn(t, "tools", "call:"+tool+" then say:done", with...)
	}
	m.turn(t, "bad", "hello", with...)
	m.Must("POST", "/v1/secrets", harness.JSON{"name": "executor", "value": planted["the stored key of an executor"]})
	for _, path := range []string{"ok", "refused"} {
		m.Must("POST", "/v1/agents", harness.JSON{"id": "remote-" + path, "executor": harness.JSON{
			"kind": "http", "url": api + "/" + path, "headers": harness.JSON{"Authorization": "Bearer ${secret:executor}"},
		}})
		m.turn(t, "remote-"+path, "hello")
	}
	for _, token := range []string{"Bearer " + planted["an access token"], "Basic " + planted["an access token"]} {
		for _, path := range []string{"/v1/agents", "/mcp", "/temporal/codec/decode"} {
			if _, _, err := m.Do(t.Context(), "POST", path, harness.JSON{}, "Authorization", token); err != nil {
				t.Error(err)
			}
		}
	}
	m.Must("POST", "/v1/secrets:rotate", harness.JSON{})
	if _, ok := seen.Load(planted["a stored secret"]); !ok {
		t.Error("the tool server did not get the stored secret")
	}
	for _, what := range []string{
		"a stored secret", "the stored key of a model", "the stored key of an executor", "a variable of a role", "provider data",
	} {
		if _, ok := m.used.Load(planted[what]); !ok {
			t.Errorf("nobody got %s", what)
		}
	}
}

// turn runs a turn and reads all that the API says of it.
func (m *canaryMesh) turn(t *testing.T, agent, input string, header ...string) {
	t.Helper()
	session := m.Session(agent)
	id := m.Must("POST", "/v1/sessions/"+session+"/turns", harness.JSON{"input": input}, header...).Str("id")
	m.Watch("/v1/turns/" + id + "/events").End()
	m.Wait(id)
	for _, path := range []string{"/v1/turns/" + id + "/tree", "/v1/sessions/" + session + "/messages", "/v1/executions?turn_id=" + id} {
		m.Must("GET", path, nil)
	}
}

// read reads the rest of the API, so that answers has it.
func (m *canaryMesh) read(t *testing.T) {
	t.Helper()
	for _, path := range []string{"/v1/secrets", "/v1/secrets/crm", "/v1/sources", "/v1/tools", "/v1/decisions?page_size=500", "/readyz"} {
		m.Must("GET", path, nil)
	}
	resp, err := m.HTTP.Get(m.Base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
}

// settings returns the environment and the configuration of a mesh with canaries.
func (m *canaryMesh) settings(api string) (env []string, inference harness.JSON) {
	env = []string{
		"WINDLASS_TOOL_CANARY=" + planted["a variable of a role"], "WINDLASS_POLICY_VAULT_MASTER_KEY=" + planted["the key of the vault"],
		"WINDLASS_TEMPORAL_CODEC_KEY=" + planted["the key of payloads in Temporal"], "WINDLASS_TELEMETRY_OTLP_ENDPOINT=" + m.spans.URL,
		"WINDLASS_TELEMETRY_LOG_LEVEL=debug",
	}
	return env, harness.JSON{"providers": []harness.JSON{
		{"name": "bad", "kind": "openai", "base_url": api, "api_key": "${secret:model}", "models": []string{"model"}},
	}}
}

func newCanaries(t *testing.T) *canaryMesh {
	t.Helper()
	return &canaryMesh{spans: harness.NewCollector(t), used: &sync.Map{}}
}

func (m *canaryMesh) reach(c *harness.Client) {
	m.answers = &recorder{next: c.HTTP.Transport}
	c.HTTP.Transport, m.Client = m.answers, c
}

// absent fails for each canary in a text.
func absent(t *testing.T, where, text string) {
	t.Helper()
	if text == "" {
		t.Errorf("%s: there is nothing to search", where)
	}
	for what, canary := range planted {
		for _, form := range append(forms(canary), []byte(hex.EncodeToString([]byte(canary)))) {
			if at := strings.Index(text, string(form)); at >= 0 {
				t.Errorf("%s has %s: …%q…", where, what, text[max(0, at-160):min(len(text), at+60)])
			}
		}
	}
}

// TestS17CanariesAreNowhere has secrets used in every way there is, and searches all that is left behind: answers, files, logs, spans,
// metrics, and histories as Temporal stores them.
func TestS17CanariesAreNowhere(t *testing.T) {
	t.Parallel()
	m := newCanaries(t)
	api := m.mimic(t)
	env, inference := m.settings(api)
	config := filepath.Join(t.TempDir(), "windlass.yaml")
	text, err := json.Marshal(harness.JSON{"inference": inference}) // YAML too
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	up := harness.Up(t, t.TempDir(), env, "--verbose", "--config", config)
	m.reach(up.Client)
	m.plant(t, api)
	m.read(t)
	doctor := exec.CommandContext(t.Context(), harness.Bin(t, "windlass"), "doctor", "-o", "json", "--server", up.Client.Base)
	doctor.Env = append(os.Environ(), env...)
	report, err := doctor.CombinedOutput()
	if err != nil && len(report) == 0 {
		t.Errorf("windlass doctor: %v", err)
	}
	absent(t, "windlass doctor", string(report))
	m.bundled(t, up, config, api, env)
	if code := up.Stop(); code != 0 {
		t.Errorf("a clean stop exits with %d", code)
	}
	absent(t, "the log", up.Log())
	absent(t, "an answer of the API", m.answers.text.String())
	absent(t, "a span", m.spans.Text())
	absentInFiles(t, up.DataDir)
}

// bundled searches a support bundle, with the log so far.
func (m *canaryMesh) bundled(t *testing.T, up *harness.Embedded, config, api string, env []string) {
	t.Helper()
	dir := t.TempDir()
	log, archive := filepath.Join(dir, "up.log"), filepath.Join(dir, "bundle.tar.gz")
	// A log that is worse than ours: it may have lines of other programs.
	worse := up.Log() + planted["the key of the vault"] + "\nAuthorization: Bearer " + planted["an access token"] + "\n"
	if err := os.WriteFile(log, []byte(worse), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), harness.Bin(t, "windlass"), "support-bundle", "--file", archive, "--config", config, "--log", log,
		"--data-dir", up.DataDir, "--server", up.Client.Base)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "missing") {
		t.Fatalf("windlass support-bundle: %v\n%s", err, out)
	}
	raw, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	text := string(unpacked(t, raw))
	if !strings.Contains(text, "windlass-support/metrics.txt") || !strings.Contains(text, "base_url: "+api) {
		t.Error("the bundle lacks something")
	}
	absent(t, "the support bundle", text)
}

// unpacked returns what is in a gzip file, such as a profile, and any other as it is.
func unpacked(t *testing.T, raw []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return raw
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	return text
}

// absentInFiles searches the files below a directory.
func absentInFiles(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err == nil && len(raw) > 0 {
			files++
			absent(t, path, string(unpacked(t, raw)))
		}
		return err
	})
	if err != nil || files < 8 {
		t.Errorf("%d files in %s, %v", files, dir, err)
	}
}

// faulty are lines at which the roles panic, or write their profiles, while they have secrets.
var faulty = map[faultpoint.Point]string{
	faultpoint.PolicyDecided: "panic:2", faultpoint.ToolOpened: "panic:3", faultpoint.BridgeToolDone: "profile",
	faultpoint.ModelAsked: "panic:2", faultpoint.ToolDone: "profile", faultpoint.CallDone: "profile",
}

// crash ends all processes with a dump of their goroutines, in the middle of a call of a tool, and searches what they have written.
func (m *canaryMesh) crash(t *testing.T, mesh *harness.Mesh) {
	t.Helper()
	mesh.Arm(faultpoint.ToolClosed, "stall")
	called := make(chan struct{})
	go func() {
		defer close(called)
		_, _, _ = m.Do(t.Context(), "POST", "/v1/tools/crm__ok:invoke", harness.JSON{}) // its connection ends
	}()
	if !mesh.AwaitTaken(faultpoint.ToolClosed, time.Minute) {
		t.Error("the call did not stall")
	}
	for _, name := range mesh.Names() {
		p := mesh.Process(name)
		p.Signal(syscall.SIGQUIT)
		if code := p.Wait(); code == 0 || !strings.Contains(p.Log(), "SIGQUIT") {
			t.Errorf("%s ends with %d and without a dump", name, code)
		}
	}
	<-called
	for _, name := range mesh.Names() {
		if log := mesh.Process(name).Log(); log != "" {
			absent(t, "the log of "+name, log)
		}
	}
}

// TestS17CanariesAreInNoProcess is the same with a process for each role, on PostgreSQL, and with histories in clear.
// Some calls panic; profiles of the processes are searched too, and the dumps of their goroutines with which they end.
func TestS17CanariesAreInNoProcess(t *testing.T) {
	t.Parallel()
	m := newCanaries(t)
	api := m.mimic(t)
	env, inference := m.settings(api)
	url := testpg.URL(t)
	mesh := harness.Split(t, harness.SplitOptions{
		Env: append(env, inClear), Config: harness.JSON{"database": harness.JSON{"url": url}, "inference": inference}, Faults: true,
	})
	m.reach(mesh.Client)
	for p, action := range faulty {
		mesh.Arm(p, action)
	}
	m.plant(t, api)
	m.read(t)
	m.crash(t, mesh)
	for p, action := range faulty {
		if !mesh.Taken(p) {
			t.Errorf("there was no %s at %s", action, armed.Name(p))
		}
	}
	absent(t, "an answer of the API", m.answers.text.String())
	absentInFiles(t, mesh.Dir()) // Temporal's database and the bus's streams
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "policy", MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	tables, err := sqldb.All(t.Context(), db.Reader(), sqldb.Column[string],
		`SELECT table_schema || '.' || table_name FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema')`)
	if err != nil || len(tables) < 20 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	rows := 0
	for _, table := range tables {
		found, err := sqldb.All(t.Context(), db.Reader(), sqldb.Column[string], `SELECT t::text FROM `+table+` t`)
		if err != nil {
			t.Errorf("%s: %v", table, err)
		}
		rows += len(found)
		if len(found) > 0 {
			absent(t, "table "+table, strings.Join(found, "\n"))
		}
	}
	if rows < 50 {
		t.Errorf("%d rows", rows)
	}
}
