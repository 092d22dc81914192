package chat

import (
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/internal/cli/session"
	"github.com/windlass-dev/windlass/internal/cli/turn"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Commands(Commands, session.Noun(), turn.Noun())

const turnA = `{"id":"trn_1","session_id":"ses_1","agent_id":"support","status":"queued","input":"hello"}`

var answers = clitest.Answers{
	"POST /v1/sessions":               {Body: `{"id":"ses_1","agent_id":"support"}`},
	"POST /v1/sessions/ses_1/turns":   {Status: 202, Body: turnA},
	"GET /v1/turns/trn_1":             {Body: turnA},
	"POST /v1/turns/trn_1:cancel":     {Body: turnA},
	"POST /v1/approvals/apr_1:decide": {Body: `{"id":"apr_1","kind":"approval","status":"approved"}`},
	"POST /v1/approvals/apr_2:answer": {Body: `{"id":"apr_2","kind":"input","status":"answered"}`},
}

func TestExitCodeOfATurn(t *testing.T) {
	for _, tc := range []struct {
		name, stream, err string
		code              int
	}{
		{"completed", clitest.Completed, "", app.ExitOK},
		{"stopped by a limit", clitest.Stopped, "turn trn_1 reached a limit: It may take 25 steps.\n  Go on.", app.ExitTurnFailed},
		{"failed", clitest.Broke, "turn trn_1 failed: The key is wrong.", app.ExitTurnFailed},
		{"cancelled", clitest.Cancelled, "turn trn_1 is cancelled", app.ExitTurnFailed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, args := range [][]string{
				{"chat", "hi"},
				{"chat", "hi", "-o", "json"},
			} {
				r := clitest.New(t, root, answers).Stream(clitest.Began+tc.stream).Run("", args...)
				if r.Code != tc.code || !strings.Contains(r.Err, tc.err) {
					t.Errorf("%v = %d %q, want %d %q", args, r.Code, r.Err, tc.code, tc.err)
				}
			}
		})
	}
}

func TestChatInPlainLines(t *testing.T) {
	f := clitest.New(t, root, answers).Stream(clitest.Began + clitest.Ran + clitest.Again + clitest.Answered + clitest.Stopped)
	r := f.Run("", "chat", "hello")
	want := `[tool] notes__list {"a":1,"b":"x"} → one two` + "\uFFFD" + `[2J (12 ms)
[tool] notes__fail {} ✗ tool_unavailable: no (1 ms)
(a worker was lost, another one goes on)
There are two.
(stopped: max_steps)
`
	if r.Code != app.ExitTurnFailed || r.Out != want || !strings.HasPrefix(r.Err, "Go on with: windlass chat --session ses_1\n") {
		t.Errorf("%d\n%s\nwant\n%s\nstderr %q", r.Code, r.Out, want, r.Err)
	}
}

func TestChatOnATerminal(t *testing.T) {
	f := clitest.New(t, root, answers).Stream(clitest.Began + clitest.Ran + clitest.Again + clitest.Answered + clitest.Completed)
	r := f.With(func(a *app.App) { a.Terminal = true; a.Environ = append(a.Environ, "NO_COLOR=1") }, "", "chat", "--session", "ses_1", "hello")
	want := `┌ notes__list {"a":1,"b":"x"}
┌ notes__fail {}
└ notes__list → one two` + "\uFFFD" + `[2J (12 ms)
└ notes__fail ✗ tool_unavailable: no (1 ms)
You have 
(a worker was lost, another one goes on)
(another attempt)
There are two.
`
	if r.Code != 0 || r.Out != want {
		t.Errorf("%d\n%s\nwant\n%s", r.Code, r.Out, want)
	}
	f = clitest.New(t, root, answers).Stream(clitest.Began + clitest.Completed)
	coloured := f.With(func(a *app.App) { a.Terminal = true }, "", "chat", "hello")
	if !strings.Contains(coloured.Out, "\x1b[1mnotes__list\x1b[0m") {
		t.Errorf("no colours in %q", coloured.Out)
	}
}

func TestChatReadsLines(t *testing.T) {
	f := clitest.New(t, root, answers).Stream(clitest.Began+clitest.Answered+clitest.Completed, clitest.Began+clitest.Broke)
	r := f.Run("\ufefffirst\n\n  \nsecond\n", "chat", "--agent", "support")
	if r.Code != app.ExitTurnFailed || r.Out != "There are two.\n" {
		t.Errorf("%d %q %q", r.Code, r.Out, r.Err)
	}
	for _, want := range []string{
		`POST /v1/sessions {"agent_id":"support"}`, `POST /v1/sessions/ses_1/turns {"input":"first"}`,
		`POST /v1/sessions/ses_1/turns {"input":"second"}`,
	} {
		if !f.Seen(want) {
			t.Errorf("requests %q lack %q", f.Requests(), want)
		}
	}
}

func TestInterruptCancelsTheTurnAndThenLeaves(t *testing.T) {
	f := clitest.New(t, root, answers)
	asked := make(chan struct{})
	f.Hook = func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case "/v1/turns/trn_1:cancel":
			close(asked)
		case "/v1/turns/trn_1/events":
			_, _ = w.Write([]byte(clitest.Began))
			_ = http.NewResponseController(w).Flush()
			<-asked
			_, _ = w.Write([]byte(clitest.Cancelled))
			return true
		}
		return false
	}
	r := f.With(func(a *app.App) {
		a.Terminal = true
		a.Out = &clitest.OnWrite{Writer: a.Out, First: func() {
			if !a.Interrupt() {
				t.Error("the first Ctrl-C is not taken")
			}
			if a.Interrupt() {
				t.Error("the second Ctrl-C is taken too")
			}
		}}
	}, "", "chat", "hello")
	if r.Code != app.ExitTurnFailed || !strings.Contains(r.Err, "cancelling…") ||
		!f.Seen(`POST /v1/turns/trn_1:cancel {"reason":"cancelled in chat"}`) {
		t.Errorf("%d %q %q", r.Code, r.Err, f.Requests())
	}
}

