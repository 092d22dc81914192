package cli

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/app"
)

const (
	question = `{"id":"apr_2","kind":"input","status":"pending","turn_id":"trn_1","schema":{"type":"object","properties":{"n":{"type":"integer"}}}}`
	unknown  = `{"id":"apr_4","kind":"resolution","status":"pending","turn_id":"trn_1","call_id":"c1"}`
	onClient = `{"id":"apr_3","kind":"client_tool","status":"pending","turn_id":"trn_1"}`
	approval = `{"id":"apr_1","kind":"approval","status":"pending","arguments_hash":"h"}`
)

func TestDecide(t *testing.T) {
	for _, tc := range []struct {
		id   string
		more []string
		code int
		sent string
		err  string
	}{
		{"apr_1", []string{"y"}, 0, `POST /v1/approvals/apr_1:decide {"arguments_hash":"h","decision":"approve"}`, ""},
		{
			"apr_1",
			[]string{"deny", "too", "much"},
			0,
			`POST /v1/approvals/apr_1:decide {"arguments_hash":"h","comment":"too much","decision":"deny"}`, "",
		},
		{"apr_1", []string{"perhaps"}, 2, "", "perhaps is no answer to an approval: approve? y or n"},
		{"apr_1", nil, 2, "", "say the answer"},
		{"apr_2", []string{"7"}, 0, `POST /v1/approvals/apr_2:answer {"content":{"n":7}}`, ""},
		{"apr_2", []string{""}, 0, `POST /v1/approvals/apr_2:answer {"action":"decline"}`, ""},
		{"apr_3", []string{"it", "is", "open"}, 0, `POST /v1/approvals/apr_3:answer {"result":"it is open"}`, ""},
		{"apr_4", []string{"done", "receipt"}, 0, `POST /v1/turns/trn_1:resolve {"call_id":"c1","outcome":"done","result":"receipt"}`, ""},
		{"apr_4", []string{"not_done"}, 0, `POST /v1/turns/trn_1:resolve {"call_id":"c1","outcome":"not_done"}`, ""},
		{"apr_4", []string{"y"}, 2, "", "did the call happen?"},
	} {
		t.Run(tc.id+strings.Join(tc.more, " "), func(t *testing.T) {
			f := newFake(t, map[string]answer{
				"GET /v1/approvals/apr_1": {body: approval}, "GET /v1/approvals/apr_2": {body: question},
				"GET /v1/approvals/apr_3": {body: onClient}, "GET /v1/approvals/apr_4": {body: unknown},
				"POST /v1/approvals/apr_1:decide": {body: approval}, "POST /v1/approvals/apr_2:answer": {body: question},
				"POST /v1/approvals/apr_3:answer": {body: onClient}, "POST /v1/turns/trn_1:resolve": {body: unknown},
			})
			r := f.windlass("", append([]string{"decide", tc.id}, tc.more...)...)
			if r.code != tc.code || !strings.Contains(r.err, tc.err) || tc.sent != "" && !f.seen(tc.sent) {
				t.Errorf("%d %q, requests %q", r.code, r.err, f.requests)
			}
		})
	}
}

// paused is the stream of a turn that waits for an approval.
func paused(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path != "/v1/turns/trn_1/events" {
		return false
	}
	_, _ = w.Write([]byte(asksLeave + frame("3", "turn.paused", `{"waiting_for":"approval","approval_id":"apr_1"}`)))
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
	return true
}

func TestATurnThatWaitsEndsTheCommandWhereNobodyCanBeAsked(t *testing.T) {
	for _, args := range [][]string{{"chat", "pay him"}, {"run", "support", "pay", "him"}, {"chat", "pay him", "-o", "json"}} {
		f := newFake(t, answers)
		f.hook = paused
		r := f.windlass("", args...)
		if r.code != app.ExitWaiting || !strings.Contains(r.err, "windlass decide apr_1 ANSWER") ||
			!strings.Contains(r.err, "windlass turn watch trn_1") {
			t.Errorf("%q: %d %q", args, r.code, r.err)
		}
		if args[0] == "run" && !f.seen(`POST /v1/sessions {"agent_id":"support"}`) {
			t.Errorf("requests %q", f.requests)
		}
	}
}

