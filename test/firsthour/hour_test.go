// Package firsthour does what a new user does in the first hour, over REST, on the command line in a pseudo-terminal, and in a browser:
// one mesh, one home directory, one thing after the other.
package firsthour

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// spoken is in every input; Temporal may not store it.
const spoken = "wombat"

// settings are those of a new installation: no model found on the machine, and schedules as they are by default.
var settings = []string{"WINDLASS_INFERENCE_DETECT=false", "WINDLASS_SESSIONS_SCHEDULES_MIN_INTERVAL=1m"}

// user is a person at a machine.
type user struct {
	hour *testing.T // as long as which a mesh runs that is started in a step
	home string
	up   *harness.Embedded
	// boss and failed are turns that pages are asked for.
	boss, failed string
}

func TestTheFirstHour(t *testing.T) {
	u := &user{hour: t, home: t.TempDir(), up: harness.Up(t, t.TempDir(), settings)}
	for _, step := range []struct {
		name string
		do   func(*user, *testing.T)
	}{
		{"the README's first turn", (*user).firstTurn},
		{"an agent of one's own", (*user).project},
		{"agents from a file, and what is refused", (*user).agents},
		{"an approval", (*user).approval},
		{"a question", (*user).question},
		{"a sub-agent", (*user).subAgent},
		{"a failure", (*user).failure},
		{"a limit", (*user).limit},
		{"REST as other APIs have it", (*user).rest},
		{"the pages", (*user).pages},
		{"a killed worker", (*user).killed},
		{"what Temporal stores", (*user).temporal},
		{"a full disk", (*user).fullDisk},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.do(u, t) }) {
			t.Fatal("what follows needs this step")
		}
	}
}

// windlass runs a command without a terminal.
func (u *user) windlass(t *testing.T, code int, stdin string, args ...string) (out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), harness.Bin(t, "windlass"), args...)
	cmd.Env = []string{"HOME=" + u.home, "PATH=" + os.Getenv("PATH"), "WINDLASS_SERVER=" + u.up.Client.Base, harness.RaceOptions}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	_ = cmd.Run() // the exit code tells
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("windlass %q ends with %d, want %d:\n%s%s", args, got, code, &stdout, &stderr)
	}
	return stdout.String(), stderr.String()
}

// terminal runs a command in a terminal.
func (u *user) terminal(t *testing.T, args ...string) *harness.Screen {
	t.Helper()
	return harness.Terminal(t, u.home, u.up.Client.Base, args...)
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}

func (u *user) firstTurn(t *testing.T) {
	s := u.terminal(t, "chat", "What is 17 * 23?")
	s.Expect("calculator__evaluate answered: 17 * 23 = 391.")
	s.Expect("Go on with: windlass chat --session ses_")
	if code := s.Ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	got := u.up.Client.Must("POST", "/v1/chat", harness.JSON{"message": "What is 17 * 23?"})
	has(t, got.Str("answer"), "391")
	out, _ := u.windlass(t, 0, "", "doctor", "--probe")
	has(t, out, "ok       workers", "ok       probe: end")
	out, _ = u.windlass(t, 0, "", "--version")
	has(t, out, "windlass ")
	out, _ = u.windlass(t, 0, "", "turn", "get", "@last", "-o", "jsonpath={.status}")
	has(t, out, "completed")
	repl := u.terminal(t, "chat", "--session", "@last")
	repl.Expect("17 * 23") // what came before
	repl.Expect("> ")
	repl.Enter("/exit\r")
	if code := repl.Ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func (u *user) project(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Log("no python3: the tool server cannot run")
		return
	}
	dir := filepath.Join(u.home, "counter")
	u.windlass(t, 0, "", "init", dir)
	u.windlass(t, 0, "", "apply", dir)
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "test.sh"))
	cmd.Env = append(os.Environ(), "HOME="+u.home, "WINDLASS="+harness.Bin(t, "windlass"), "WINDLASS_SERVER="+u.up.Client.Base)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

