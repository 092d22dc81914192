package cli

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/clitest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func root(a *app.App) *cobra.Command { return New(a) }

func TestWrongUseIsExplained(t *testing.T) {
	clitest.Run(t, root, nil, []clitest.Case{
		{Args: "frob", Code: 2, Err: []string{`has no command "frob"`, "See 'windlass --help'"}},
		{Args: "agents lst", Code: 2, Err: []string{"did you mean list"}},
		{Args: "agent get", Code: 2, Err: []string{"ID is missing: windlass agent get ID\n"}},
		{Args: "agent get a b", Code: 2, Err: []string{`"b" is too much: windlass agent get ID` + "\n"}},
		{Args: "session list --limit x", Code: 2, Err: []string{"--limit x: want a whole number\n"}},
		{Args: "agent create foo", Code: 2, Err: []string{`has no command "create"`, "windlass apply"}},
		{Args: "ls", Code: 2, Err: []string{"use 'windlass session list'"}},
		{Args: "ps", Code: 2, Err: []string{"use 'windlass turn list'"}},
		{Args: "--version", Out: "windlass 1.2.3\n"},
		{Args: "agent list --nope", Code: 2, Err: []string{"unknown flag"}},
		{Args: "turn list --stauts running", Code: 2, Err: []string{"unknown flag --stauts; did you mean --status?"}},
		{Args: "turn list --sevrer x", Code: 2, Err: []string{"did you mean --server?"}},
		{Args: "get frobs", Code: 2, Err: []string{"there are agents"}},
		{Args: "get", Code: 2, Err: []string{"say what to get"}},
		{Args: "turn list -o xml", Code: 2, Err: []string{"table, json, yaml or name"}},
		{Args: "turn list --limit -1", Code: 2},
		{Args: "turn list --server ftp://x", Code: 2, Err: []string{"is no address"}},
		{Args: "chat --session a --agent b", Code: 2},
		{Args: "turn list --server 127.0.0.1:1", Code: 1, Err: []string{"no answer from http://127.0.0.1:1", "windlass up"}},
	})
}

func TestAMissingIDIsNamed(t *testing.T) {
	for _, args := range [][]string{
		{"agent", "get", ""}, {"get", "source", ""}, {"turn", "cancel", ""}, {"session", "delete", ""}, {"turn", "create", "", "hello"},
	} {
		f := clitest.New(t, root, nil)
		if r := f.Run("", args...); r.Code == 0 || !strings.Contains(r.Err, "is missing") {
			t.Errorf("windlass %q = %d, %s", args, r.Code, r.Err)
		}
		if len(f.Requests()) > 0 {
			t.Errorf("windlass %q requests %q", args, f.Requests())
		}
	}
}

func TestHelpIsAsRecorded(t *testing.T) {
	a := &app.App{Version: "1.2.3"}
	var walk func(c *cobra.Command)
	var b strings.Builder
	walk = func(c *cobra.Command) {
		b.WriteString(c.UseLine() + "\n  " + c.Short + "\n" + c.LocalNonPersistentFlags().FlagUsages())
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(New(a))
	file := filepath.Join("testdata", "help.golden")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the help changed; look at it and run the test with -update:\n%s", b.String())
	}
}

func TestHelpGoesToStandardOutput(t *testing.T) {
	f := clitest.New(t, root, nil)
	for _, args := range [][]string{{}, {"--help"}, {"agent"}, {"turn", "watch", "--help"}, {"completion", "bash"}} {
		if r := f.Run("", args...); r.Code != 0 || r.Out == "" || r.Err != "" {
			t.Errorf("windlass %v = %d, %d bytes, stderr %q", args, r.Code, len(r.Out), r.Err)
		}
	}
}

func TestIDsAndNamesComplete(t *testing.T) {
	f := clitest.New(t, root, clitest.Answers{
		"GET /v1/turns?page_size=200":  {Body: `{"turns":[{"id":"trn_1"},{"id":"trn_2"}],"next_page_token":""}`},
		"GET /v1/agents?page_size=200": {Body: `{"agents":[{"id":"support"},{"id":"sales"}],"next_page_token":""}`},
		"GET /v1/tools?page_size=200":  {Body: `{"tools":[{"name":"notes__list"}],"next_page_token":""}`},
	})
	for typed, want := range map[string]string{
		"turn get trn_": "trn_1\ntrn_2\n", "turn watch x": "", "run s": "support\nsales\n", "chat --agent sa": "sales\n",
		"tool invoke n": "notes__list\n", "agent get ": "support\nsales\n", "get agent su": "support\n",
	} {
		r := f.Run("", append([]string{"__complete"}, strings.Split(typed, " ")...)...)
		if got, _, _ := strings.Cut(r.Out, ":"); got != want {
			t.Errorf("%s: %q, want %q", typed, r.Out, want)
		}
	}
}
