package e2e

import (
	"compress/gzip"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/internal/release/archive"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testnpm"
	"github.com/windlass-dev/windlass/test/harness"
)

// programs are those that users download, by their names in the archive.
func programs(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range []string{"windlass", "windlass-temporal", "examples/calculator", "examples/notes"} {
		all[name] = harness.PlainBin(t, name)
	}
	return all
}

// released serves a release of programs as install.sh downloads it. change alters a file on its way.
func released(t *testing.T, programs map[string]string, change func(name string, data []byte) []byte) (url, folder string) {
	t.Helper()
	dir := t.TempDir()
	for name, from := range programs {
		path := filepath.Join(dir, "programs", "windlass", runtime.GOOS+"_"+runtime.GOARCH, name)
		data, err := os.ReadFile(from)
		harness.Must(t, errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o755)))
	}
	r := archive.Release{
		Version: "v0.0.1", Commit: "0000", Programs: filepath.Join(dir, "programs"), Out: filepath.Join(dir, "out"),
		Time: time.Unix(1_700_000_000, 0), Level: gzip.BestSpeed,
	}
	harness.Must(t, r.Write())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name, ok := strings.CutPrefix(req.URL.Path, "/v0.0.1/")
		data, err := os.ReadFile(filepath.Join(r.Out, filepath.Base(name)))
		if !ok || err != nil {
			http.NotFound(w, req)
			return
		}
		_, _ = w.Write(change(name, data))
	}))
	t.Cleanup(s.Close)
	return s.URL, r.Out
}

// install runs install.sh for a new user who has neither Go nor this repository.
func install(t *testing.T, home, releases, version string, env ...string) (string, error) {
	t.Helper()
	script, err := filepath.Abs("../../install.sh")
	harness.Must(t, err)
	cmd := exec.CommandContext(t.Context(), "/bin/sh", script, version)
	cmd.Dir = home
	cmd.Env = append([]string{"HOME=" + home, "PATH=/usr/bin:/bin", "WINDLASS_RELEASES=" + releases}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestAnArchiveIsEnough: a user with nothing but a shell installs a release and has the first answer.
func TestAnArchiveIsEnough(t *testing.T) {
	t.Parallel()
	url, _ := released(t, programs(t), func(_ string, data []byte) []byte { return data })
	home := t.TempDir()
	times := 1
	if testmain.Whole() { // the second time over the first, as TestInstallIntoFolders does with a small program
		times = 2
	}
	for range times {
		out, err := install(t, home, url, "v0.0.1")
		if err != nil || !strings.Contains(out, "Windlass v0.0.1 is in") {
			t.Fatalf("install.sh: %v\n%s", err, out)
		}
	}
	program := filepath.Join(home, ".local/bin/windlass")
	up := harness.Launch(t, "windlass up", []string{"PATH=/usr/bin:/bin", "HOME=" + home}, program, "up", "-o", "json",
		"--data-dir", t.TempDir(),
		"--http-addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0", "--temporal-addr", "127.0.0.1:0", "--temporal-ui-addr", "127.0.0.1:0",
		"--issuer-addr", "127.0.0.1:0")
	up.Await()
	server, _ := up.Ready["url"].(string)
	chat := exec.CommandContext(t.Context(), program, "chat", "--server", server, "What is 17 * 23?")
	chat.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin"}
	if out, err := chat.CombinedOutput(); err != nil || !strings.Contains(string(out), "391") {
		t.Errorf("the first answer is %s, %v", out, err)
	}
}

// TestAnArchiveThatWasChangedIsRefused: what is not what SHA256SUMS says is not installed, and what was there stays.
func TestAnArchiveThatWasChangedIsRefused(t *testing.T) {
	t.Parallel()
	same := func(_ string, data []byte) []byte { return data }
	script := filepath.Join(t.TempDir(), "windlass")
	harness.Must(t, os.WriteFile(script, []byte("#!/bin/sh\necho new\n"), 0o600))
	small := map[string]string{"windlass": script}
	for name, c := range map[string]struct {
		change  func(string, []byte) []byte
		version string
		says    string
	}{
		"one byte": {func(name string, data []byte) []byte {
			if strings.HasSuffix(name, ".tar.gz") {
				data = append([]byte(nil), data...)
				data[len(data)/2] ^= 1
			}
			return data
		}, "v0.0.1", "it is not what was released"},
		"the half": {func(name string, data []byte) []byte {
			if strings.HasSuffix(name, ".tar.gz") {
				return data[:len(data)/2]
			}
			return data
		}, "v0.0.1", "it is not what was released"},
		"no sums":           {func(string, []byte) []byte { return nil }, "v0.0.1", "has no windlass_v0.0.1_"},
		"another version":   {same, "v9.9.9", "is v9.9.9 a release?"},
		"no version":        {same, "", "say which version"},
		"a path as version": {same, "v1/../..", "is no version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			old := filepath.Join(home, ".local/bin/windlass")
			harness.Must(t, errors.Join(os.MkdirAll(filepath.Dir(old), 0o755), os.WriteFile(old, []byte("old"), 0o600)))
			url, _ := released(t, small, c.change)
			out, err := install(t, home, url, c.version)
			if err == nil || !strings.Contains(out, c.says) {
				t.Errorf("install.sh: %v\n%s\nwant %q", err, out, c.says)
			}
			if now, err := os.ReadFile(old); err != nil || string(now) != "old" {
				t.Errorf("the command that was there is %q, %v", now, err)
			}
			left, err := filepath.Glob(filepath.Join(home, ".local/share/windlass/*"))
			if err != nil || len(left) > 0 {
				t.Errorf("there is %v, %v", left, err)
			}
		})
	}
}

// TestInstallIntoFolders: the command runs from anywhere, also when a version is installed again, and when that breaks off.
func TestInstallIntoFolders(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "windlass")
	harness.Must(t, os.WriteFile(script, []byte("#!/bin/sh\necho it runs\n"), 0o600))
	url, _ := released(t, map[string]string{"windlass": script}, func(_ string, data []byte) []byte { return data })
	// broken has a mv that does not move what was unpacked.
	broken := t.TempDir()
	mv := "#!/bin/sh\ncase $1 in */windlass_v*) exit 1 ;; esac\nexec /bin/mv \"$@\"\n"
	harness.Must(t, os.WriteFile(filepath.Join(broken, "mv"), []byte(mv), 0o700))
	for name, c := range map[string]struct {
		env             []string
		programs, links string
	}{
		"the folders of the user": {nil, ".local/share/windlass", ".local/bin"},
		"relative folders":        {[]string{"WINDLASS_HOME=my programs", "WINDLASS_BIN=./bin"}, "my programs", "bin"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			command, mark := filepath.Join(home, c.links, "windlass"), filepath.Join(home, c.programs, "v0.0.1", "mark")
			runs := func() {
				t.Helper()
				out, err := exec.CommandContext(t.Context(), command).CombinedOutput()
				if err != nil || string(out) != "it runs\n" {
					t.Errorf("the command says %q, %v", out, err)
				}
			}
			out, err := install(t, home, url, "v0.0.1", c.env...)
			if err != nil {
				t.Fatalf("install.sh: %v\n%s", err, out)
			}
			runs()
			harness.Must(t, os.WriteFile(mark, nil, 0o600))
			if out, err := install(t, home, url, "v0.0.1", append([]string{"PATH=" + broken + ":/usr/bin:/bin"}, c.env...)...); err == nil {
				t.Errorf("install.sh ends well without mv:\n%s", out)
			}
			if _, err := os.Stat(mark); err != nil {
				t.Errorf("the version that was there: %v", err)
			}
			runs()
			if out, err := install(t, home, url, "v0.0.1", c.env...); err != nil {
				t.Errorf("install.sh over an installed version: %v\n%s", err, out)
			}
			if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the old version is still there: %v", err)
			}
			runs()
			left, err := filepath.Glob(filepath.Join(home, c.programs, ".install-*"))
			if err != nil || len(left) > 0 {
				t.Errorf("there is %v, %v", left, err)
			}
		})
	}
}

