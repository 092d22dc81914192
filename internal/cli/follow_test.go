package cli

import (
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/app"
)

const turns200 = `{"turns":[{"id":"trn_1","status":"running","input":"a"},{"id":"trn_2","status":"failed","usage":{"input_tokens":7}}],` +
	`"next_page_token":""}`

func TestOutputExpressions(t *testing.T) {
	f := newFake(t, map[string]answer{
		"GET /v1/turns?page_size=100": {body: turns200}, "GET /v1/turns/trn_1": {body: `{"id":"trn_1","status":"running"}`},
	})
	for _, tc := range []struct {
		args, out, err string
		code           int
	}{
		{args: "turn list -o jsonpath={.items[*].id}", out: "trn_1 trn_2\n"},
		{args: "turn list -o jsonpath={.items[?(@.status=='failed')].usage.input_tokens}", out: "7\n"},
		{args: "turn get trn_1 -o jsonpath={.status}", out: "running\n"},
		{args: "turn get trn_1 -o jsonpath=.nope", code: 1, err: "nope is not found"},
		{args: "turn list -o custom-columns=ID:.id,IN:.usage.input_tokens", out: "ID     IN\ntrn_1  <none>\ntrn_2  7\n"},
		{args: "turn list -o custom-columns=ID", code: 2, err: "want NAME:.path"},
		{args: "turn list -o jsonpath={.a", code: 2, err: "jsonpath"},
		{args: "turn watch trn_1 -o jsonpath={.a}", code: 2, err: "events are printed as lines"},
	} {
		if r := f.windlass("", strings.Fields(tc.args)...); r.code != tc.code || r.out != tc.out || !strings.Contains(r.err, tc.err) {
			t.Errorf("%s: %d %q %q", tc.args, r.code, r.out, r.err)
		}
	}
}

func TestTablesAreColouredOnATerminal(t *testing.T) {
	f := newFake(t, map[string]answer{"GET /v1/turns?page_size=100": {body: turns200}})
	r := f.with(func(a *app.App) { a.Terminal = true }, "", "turn", "list")
	if !strings.Contains(r.out, "\x1b[31mfailed\x1b[0m") || !strings.Contains(r.out, "\x1b[36mrunning\x1b[0m") {
		t.Errorf("%q", r.out)
	}
	r = f.with(func(a *app.App) { a.Terminal = true; a.Environ = append(a.Environ, "NO_COLOR=1") }, "", "turn", "list")
	if strings.Contains(r.out, "\x1b") {
		t.Errorf("%q", r.out)
	}
}

func TestAListCanBeWatched(t *testing.T) {
	f := newFake(t, nil)
	n := 0
	f.hook = func(w http.ResponseWriter, _ *http.Request) bool {
		n++
		switch n {
		case 1:
			_, _ = w.Write([]byte(turns200))
		case 2:
			_, _ = w.Write([]byte(strings.Replace(turns200, "running", "completed", 1)))
		default:
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"code":"permission_denied","detail":"no more"}`))
		}
		return true
	}
	r := f.windlass("", "turn", "list", "-w")
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if r.code != 4 || len(lines) != 4 || !strings.HasPrefix(lines[0], "ID") || !strings.Contains(lines[3], "trn_1") ||
		!strings.Contains(lines[3], "completed") {
		t.Errorf("%d %q %q", r.code, r.out, r.err)
	}
	if r := f.windlass("", "turn", "list", "-w", "-o", "json"); r.code != 2 {
		t.Errorf("%d %q", r.code, r.err)
	}
}

func TestTurnGetWaits(t *testing.T) {
	for status, code := range map[string]int{"completed": 0, "failed": app.ExitTurnFailed, "cancelled": app.ExitTurnFailed} {
		f := newFake(t, nil)
		n := 0
		f.hook = func(w http.ResponseWriter, _ *http.Request) bool {
			if n++; n == 1 {
				_, _ = w.Write([]byte(`{"id":"trn_1","status":"waiting"}`))
			} else {
				_, _ = w.Write([]byte(`{"id":"trn_1","status":"` + status + `"}`))
			}
			return true
		}
		r := f.windlass("", "turn", "get", "trn_1", "--wait", "-o", "name")
		if r.code != code || r.out != "trn_1\n" || !f.seen("GET /v1/turns/trn_1?wait=60s") {
			t.Errorf("%s: %d %q %q", status, r.code, r.out, r.err)
		}
	}
}

func TestTurnOpenPrintsItsPage(t *testing.T) {
	f := newFake(t, answers)
	if r := f.windlass("", "turn", "open", "trn_1"); r.code != 0 || r.out != f.url+"/turns/trn_1\n" {
		t.Errorf("%d %q %q", r.code, r.out, r.err)
	}
}

func TestIDsAndNamesComplete(t *testing.T) {
	f := newFake(t, map[string]answer{
		"GET /v1/turns?page_size=200":  {body: turns200},
		"GET /v1/agents?page_size=200": {body: `{"agents":[{"id":"support"},{"id":"sales"}],"next_page_token":""}`},
		"GET /v1/tools?page_size=200":  {body: `{"tools":[{"name":"notes__list"}],"next_page_token":""}`},
	})
	for typed, want := range map[string]string{
		"turn get trn_": "trn_1\ntrn_2\n", "turn watch x": "", "run s": "support\nsales\n", "chat --agent sa": "sales\n",
		"tool invoke n": "notes__list\n", "agent get ": "support\nsales\n", "get agent su": "support\n",
	} {
		r := f.windlass("", append([]string{"__complete"}, strings.Split(typed, " ")...)...)
		if got, _, _ := strings.Cut(r.out, ":"); got != want {
			t.Errorf("%s: %q, want %q", typed, r.out, want)
		}
	}
}
