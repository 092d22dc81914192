package apply

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Command(Command)

// applying is a fake server that accepts every bundle except those with the word "wrong".
func applying(t *testing.T) *clitest.Server {
	t.Helper()
	f := clitest.New(t, root, nil)
	f.Answers = clitest.Answers{"POST /v1/agents:apply": {Body: `{"applied":[{"kind":"agent","id":"a","action":"created","revision":1,` +
		`"warning":"the model is unknown"}]}`}}
	f.Hook = func(w http.ResponseWriter, _ *http.Request) bool {
		last := f.Requests()[len(f.Requests())-1]
		if strings.Contains(last, "pager") {
			_, err := io.WriteString(w, `{"applied":[{"kind":"webhook","id":"w","action":"created","secret":"whsec_x"}]}`)
			return err == nil
		}
		if strings.Contains(last, "wrong") {
			w.WriteHeader(http.StatusBadRequest)
			_, err := io.WriteString(w, `{"code":"invalid_argument","detail":"document 1, line 2: wrong"}`)
			return err == nil
		}
		return false
	}
	return f
}

func TestApply(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"b.yaml": "two", "a.yml": "one", "c.txt": "no", "bad/x.yaml": "wrong", "bad/a.yaml": "fine"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name, stdin string
		args        []string
		code        int
		out, err    string
		sent        []string
	}{
		{
			name: "a file", args: []string{"-f", filepath.Join(dir, "a.yml")}, out: "agent/a created\n", err: "  the model is unknown\n",
			sent: []string{`{"yaml":"one"}`},
		},
		{
			name: "standard input", stdin: "zero", args: []string{"-f", "-", "-o", "name"}, out: "agent/a\n",
			sent: []string{`{"yaml":"zero"}`},
		},
		{
			name: "a folder is checked first", args: []string{"-f", dir}, out: "agent/a created\nagent/a created\n",
			sent: []string{
				`{"dry_run":true,"yaml":"one"}`, `{"dry_run":true,"yaml":"two"}`, `{"yaml":"one"}`,
				`{"yaml":"two"}`,
			},
		},
		{
			name: "a mistake applies nothing", args: []string{"-f", filepath.Join(dir, "bad")}, code: 1, err: "x.yaml: document 1, line 2: wrong",
			sent: []string{`{"dry_run":true,"yaml":"fine"}`, `{"dry_run":true,"yaml":"wrong"}`},
		},
		{
			name: "dry run", args: []string{"-f", filepath.Join(dir, "a.yml"), "--dry-run"}, out: "agent/a created (dry run)\n",
			sent: []string{`{"dry_run":true,"yaml":"one"}`},
		},
		{name: "as JSON", args: []string{"-f", filepath.Join(dir, "a.yml"), "-o", "json"}, sent: []string{`{"yaml":"one"}`}},
		{
			name: "a webhook's secret", stdin: "pager", args: []string{"-f", "-"}, out: "webhook/w created\n",
			err: "  its signing secret, shown only this once: whsec_x\n", sent: []string{`{"yaml":"pager"}`},
		},
		{name: "no file", code: 2, err: "windlass apply FILE"},
		{name: "without -f", args: []string{filepath.Join(dir, "a.yml"), "-o", "json"}, sent: []string{`{"yaml":"one"}`}},
		{name: "a file that is not there", args: []string{"-f", "/nope.yaml"}, code: 1, err: "/nope.yaml"},
		{name: "a folder without YAML", args: []string{"-f", t.TempDir()}, code: 1, err: "has no .yaml"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := applying(t)
			r := f.Run(tc.stdin, append([]string{"apply"}, tc.args...)...)
			if r.Code != tc.code || tc.out != "" && r.Out != tc.out || !strings.Contains(r.Err, tc.err) {
				t.Errorf("%d %q %q", r.Code, r.Out, r.Err)
			}
			got := strings.ReplaceAll(strings.Join(f.Requests(), "\n"), "POST /v1/agents:apply ", "")
			if got != strings.Join(tc.sent, "\n") {
				t.Errorf("sent\n%s\nwant\n%s", got, strings.Join(tc.sent, "\n"))
			}
		})
	}
}