// TestThePackageOfNPMDownloadsOnce: it installs the archive that it was made with, and no other.
func TestThePackageOfNPMDownloadsOnce(t *testing.T) {
	t.Parallel()
	node := testnpm.Node(t)
	script := filepath.Join(t.TempDir(), "windlass")
	harness.Must(t, os.WriteFile(script, []byte("#!/bin/sh\necho it was asked: $*\nexit 3\n"), 0o600))
	var asked, spoilt atomic.Int32
	url, folder := released(t, map[string]string{"windlass": script}, func(_ string, data []byte) []byte {
		asked.Add(1)
		if spoilt.Load() == 1 {
			return data[1:]
		}
		return data
	})
	home := t.TempDir()
	windlass := func() (string, int) {
		cmd := exec.CommandContext(t.Context(), node, filepath.Join(folder, "npm", "windlass.js"), "turn", "list")
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "WINDLASS_RELEASES=" + url}
		out, _ := cmd.CombinedOutput() // the exit code tells
		return string(out), cmd.ProcessState.ExitCode()
	}
	spoilt.Store(1)
	if out, code := windlass(); code != 1 || !strings.Contains(out, "nothing was installed") {
		t.Errorf("with a changed archive it ends with %d:\n%s", code, out)
	}
	spoilt.Store(0)
	for range 2 {
		if out, code := windlass(); code != 3 || !strings.Contains(out, "it was asked: turn list") {
			t.Errorf("it ends with %d:\n%s", code, out)
		}
	}
	if got := asked.Load(); got != 2 {
		t.Errorf("it downloaded %d times, want twice: once what was changed", got)
	}
}
