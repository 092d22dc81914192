package cli

import (
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/app"
)

const (
	approvalA = `{"id":"apr_1","kind":"approval","status":"pending","tool":"bank__pay","arguments":{"amount":5},"message":"money leaves"}`
	questionA = `{"id":"apr_2","kind":"input","status":"answered"}`
	clientA   = `{"id":"apr_3","kind":"client_tool","status":"answered"}`
)

func waitAnswers() map[string]answer {
	return map[string]answer{
		"GET /v1/approvals?page_size=100&status=pending": {body: `{"approvals":[` + approvalA + `],"next_page_token":""}`},
		"POST /v1/approvals/apr_1:decide":                {body: strings.Replace(approvalA, "pending", "approved", 1)},
		"POST /v1/approvals/apr_9:decide":                {400, `{"code":"approval_resolved","detail":"approval apr_9 is denied already"}`},
		"GET /v1/approvals/apr_2":                        {body: questionA},
		"POST /v1/approvals/apr_2:answer":                {body: questionA},
		"GET /v1/approvals/apr_3":                        {body: clientA},
		"POST /v1/approvals/apr_3:answer":                {body: clientA},
		"POST /v1/turns/trn_1:steer":                     {body: `{"turn_id":"trn_1","message_id":"msg_1","seq":7}`},
		"POST /v1/turns/trn_1:resolve":                   {body: `{"id":"apr_4","kind":"resolution","status":"not_done"}`},
		"POST /v1/sessions":                              {body: `{"id":"ses_1","agent_id":"support"}`},
		"POST /v1/sessions/ses_1/turns":                  {202, turnA},
	}
}

func TestWaitCommands(t *testing.T) {
	for _, tc := range []struct {
		args []string
		code int
		out  string
		err  string
		sent string
	}{
		{
			[]string{"approval", "list", "--status", "pending"},
			0,
			"ID     KIND      STATUS   TOOL       ARGUMENTS     AGE  EXPIRES  MESSAGE\napr_1  approval  pending  bank__pay  " +
				"{\"amount\":5}                money leaves\n", "", "",
		},
		{
			[]string{"approval", "approve", "apr_1", "--comment", "fine"},
			0, "apr_1 approved\n", "",
			`POST /v1/approvals/apr_1:decide {"comment":"fine","decision":"approve"}`,
		},
		{
			[]string{"approval", "deny", "apr_9", "apr_1", "--arguments-hash", "h"},
			1, "apr_1 approved\n", "is denied already",
			`POST /v1/approvals/apr_1:decide {"arguments_hash":"h","decision":"deny"}`,
		},
		{[]string{"approval", "answer", "apr_2", `{"a":1}`}, 0, "apr_2 answered\n", "", `POST /v1/approvals/apr_2:answer {"content":{"a":1}}`},
		{[]string{"approval", "answer", "apr_2", "yes"}, 2, "", "is a JSON object", ""},
		{[]string{"approval", "answer", "apr_2", "--decline"}, 0, "apr_2 answered\n", "", `POST /v1/approvals/apr_2:answer {"action":"decline"}`},
		{[]string{"approval", "answer", "apr_2", "x", "--decline"}, 2, "", "takes no ANSWER", ""},
		{
			[]string{"approval", "answer", "apr_3", "it broke", "--error"},
			0, "apr_3 answered\n", "",
			`POST /v1/approvals/apr_3:answer {"is_error":true,"result":"it broke"}`,
		},
		{
			[]string{"turn", "steer", "trn_1", "not", "that"},
			0, "turn_id     trn_1\nmessage_id  msg_1\nseq         7\n", "",
			`POST /v1/turns/trn_1:steer {"input":"not that"}`,
		},
		{
			[]string{"turn", "resolve", "trn_1", "c1", "not_done", "--comment", "looked"},
			0, "apr_4 not_done\n", "",
			`POST /v1/turns/trn_1:resolve {"call_id":"c1","comment":"looked","outcome":"not_done"}`,
		},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			f := newFake(t, waitAnswers())
			r := f.windlass("", tc.args...)
			if r.code != tc.code || r.out != tc.out || !strings.Contains(r.err, tc.err) {
				t.Errorf("%d %q %q", r.code, r.out, r.err)
			}
			if tc.sent != "" && !f.seen(tc.sent) {
				t.Errorf("requests %q lack %q", f.requests, tc.sent)
			}
		})
	}
}

var (
	asksLeave = frame("2", "approval.requested",
		`{"approval_id":"apr_1","call_id":"c1","tool":"bank__pay","arguments":{"amount":5},"arguments_hash":"h","reason":"money leaves"}`)
	asksInput = frame("4", "input.requested",
		`{"approval_id":"apr_2","kind":"input","call_id":"c2","tool":"forms__ask","message":"How `+
			`many?","schema":{"type":"object","properties":{"n":{"type":"integer"}}}}`)
	settled = frame("3", "approval.resolved",
		`{"approval_id":"apr_1","call_id":"c1","verdict":"approved","decisions":[{"subject":"ann","approve":true,"comment":"fine"}]}`)
	answered2 = frame("5", "input.provided", `{"approval_id":"apr_2","call_id":"c2","verdict":"answered","subject":"local"}`)
)

func TestChatAsksWhatTheTurnWaitsFor(t *testing.T) {
	f := newFake(t, waitAnswers())
	decided, answered := make(chan struct{}), make(chan struct{})
	f.hook = func(w http.ResponseWriter, r *http.Request) bool {
		say := func(text string) {
			_, _ = w.Write([]byte(text))
			_ = http.NewResponseController(w).Flush()
		}
		switch r.URL.Path {
		case "/v1/approvals/apr_1:decide":
			close(decided)
		case "/v1/approvals/apr_2:answer":
			close(answered)
		case "/v1/turns/trn_1/events":
			say(asksLeave)
			<-decided
			say(settled + asksInput)
			<-answered
			say(answered2 + completed)
			return true
		}
		return false
	}
	r := f.with(func(a *app.App) { a.Interactive = true }, "pay him\nwhat?\ny go on\n7\n", "chat")
	for _, want := range []string{
		`POST /v1/approvals/apr_1:decide {"arguments_hash":"h","comment":"go on","decision":"approve"}`,
		`POST /v1/approvals/apr_2:answer {"content":{"n":7}}`,
	} {
		if !f.seen(want) {
			t.Errorf("requests %q lack %q", f.requests, want)
		}
	}
	for _, want := range []string{
		`bank__pay {"amount":5}: money leaves`, "approved by ann (fine)", "apr_2 asks: How many?",
		"answered by local",
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q lacks %q", r.out, want)
		}
	}
	if r.code != 0 || strings.Count(r.err, "approve? y or n") != 2 {
		t.Errorf("%d %q", r.code, r.err)
	}
}

func TestSomebodyElseIsFaster(t *testing.T) {
	f := newFake(t, waitAnswers())
	f.hook = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/turns/trn_1/events" {
			return false
		}
		_, _ = w.Write([]byte(asksLeave + settled + completed))
		return true
	}
	if r := f.windlass("", "chat", "pay him"); r.code != 0 || !strings.Contains(r.out, "windlass decide apr_1") {
		t.Errorf("%d %q %q", r.code, r.out, r.err)
	}
	if r := f.windlass("", "turn", "watch", "trn_1"); !strings.Contains(r.out, "approval.requested     apr_1 for bank__pay") {
		t.Errorf("%d %q", r.code, r.out)
	}
}
