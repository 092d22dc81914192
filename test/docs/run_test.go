package docs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/testtemporal"
	"github.com/windlass-dev/windlass/test/harness"
)

// pageTimeout bounds one page; only a failing test takes that long.
const pageTimeout = 2 * time.Minute

// benchPages is how the pages begin that the benchmark writes.
const benchPages = "docs/reference/performance"

// mesh is the `windlass up` that the pages are run against.
type mesh struct {
	*harness.Embedded
	// real maps the default addresses that pages name to the real ones.
	real map[string]string
}

// TestPages runs the pages one after the other against one `windlass up`.
func TestPages(t *testing.T) {
	up := harness.Up(t, t.TempDir(), []string{"WINDLASS_INFERENCE_DETECT=false"})
	m := &mesh{Embedded: up, real: map[string]string{
		"http://127.0.0.1:8080": up.Client.Base, "127.0.0.1:9090": up.Ready["grpc"].(string),
		"127.0.0.1:7233": up.Ready["temporal"].(string), "http://127.0.0.1:8233": up.Ready["temporal_ui"].(string),
		"http://127.0.0.1:8089": up.Ready["issuer"].(string), "127.0.0.1:7243": testtemporal.Server(t),
	}}
	for _, p := range pages(t) {
		if strings.HasPrefix(p.path, benchPages) {
			continue // their one command takes minutes of the whole machine
		}
		before := agents(t, up.Client)
		t.Run(p.path, func(t *testing.T) { m.run(t, p) })
		for id, revision := range agents(t, up.Client) {
			if was := before[id]; was != "" && was != revision {
				t.Errorf("%s overwrites the agent %s of an earlier page", p.path, id)
			}
		}
	}
	t.Run("grpc", func(t *testing.T) { callOverGRPC(t, m.real["127.0.0.1:9090"]) })
}

// agents returns the revisions of all agents.
func agents(t *testing.T, c *harness.Client) map[string]string {
	t.Helper()
	revisions := map[string]string{}
	for _, each := range c.Must("GET", "/v1/agents?page_size=1000", nil)["agents"].([]any) {
		a := each.(map[string]any)
		revisions[fmt.Sprint(a["id"])] = fmt.Sprint(a["revision"])
	}
	return revisions
}

// run writes a page's files, runs its shell blocks in one shell, and compares the outputs that follow them. Bundles are applied dry.
func (m *mesh) run(t *testing.T, p page) {
	dir := t.TempDir()
	var script strings.Builder
	script.WriteString("set -eu\n")
	outputs := map[int]block{} // of the shell block with this index
	n := 0
	for i, b := range p.blocks {
		switch {
		case b.attr("title") != "":
			write(t, filepath.Join(dir, b.attr("title")), b.text)
		case b.lang == "sh" && !b.has("notest"):
			fmt.Fprintf(&script, "echo %d > at\n{\n%s} > out.%d 2>&1\n", b.line, m.toReal(b.text), i)
			n++
			if i+1 < len(p.blocks) && p.blocks[i+1].lang == "text" {
				outputs[i] = p.blocks[i+1]
			}
		}
		if b.lang == "yaml" && strings.HasPrefix(b.text, "kind:") {
			bundle := fmt.Sprintf("bundle.%d.yaml", i)
			write(t, filepath.Join(dir, bundle), b.text)
			fmt.Fprintf(&script, "echo %d > at\nwindlass apply --dry-run -f %s > out.%d 2>&1\n", b.line, bundle, i)
			n++
		}
	}
	if n == 0 {
		return
	}
	if err := m.shell(t, dir, script.String()); err != nil {
		at, _ := os.ReadFile(filepath.Join(dir, "at"))
		t.Errorf("%s: the block at line %s failed: %v", p.path, bytes.TrimSpace(at), err)
	}
	for i, want := range outputs {
		got, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("out.%d", i)))
		if err != nil {
			continue // it was not reached
		}
		if !fits(want.text, m.toDefault(string(got))) {
			t.Errorf("%s: the block at line %d printed:\n%s\nbut the page says:\n%s", p.path, p.blocks[i].line, got, want.text)
		}
	}
	if t.Failed() {
		all, _ := filepath.Glob(filepath.Join(dir, "out.*"))
		for _, f := range all {
			raw, _ := os.ReadFile(f)
			t.Logf("%s:\n%s", filepath.Base(f), raw)
		}
	}
}

func (m *mesh) shell(t *testing.T, dir, script string) error {
	t.Helper()
	bin := filepath.Dir(harness.Bin(t, "windlass"))
	bin, err := filepath.Abs(bin)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(bin, filepath.Join(dir, "bin")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(m.DataDir, filepath.Join(dir, ".windlass")); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"bash", "curl", "python3"} {
		if _, err := exec.LookPath(tool); err != nil && strings.Contains(script, tool) {
			t.Skipf("no %s on this machine", tool)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), pageTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir = dir
	cmd.Env = []string{
		"HOME=" + t.TempDir(), "WINDLASS_SERVER=" + m.Client.Base, "LC_ALL=C.UTF-8", harness.RaceOptions,
		"PATH=" + bin + ":" + filepath.Join(bin, "examples") + ":" + os.Getenv("PATH"),
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err = cmd.Run()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what the page left running in the background
	return err
}

// toReal puts the real addresses in place of those that pages name; toDefault does the reverse.
func (m *mesh) toReal(text string) string {
	for def, is := range m.real {
		text = strings.ReplaceAll(text, def, is)
	}
	return text
}

func (m *mesh) toDefault(text string) string {
	for def, is := range m.real {
		text = strings.ReplaceAll(text, is, def)
	}
	return text
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