// paused is the stream of a turn that waits for an approval.
func paused(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path != "/v1/turns/trn_1/events" {
		return false
	}
	_, _ = w.Write([]byte(asksApproval + clitest.Frame("3", "turn.paused", `{"waiting_for":"approval","approval_id":"apr_1"}`)))
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
	return true
}

func TestATurnThatWaitsEndsTheCommandWhereNobodyCanBeAsked(t *testing.T) {
	for _, args := range [][]string{{"chat", "pay him"}, {"run", "support", "pay", "him"}, {"chat", "pay him", "-o", "json"}} {
		f := clitest.New(t, root, answers)
		f.Hook = paused
		r := f.Run("", args...)
		if r.Code != app.ExitWaiting || !strings.Contains(r.Err, "windlass decide apr_1 ANSWER") ||
			!strings.Contains(r.Err, "windlass turn watch trn_1") {
			t.Errorf("%q: %d %q", args, r.Code, r.Err)
		}
		if args[0] == "run" && !f.Seen(`POST /v1/sessions {"agent_id":"support"}`) {
			t.Errorf("requests %q", f.Requests())
		}
	}
}

func TestAChatWithAMessageAsksOnATerminal(t *testing.T) {
	f := clitest.New(t, root, answers)
	decided := make(chan struct{})
	f.Hook = func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case "/v1/approvals/apr_1:decide":
			close(decided)
		case "/v1/turns/trn_1/events":
			_, _ = w.Write([]byte(asksApproval + clitest.Frame("3", "turn.paused", `{"waiting_for":"approval","approval_id":"apr_1"}`)))
			_ = http.NewResponseController(w).Flush()
			<-decided
			_, _ = w.Write([]byte(strings.Replace(resolved, "id: 3", "id: 4", 1) + clitest.Completed))
			return true
		}
		return false
	}
	if r := f.With(func(a *app.App) { a.Interactive = true }, "y\n", "chat", "pay him"); r.Code != 0 {
		t.Errorf("%d %q %q", r.Code, r.Out, r.Err)
	}
}

func TestAChatWhoseInputEndsDoesNotWaitForAnswers(t *testing.T) {
	f := clitest.New(t, root, answers)
	f.Hook = paused
	r := f.With(func(a *app.App) { a.Interactive = true }, "", "chat", "pay him")
	if r.Code != app.ExitWaiting || !strings.Contains(r.Err, "windlass decide apr_1 ANSWER") {
		t.Errorf("%d %q", r.Code, r.Err)
	}
}

var (
	asksApproval = clitest.Frame("2", "approval.requested",
		`{"approval_id":"apr_1","call_id":"c1","tool":"bank__pay","arguments":{"amount":5},"arguments_hash":"h","reason":"money leaves"}`)
	asksInput = clitest.Frame("4", "input.requested",
		`{"approval_id":"apr_2","kind":"input","call_id":"c2","tool":"forms__ask","message":"How `+
			`many?","schema":{"type":"object","properties":{"n":{"type":"integer"}}}}`)
	resolved = clitest.Frame("3", "approval.resolved",
		`{"approval_id":"apr_1","call_id":"c1","verdict":"approved","decisions":[{"subject":"ann","approve":true,"comment":"fine"}]}`)
	provided = clitest.Frame("5", "input.provided", `{"approval_id":"apr_2","call_id":"c2","verdict":"answered","subject":"local"}`)
)

func TestChatAsksWhatTheTurnWaitsFor(t *testing.T) {
	f := clitest.New(t, root, answers)
	decided, answered := make(chan struct{}), make(chan struct{})
	f.Hook = func(w http.ResponseWriter, r *http.Request) bool {
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
			say(asksApproval)
			<-decided
			say(resolved + asksInput)
			<-answered
			say(provided + clitest.Completed)
			return true
		}
		return false
	}
	r := f.With(func(a *app.App) { a.Interactive = true }, "pay him\nwhat?\ny go on\n7\n", "chat")
	for _, want := range []string{
		`POST /v1/approvals/apr_1:decide {"arguments_hash":"h","comment":"go on","decision":"approve"}`,
		`POST /v1/approvals/apr_2:answer {"content":{"n":7}}`,
	} {
		if !f.Seen(want) {
			t.Errorf("requests %q lack %q", f.Requests(), want)
		}
	}
	for _, want := range []string{
		`bank__pay {"amount":5}: money leaves`, "approved by ann (fine)", "apr_2 asks: How many?",
		"answered by local",
	} {
		if !strings.Contains(r.Out, want) {
			t.Errorf("%q lacks %q", r.Out, want)
		}
	}
	if r.Code != 0 || strings.Count(r.Err, "approve? y or n") != 2 {
		t.Errorf("%d %q", r.Code, r.Err)
	}
}

func TestSomebodyElseIsFaster(t *testing.T) {
	f := clitest.New(t, root, answers)
	f.Hook = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/turns/trn_1/events" {
			return false
		}
		_, _ = w.Write([]byte(asksApproval + resolved + clitest.Completed))
		return true
	}
	if r := f.Run("", "chat", "pay him"); r.Code != 0 || !strings.Contains(r.Out, "windlass decide apr_1") {
		t.Errorf("%d %q %q", r.Code, r.Out, r.Err)
	}
}