const file = `kind: agent
id: careful
tools: ["mesh__*"]
approvals:
- {name: look, tools: ["mesh__uuid"], reason: somebody should look, allow_requester: true}
---
kind: agent
id: worker
tools: ["calculator__*", "nothing__*"]
---
kind: agent
id: boss
agents: [worker]
`

func (u *user) agents(t *testing.T) {
	path := filepath.Join(u.home, "agents.yaml")
	harness.Must(t, os.WriteFile(path, []byte(file), 0o600))
	out, warned := u.windlass(t, 0, "", "apply", path)
	has(t, out, "agent/careful created", "agent/boss created")
	has(t, warned, `no tool fits "nothing__*"`)
	yaml, _ := u.windlass(t, 0, "", "agent", "get", "careful", "-o", "yaml")
	out, _ = u.windlass(t, 0, yaml, "apply", "-f", "-")
	has(t, out, "agent/careful unchanged")
	_, refused := u.windlass(t, 1, "", "schedule", "create", "--agent", "careful", "--every", "10s", "say:hello")
	has(t, refused, "at least 1m")
	_, refused = u.windlass(t, 1, "", "budget", "create", "agent", "nobody", "--max-tokens", "1")
	has(t, refused, `there is no agent "nobody"`, "windlass ")
	_, wrong := u.windlass(t, 2, "", "ls")
	has(t, wrong, "windlass session list")
	_, missing := u.windlass(t, 2, "", "turn", "get")
	if strings.Contains(missing, "arg(s)") {
		t.Errorf("the error is not in people's words: %s", missing)
	}
}

