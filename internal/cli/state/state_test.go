package state_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/state"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testwant"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func in(dir string) *app.App { return &app.App{Environ: []string{"XDG_STATE_HOME=" + dir}} }

func TestWhereTheStateIsKept(t *testing.T) {
	for _, tc := range []struct {
		name    string
		environ []string
		want    string
	}{
		{name: "the folder of the user", environ: []string{"HOME=/home/ann"}, want: "/home/ann/.local/state/windlass/history"},
		{name: "that of XDG", environ: []string{"HOME=/home/ann", "XDG_STATE_HOME=/state"}, want: "/state/windlass/history"},
		{name: "a relative one is ignored", environ: []string{"HOME=/home/ann", "XDG_STATE_HOME=state"}},
		{name: "no home"},
		{name: "a relative home", environ: []string{"HOME=ann"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			testwant.Equal(t, "the file", state.Of(&app.App{Environ: tc.environ}, "http://a").File("history"), tc.want)
		})
	}
}

func TestIDsAreRememberedByServer(t *testing.T) {
	dir := t.TempDir()
	a, b := state.Of(in(dir), "http://a"), state.Of(in(dir), "http://b")
	testwant.Equal(t, "the first session", a.Last("session"), "")
	a.Remember(map[string]string{"session": "ses_1", "turn": "trn_1"})
	b.Remember(map[string]string{"session": "ses_2"})
	a.Remember(map[string]string{"session": "", "turn": "trn_3"})
	for _, tc := range []struct {
		of         state.Store
		kind, want string
	}{
		{a, "session", "ses_1"},
		{a, "turn", "trn_3"},
		{a, "approval", ""},
		{b, "session", "ses_2"},
		{b, "turn", ""},
		{state.Of(in(dir), "http://c"), "session", ""},
	} {
		testwant.Equal(t, "the last "+tc.kind, tc.of.Last(tc.kind), tc.want)
	}
}

func TestTheStateIsOfItsUserOnly(t *testing.T) {
	dir := t.TempDir()
	s := state.Of(in(dir), "http://a")
	s.Remember(map[string]string{"session": "ses_1"})
	for path, want := range map[string]os.FileMode{
		filepath.Join(dir, "windlass"): 0o700, filepath.Join(dir, "windlass", "last.json"): 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		testwant.Equal(t, path, info.Mode().Perm(), want)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "windlass"))
	if err != nil {
		t.Fatal(err)
	}
	testwant.Len(t, "files of the state", entries, 1) // no temporary file is left
}

func TestWhatIsTheSameIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	s := state.Of(in(dir), "http://a")
	s.Remember(map[string]string{"session": "ses_1"})
	file := filepath.Join(dir, "windlass", "last.json")
	before := testwant.Must(os.Stat(file))
	s.Remember(map[string]string{"session": "ses_1", "turn": ""})
	if after := testwant.Must(os.Stat(file)); !os.SameFile(before, after) {
		t.Error("the file was replaced")
	}
}

func TestAStateThatCannotBeUsedIsNone(t *testing.T) {
	nowhere := state.Of(&app.App{}, "http://a")
	nowhere.Remember(map[string]string{"session": "ses_1"})
	testwant.Equal(t, "without a home", nowhere.Last("session"), "")
	for name, content := range map[string]string{"no JSON": "{", "null": "null", "another shape": `{"http://a":["x"]}`} {
		dir := t.TempDir()
		file := filepath.Join(dir, "windlass", "last.json")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		s := state.Of(in(dir), "http://a")
		testwant.Equal(t, name, s.Last("session"), "")
		s.Remember(map[string]string{"session": "ses_1"})
		testwant.Equal(t, name+", then written", s.Last("session"), "ses_1")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	below := state.Of(in(file), "http://a")
	below.Remember(map[string]string{"session": "ses_1"})
	testwant.Equal(t, "below a file", below.Last("session"), "")
}

func TestCommandsRememberAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	done := make(chan struct{})
	for i := range 8 {
		go func() {
			defer func() { done <- struct{}{} }()
			for n := range 20 {
				state.Of(in(dir), "http://a").Remember(map[string]string{"session": fmt.Sprintf("ses_%d_%d", i, n)})
			}
		}()
	}
	for range 8 {
		<-done
	}
	if got := state.Of(in(dir), "http://a").Last("session"); len(got) < len("ses_0_0") {
		t.Errorf("the file holds %q: it was written halfway", got)
	}
}