func TestAChatWithAMessageAsksOnATerminal(t *testing.T) {
	f := newFake(t, waitAnswers())
	decided := make(chan struct{})
	f.hook = func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case "/v1/approvals/apr_1:decide":
			close(decided)
		case "/v1/turns/trn_1/events":
			_, _ = w.Write([]byte(asksLeave + frame("3", "turn.paused", `{"waiting_for":"approval","approval_id":"apr_1"}`)))
			_ = http.NewResponseController(w).Flush()
			<-decided
			_, _ = w.Write([]byte(strings.Replace(settled, "id: 3", "id: 4", 1) + completed))
			return true
		}
		return false
	}
	if r := f.with(func(a *app.App) { a.Interactive = true }, "y\n", "chat", "pay him"); r.code != 0 {
		t.Errorf("%d %q %q", r.code, r.out, r.err)
	}
}

func TestIDsMayBeShortened(t *testing.T) {
	const one, two = "trn_01m84bff052tgs6v042yht4hfm", "trn_01m84bff052tgs6v042yht4hfn"
	list := answer{body: `{"turns":[{"id":"` + one + `"},{"id":"` + two + `"}],"next_page_token":""}`}
	state := t.TempDir()
	home := func(a *app.App) { a.Environ = append(a.Environ, "XDG_STATE_HOME="+state) }
	f := newFake(t, map[string]answer{
		"GET /v1/turns?page_size=200": list, "GET /v1/turns/" + two: {body: `{"id":"` + two + `"}`},
		"POST /v1/sessions/ses_1/turns":                            {body: `{"id":"` + two + `","session_id":"ses_1"}`},
		"GET /v1/sessions/ses_1":                                   {body: `{"id":"ses_1"}`},
		"GET /v1/approvals?page_size=100&turn_id=" + two:           {body: `{"approvals":[],"next_page_token":""}`},
		"GET /v1/turns?page_size=100&session_id=ses_1":             list,
		"GET /v1/executions?page_size=100&turn_id=" + two:          {body: `{"executions":[],"next_page_token":""}`},
		"GET /v1/executions?page_size=100&turn_id=trn_01m84bff052": {body: `{"executions":[],"next_page_token":""}`},
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
		{"execution list --turn-id @last", 0, ""},
		{"turn get " + two[:len(two)-1], 2, "2 turns begin with " + two[:len(two)-1]},
		{"turn get trn_01m84bff052tgs6v042yht4hfn", 0, ""},
		{"get turn @last", 0, ""},
		{"turn get trn_02", 3, ""},
	} {
		if r := f.with(home, "", strings.Fields(tc.args)...); r.code != tc.code || !strings.Contains(r.err, tc.err) {
			t.Errorf("%s: %d %q %q", tc.args, r.code, r.out, r.err)
		}
	}
	info, err := os.Stat(filepath.Join(state, "windlass", "last.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the state is %v, %v", info, err)
	}
	if r := newFake(t, nil).with(home, "", "turn", "get", "@last"); r.code != 2 {
		t.Errorf("another server knows the last turn of this one: %q", r.err)
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
		f := newFake(t, map[string]answer{"GET /v1/agents/a": {404, `{"code":"not_found","detail":"no","todo":` + quote(rest) + `}`}})
		if r := f.windlass("", "agent", "get", "a"); !strings.Contains(r.err, "  "+want+"\n") {
			t.Errorf("%s became %q", rest, r.err)
		}
	}
}

func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

// TestASilentServerIsNamed calls a server that accepts connections, and then says nothing.
func TestASilentServerIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	said := make(chan struct{})
	f := newFake(t, nil)
	result := make(chan result, 1)
	go func() {
		result <- f.with(func(a *app.App) { a.Err = &onWrite{Writer: a.Err, first: func() { close(said) }} }, "", "agent", "list", "--server",
			l.Addr().String())
	}()
	<-said
	conns := l.Close() // its connections are refused now, and those that wait are reset
	if conns != nil {
		t.Fatal(conns)
	}
	if r := <-result; r.code != 1 || !strings.Contains(r.err, "does not answer, waiting") {
		t.Errorf("%d %q", r.code, r.err)
	}
}

func TestAnotherServerIsNotAnEmptyOne(t *testing.T) {
	f := newFake(t, map[string]answer{"GET /v1/agents?page_size=100": {body: `{"status":"ok"}`}})
	if r := f.windlass("", "agent", "list"); r.code != 1 || !strings.Contains(r.err, "is this a Windlass server?") {
		t.Errorf("%d %q %q", r.code, r.out, r.err)
	}
}

func TestAChatWhoseInputEndsDoesNotWaitForAnswers(t *testing.T) {
	f := newFake(t, answers)
	f.hook = paused
	r := f.with(func(a *app.App) { a.Interactive = true }, "", "chat", "pay him")
	if r.code != app.ExitWaiting || !strings.Contains(r.err, "windlass decide apr_1 ANSWER") {
		t.Errorf("%d %q", r.code, r.err)
	}
}
