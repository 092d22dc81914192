package command_test

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/agent"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/internal/cli/execution"
	"github.com/windlass-dev/windlass/internal/cli/session"
	"github.com/windlass-dev/windlass/internal/cli/turn"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Nouns(agent.Noun(), session.Noun(), turn.Noun(), execution.Noun())

const turns200 = `{"turns":[{"id":"trn_1","status":"running","input":"a"},{"id":"trn_2","status":"failed","usage":{"input_tokens":7}}],` +
	`"next_page_token":""}`

func TestOutputExpressions(t *testing.T) {
	f := clitest.New(t, root, clitest.Answers{
		"GET /v1/turns?page_size=100": {Body: turns200}, "GET /v1/turns/trn_1": {Body: `{"id":"trn_1","status":"running"}`},
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
		if r := f.Run("", strings.Fields(tc.args)...); r.Code != tc.code || r.Out != tc.out || !strings.Contains(r.Err, tc.err) {
			t.Errorf("%s: %d %q %q", tc.args, r.Code, r.Out, r.Err)
		}
	}
}

func TestTablesAreColouredOnATerminal(t *testing.T) {
	f := clitest.New(t, root, clitest.Answers{"GET /v1/turns?page_size=100": {Body: turns200}})
	r := f.With(func(a *app.App) { a.Terminal = true }, "", "turn", "list")
	if !strings.Contains(r.Out, "\x1b[31mfailed\x1b[0m") || !strings.Contains(r.Out, "\x1b[36mrunning\x1b[0m") {
		t.Errorf("%q", r.Out)
	}
	r = f.With(func(a *app.App) { a.Terminal = true; a.Environ = append(a.Environ, "NO_COLOR=1") }, "", "turn", "list")
	if strings.Contains(r.Out, "\x1b") {
		t.Errorf("%q", r.Out)
	}
}

func TestAListCanBeWatched(t *testing.T) {
	f := clitest.New(t, root, nil)
	n := 0
	f.Hook = func(w http.ResponseWriter, _ *http.Request) bool {
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
	r := f.Run("", "turn", "list", "-w")
	lines := strings.Split(strings.TrimSpace(r.Out), "\n")
	if r.Code != 4 || len(lines) != 4 || !strings.HasPrefix(lines[0], "ID") || !strings.Contains(lines[3], "trn_1") ||
		!strings.Contains(lines[3], "completed") {
		t.Errorf("%d %q %q", r.Code, r.Out, r.Err)
	}
	if r := f.Run("", "turn", "list", "-w", "-o", "json"); r.Code != 2 {
		t.Errorf("%d %q", r.Code, r.Err)
	}
}

func TestIDsMayBeShortened(t *testing.T) {
	const one, two = "trn_01m84bff052tgs6v042yht4hfm", "trn_01m84bff052tgs6v042yht4hfn"
	list := clitest.Answer{Body: `{"turns":[{"id":"` + one + `"},{"id":"` + two + `"}],"next_page_token":""}`}
	state := t.TempDir()
	home := func(a *app.App) { a.Environ = append(a.Environ, "XDG_STATE_HOME="+state) }
	f := clitest.New(t, root, clitest.Answers{
		"GET /v1/turns?page_size=200": list, "GET /v1/turns/" + two: {Body: `{"id":"` + two + `"}`},
		"POST /v1/sessions/ses_1/turns":                            {Body: `{"id":"` + two + `","session_id":"ses_1"}`},
		"GET /v1/sessions/ses_1":                                   {Body: `{"id":"ses_1"}`},
		"GET /v1/approvals?page_size=100&turn_id=" + two:           {Body: `{"approvals":[],"next_page_token":""}`},
		"GET /v1/turns?page_size=100&session_id=ses_1":             list,
		"GET /v1/executions?page_size=100&turn_id=" + two:          {Body: `{"executions":[],"next_page_token":""}`},
		"GET /v1/executions?page_size=100&turn_id=trn_01m84bff052": {Body: `{"executions":[],"next_page_token":""}`},
	})
	for _, tc := range []struct {
		args string
		code int
		err  string
	}{
		{"turn get @last", 2, "there is no last turn"},
		{"turn create ses_1 hello", 0, ""},
		{"turn get @last", 0, ""},
		{"session get @last", 0, ""},
		{"turn list --session @last", 0, ""},
		{"execution list --turn @last", 0, ""},
		{"turn get " + two[:len(two)-1], 2, "2 turns begin with " + two[:len(two)-1]},
		{"turn get trn_01m84bff052tgs6v042yht4hfn", 0, ""},
		{"get turn @last", 0, ""},
		{"turn get trn_02", 3, ""},
	} {
		if r := f.With(home, "", strings.Fields(tc.args)...); r.Code != tc.code || !strings.Contains(r.Err, tc.err) {
			t.Errorf("%s: %d %q %q", tc.args, r.Code, r.Out, r.Err)
		}
	}
	info, err := os.Stat(filepath.Join(state, "windlass", "last.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the state is %v, %v", info, err)
	}
	if r := clitest.New(t, root, nil).With(home, "", "turn", "get", "@last"); r.Code != 2 {
		t.Errorf("another server knows the last turn of this one: %q", r.Err)
	}
}

func TestHintsAreCommands(t *testing.T) {
	for rest, want := range map[string]string{
		"POST /v1/agents {\"id\":\"assistant\"}":            "'windlass apply FILE'",
		"GET /v1/approvals?turn_id=trn_1&kind=resolution":   "'windlass approval list --turn trn_1 --kind resolution'",
		"POST /v1/approvals/apr_1:decide":                   "'windlass decide apr_1'",
		"POST /v1/turns/trn_1:resolve":                      "'windlass approval list --kind resolution --turn trn_1'",
		"GET /v1/approvals/apr_1":                           "'windlass approval get apr_1'",
		"GET /v1/sessions":                                  "'windlass session list'",
		"DELETE /v1/budgets/bgt_1":                          "'windlass budget delete bgt_1'",
		"POST /v1/turns/trn_1:cancel":                       "'windlass turn cancel trn_1'",
		"Read it: GET /v1/approvals/apr_1. GET /v1/agents.": "Read it: 'windlass approval get apr_1'. 'windlass agent list'.",
	} {
		f := clitest.New(t, root, clitest.Answers{"GET /v1/agents/a": {Status: 404, Body: `{"code":"not_found","detail":"no","todo":` + quote(rest) + `}`}})
		if r := f.Run("", "agent", "get", "a"); !strings.Contains(r.Err, "  "+want+"\n") {
			t.Errorf("%s became %q", rest, r.Err)
		}
	}
}

// TestASilentServerIsNamed calls a server that accepts connections, and then says nothing.
func TestASilentServerIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	said := make(chan struct{})
	f := clitest.New(t, root, nil)
	result := make(chan clitest.Result, 1)
	go func() {
		result <- f.With(func(a *app.App) { a.Err = &clitest.OnWrite{Writer: a.Err, First: func() { close(said) }} },
			"", "agent", "list", "--server", l.Addr().String())
	}()
	<-said
	conns := l.Close() // its connections are refused now, and those that wait are reset
	if conns != nil {
		t.Fatal(conns)
	}
	if r := <-result; r.Code != 1 || !strings.Contains(r.Err, "does not answer, waiting") {
		t.Errorf("%d %q", r.Code, r.Err)
	}
}

func TestAnotherServerIsNotAnEmptyOne(t *testing.T) {
	f := clitest.New(t, root, clitest.Answers{"GET /v1/agents?page_size=100": {Body: `{"status":"ok"}`}})
	if r := f.Run("", "agent", "list"); r.Code != 1 || !strings.Contains(r.Err, "is this a Windlass server?") {
		t.Errorf("%d %q %q", r.Code, r.Out, r.Err)
	}
}

func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }
