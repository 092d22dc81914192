package support

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/clitest"
)

// made runs the command and returns its exit code and output.
func made(t *testing.T, server string, environ []string, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	a := &app.App{Out: &out, Err: &out, Environ: environ}
	code := a.Execute(t.Context(), clitest.Command(Command)(a), append([]string{"support-bundle", "--server", server}, args...))
	return code, out.String()
}

// unpack returns the files of an archive.
func unpack(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[h.Name] = string(text)
	}
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestS17TheSupportBundleHasNoSecret(t *testing.T) {
	dir := t.TempDir()
	config := write(t, dir, "w.yaml", `
mesh: {key: "canary-meshkey-0123456789-abcdefghij"}
database: {url: "postgres://windlass:canary-database@db/windlass"}
inference:
  providers:
  - {name: a, kind: openai, base_url: "https://u:canary-url@h/", api_key: "${env:MODEL_KEY}"}
mcpbridge: {programs: ["/opt/${env:FOLDER}/x"]}
`)
	log := write(t, dir, "a.log", "start\n"+strings.Join([]string{
		`msg=x error="https://a:canary-login@h/"`, "Authorization: Bearer canary.bearer-Aa1Bb2Cc3", "canary-meshkey-0123456789-abcdefghij",
		"canary-environment", "Y2FuYXJ5LWVudmlyb25tZW50", "canary-tool-variable", `sent "password": "canaryPa55wordx9Qz"`, "kept line", "",
	}, "\n"))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			_, _ = io.WriteString(w, `windlass_calls{url="https://m:canary-metric@h"} 1`)
			return
		}
		_, _ = io.WriteString(w, `{"status":"ready"}`)
	}))
	defer s.Close()
	env := []string{
		"MODEL_KEY=canary-environment", "WINDLASS_TOOL_X=canary-tool-variable", "FOLDER=place", "HOME=/root",
		"WINDLASS_POLICY_VAULT_MASTER_KEY=canary-master-0123456789-abcdefghij",
	}
	file := filepath.Join(dir, "b.tar.gz")
	args := []string{"--file", file, "--config", config, "--log", log, "--log", "/nowhere.log", "--data-dir", dir}
	code, out := made(t, s.URL, env, args...)
	if code != 0 || !strings.Contains(out, "missing: logs/2-nowhere.log") {
		t.Fatalf("%d\n%s", code, out)
	}
	files := unpack(t, file)
	for _, name := range []string{"version.json", "doctor.json", "readyz.json", "metrics.txt", "config.yaml", "logs/1-a.log", "missing.json"} {
		if files["windlass-support/"+name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	for name, text := range files {
		if at := strings.Index(text, "canary"); at >= 0 {
			t.Errorf("%s has %q", name, text[at:min(len(text), at+30)])
		}
	}
	for name, want := range map[string][]string{
		"logs/1-a.log": {"start\n", "kept line\n", "https://a:[redacted:url_password]@h/"},
		"config.yaml":  {"postgres://windlass:[redacted:url_password]@db/windlass", "/opt/${env:FOLDER}/x", "name: a", `key: "[redacted]"`},
	} {
		for _, w := range want {
			if !strings.Contains(strings.ReplaceAll(files["windlass-support/"+name], "'", `"`), w) {
				t.Errorf("%s has no %q:\n%s", name, w, files["windlass-support/"+name])
			}
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the archive has mode %v, %v", info.Mode(), err)
	}
	if code, out := made(t, s.URL, env, args...); code != 2 || !strings.Contains(out, "exists: remove it") {
		t.Errorf("over a bundle: %d %s", code, out)
	}
}

func TestABundleOfAMeshThatDoesNotAnswer(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "b.tar.gz")
	config := write(t, dir, "w.yaml", "mesh: {kye: canary-wrong}\n")
	code, out := made(t, "http://127.0.0.1:1", nil, "--file", file, "--config", config, "--data-dir", filepath.Join(dir, "d"))
	if code != 0 || !strings.Contains(out, "missing: readyz.json: ") || !strings.Contains(out, "missing: config.yaml: ") {
		t.Errorf("%d\n%s", code, out)
	}
	files := unpack(t, file)
	if checks := files["windlass-support/doctor.json"]; !strings.Contains(checks, "no answer") {
		t.Errorf("the checks:\n%s", checks)
	}
}