func (u *user) approval(t *testing.T) {
	_, asked := u.windlass(t, 6, "", "run", "careful", "call:mesh__uuid {} then say:"+spoken)
	has(t, asked, "windlass decide")
	listed, _ := u.windlass(t, 0, "", "approval", "list")
	has(t, listed, "mesh__uuid", "pending")
	u.windlass(t, 0, "", "decide", "@last", "approve")
	out, _ := u.windlass(t, 0, "", "turn", "get", "@last", "--wait", "-o", "jsonpath={.output}")
	has(t, out, spoken)
	s := u.terminal(t, "run", "careful", "call:mesh__uuid {} then say:"+spoken)
	s.Expect("approve? y or n")
	s.Enter("y\r")
	s.Expect("approved by local")
	s.Expect(spoken + "\r\n")
	if code := s.Ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func (u *user) question(t *testing.T) {
	s := u.terminal(t, "run", "careful", `call:ask_user {"question":"Which colour, `+spoken+`?"}`)
	s.Expect("Which colour, " + spoken)
	s.Expect("? ")
	s.Enter("blue " + spoken + "\r")
	s.Expect("blue " + spoken)
	if code := s.Ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func (u *user) subAgent(t *testing.T) {
	out, _ := u.windlass(t, 0, "", "run", "boss", `call:agent__worker {"message":"call:calculator__evaluate {\"expression\":\"6*7\"}"}`)
	has(t, out, "agent__worker answered: calculator__evaluate answered: 6*7 = 42.")
	tree, _ := u.windlass(t, 0, "", "turn", "tree", "@last")
	has(t, tree, "boss", "worker")
	id, _ := u.windlass(t, 0, "", "turn", "get", "@last", "-o", "name")
	u.boss = strings.TrimSpace(id)
}

func (u *user) failure(t *testing.T) {
	_, failed := u.windlass(t, 5, "", "chat", "fail:always "+spoken)
	has(t, failed, "failed:", "fail:always")
	id, _ := u.windlass(t, 0, "", "turn", "get", "@last", "-o", "name")
	u.failed = strings.TrimSpace(id)
	if !harness.Eventually(time.Minute, func() bool { return u.up.WorkflowClosed(u.failed) }) {
		t.Fatalf("the workflow of %s stays open", u.failed)
	}
	_, denied := u.windlass(t, 3, "", "turn", "get", "trn_nope")
	has(t, denied, "trn_nope")
}

// limit runs into a limit of a turn: the warning comes before the end, and what is used is all there was.
func (u *user) limit(t *testing.T) {
	session, _ := u.windlass(t, 0, "", "session", "create", "--agent", "assistant", "-o", "name")
	out, _ := u.windlass(t, 5, "", "turn", "create", strings.TrimSpace(session), "call:mesh__uuid {} call:mesh__current_time {}",
		"--max-tool-calls", "1", "--watch")
	warned, exhausted := strings.Index(out, "budget.warning"), strings.Index(out, "budget.exhausted")
	if warned < 0 || exhausted < warned || strings.Contains(out, "0 of 1 used") {
		t.Errorf("the limit is told as:\n%s", out)
	}
	config, err := exec.CommandContext(t.Context(), harness.Bin(t, "windlassd"), "config").Output()
	if lines := bytes.Count(config, []byte("\n")); err != nil || lines > 40 {
		t.Errorf("windlassd config prints %d lines, %v", lines, err)
	}
	top, _ := u.windlass(t, 0, "", "top")
	has(t, top, "turns: 0 running, 0 waiting, 0 queued")
}

func (u *user) pages(t *testing.T) {
	t.Run("in Chromium", func(t *testing.T) { // skipped where there is none; the hour goes on
		turns, err := json.Marshal(harness.JSON{"boss": u.boss, "failed": u.failed})
		harness.Must(t, err)
		cmd := harness.Pages(t, u.up, "../../firsthour/pages.mjs")
		cmd.Env = append(cmd.Env, "TURNS="+string(turns))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

func (u *user) killed(t *testing.T) {
	s := u.terminal(t, "chat", `slow:300 say:"one two three four five six seven eight nine ten eleven twelve"`)
	s.Expect("two three")
	u.up.Kill()
	s.Expect("connecting again")
	u.up = harness.Up(u.hour, u.up.DataDir, settings,
		"--http-addr", strings.TrimPrefix(u.up.Client.Base, "http://"))
	s.Expect("one two three four five six seven eight nine ten eleven twelve")
	if code := s.Ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func (u *user) temporal(t *testing.T) {
	if code := u.up.Stop(); code != 0 {
		t.Errorf("the mesh stops with %d", code)
	}
	files, err := filepath.Glob(filepath.Join(u.up.DataDir, "temporal.db*"))
	harness.Must(t, err)
	if len(files) == 0 {
		t.Fatal("Temporal has no database")
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		harness.Must(t, err)
		if bytes.Contains(text, []byte(spoken)) {
			t.Errorf("%s holds what was said", f)
		}
	}
}

func (u *user) fullDisk(t *testing.T) {
	t.Run("on a disk of its own", func(t *testing.T) { // skipped where tests may not mount
		disk := harness.NewDisk(t, 96)
		u.up = disk.Up(settings)
		u.windlass(t, 0, "", "chat", "say:hello")
		disk.Fill()
		full := func() bool {
			_, got, _ := u.up.Client.Do(t.Context(), "GET", "/readyz", nil)
			text, _ := json.Marshal(got)
			return strings.Contains(string(text), "disk is full")
		}
		if !harness.Eventually(time.Minute, full) {
			_, got, _ := u.up.Client.Do(t.Context(), "GET", "/readyz", nil)
			t.Fatalf("/readyz says %v", got)
		}
		out, _ := u.windlass(t, 1, "", "doctor")
		has(t, out, "disk is full")
		disk.Free()
		ready := func() bool {
			status, got, err := u.up.Client.Do(t.Context(), "GET", "/readyz", nil)
			return err == nil && status == 200 && got.Str("status") == "ready"
		}
		if !harness.Eventually(time.Minute, ready) {
			t.Fatal("with room again, the mesh is not ready")
		}
		u.windlass(t, 0, "", "chat", "say:hello")
	})
}
