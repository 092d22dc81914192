package e2e

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/libs/testnpm"
	"github.com/windlass-dev/windlass/test/harness"
)

// download stores a page of the mesh in a file.
func download(t *testing.T, c *harness.Client, path, file string) {
	t.Helper()
	resp, err := c.HTTP.Get(c.Base + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// inFolder runs a program in a folder and returns what it prints.
func inFolder(t *testing.T, dir string, env []string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

func TestRedoclyFindsNoProblem(t *testing.T) {
	t.Parallel()
	harness.Drawn(t, 4)
	node, npm := testnpm.OpenAPI(t)
	c := client(t)
	dir := t.TempDir()
	for _, form := range []string{"openapi.json", "openapi.client.json"} {
		download(t, c, "/"+form, filepath.Join(dir, form))
		cmd := exec.CommandContext(t.Context(), node, filepath.Join(npm, "node_modules", "@redocly", "cli", "bin", "cli.js"),
			"lint", form, "--format=json")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
		text, err := cmd.Output()
		var report struct {
			Problems []struct{ RuleID, Severity, Message string }
		}
		if jsonErr := json.Unmarshal(text, &report); jsonErr != nil {
			t.Fatalf("%s: %v, %v: %s", form, err, jsonErr, text)
		}
		for _, p := range report.Problems {
			t.Errorf("%s: %s %s: %s", form, p.Severity, p.RuleID, p.Message)
		}
	}
}

// TestAGeneratedClientRunsATurn generates a client with hey-api, compiles it with strict types and runs a turn with it.
func TestAGeneratedClientRunsATurn(t *testing.T) {
	t.Parallel()
	harness.Drawn(t, 4)
	node, npm := testnpm.OpenAPI(t)
	c := client(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "typescript"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(npm, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	download(t, c, "/openapi.client.json", filepath.Join(dir, "openapi.json"))
	inFolder(t, dir, nil, node, filepath.Join(npm, "node_modules", "@hey-api", "openapi-ts", "bin", "run.js"),
		"-i", "openapi.json", "-o", "client", "-c", "@hey-api/client-fetch")
	inFolder(t, dir, nil, node, filepath.Join(npm, "node_modules", "typescript", "bin", "tsc"), "-p", ".")
	text := inFolder(t, dir, []string{"WINDLASS_URL=" + c.Base}, node, filepath.Join("out", "turn.js"))
	var got struct{ Status, Output, Text, Error string }
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if got.Status != "completed" || got.Output == "" || got.Text != got.Output {
		t.Errorf("the turn is %s", text)
	}
}
