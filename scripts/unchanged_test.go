package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnUnchangedCheckIsNotRunAgain: a check runs again unless it has succeeded with these inputs, this command and this standard input,
// whatever the times of files are.
func TestAnUnchangedCheckIsNotRunAgain(t *testing.T) {
	script, err := filepath.Abs("unchanged.sh")
	if err != nil {
		t.Fatal(err)
	}
	repository, cache := t.TempDir(), t.TempDir()
	log := filepath.Join(t.TempDir(), "log")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(repository, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start := func(stdin, program string, args ...string) error {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir, cmd.Stdin = repository, strings.NewReader(stdin)
		cmd.Env = append(os.Environ(), "HOME="+cache, "XDG_CACHE_HOME="+cache)
		return cmd.Run()
	}
	runs := func() string {
		raw, _ := os.ReadFile(log) // there is none before the first run
		return string(raw)
	}
	check := func(stdin, command string) error {
		return start(stdin, script, "check", "-", "in", "one", "--", "sh", "-c", "echo >>"+log+"; "+command)
	}
	if err := start("", "git", "init", "--quiet"); err != nil {
		t.Skipf("git: %v", err)
	}
	if err := os.Mkdir(filepath.Join(repository, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("one", "1")
	write("in/two", "2")
	write("other", "3")
	for _, step := range []struct {
		name, stdin, command string
		change               func()
		runs, fails          bool
	}{
		{name: "it has never run", runs: true},
		{name: "nothing has changed"},
		{name: "a file that is no input has changed", change: func() { write("other", "4") }},
		{name: "a file was written with what it had", change: func() { write("one", "1") }},
		{name: "a file has changed", change: func() { write("one", "2") }, runs: true},
		{name: "a file has changed back", change: func() { write("one", "1") }},
		{name: "a folder has a new file", change: func() { write("in/new", "") }, runs: true},
		{name: "a file is renamed", change: func() {
			_ = os.Rename(filepath.Join(repository, "in/new"), filepath.Join(repository, "in/newer")) // a failure shows below
		}, runs: true},
		{name: "a file is gone", change: func() { _ = os.Remove(filepath.Join(repository, "in/two")) }, runs: true},
		{name: "another command", command: "true", runs: true},
		{name: "another standard input", stdin: "x", runs: true},
		{name: "a failure", command: "false", runs: true, fails: true},
		{name: "a failure again", command: "false", runs: true, fails: true},
	} {
		if step.change != nil {
			step.change()
		}
		before := runs()
		if err := check(step.stdin, step.command); (err != nil) != step.fails {
			t.Errorf("%s: %v", step.name, err)
		}
		if ran := runs() != before; ran != step.runs {
			t.Errorf("%s: it ran %t, want %t", step.name, ran, step.runs)
		}
	}
}
