package cli

import (
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/app"
)

// frame formats one frame as the gateway does.
func frame(cursor, typ, data string) string {
	seq, delta, _ := strings.Cut(cursor, ".")
	if delta != "" {
		delta = `"delta":` + delta + ","
	}
	return "id: " + cursor + "\nevent: " + typ + "\ndata: {\"seq\":" + seq + "," + delta + `"type":"` + typ + `","data":` + data + "}\n\n"
}

var (
	began = frame("1", "turn.queued", `{"input":[{"text":"hello"}]}`) +
		frame("2", "turn.started", `{"agent_id":"support","model":"openai/gpt","tools":["notes__list"]}`) +
		frame("3", "message.started", `{"message_id":"msg_1","model":"openai/gpt"}`) +
		frame("4", "message.completed",
			`{"message":{"id":"msg_1","role":"assistant","tool_calls":[{"call_id":"c1","tool":"notes__list","arguments_json":"{}"}]}}`) +
		frame("5", "tool_call.started", `{"call_id":"c1","tool":"notes__list","arguments":{"a":1,"b":"x"}}`) +
		frame("6", "tool_call.started", `{"call_id":"c2","tool":"notes__fail","arguments":{}}`)
	ran = frame("7", "tool_call.completed",
		`{"result":{"call_id":"c1","tool":"notes__list","content":[{"text":"one\ntwo\u001b[2J"}]},"latency_ms":12}`) +
		frame("8", "tool_call.completed",
			`{"result":{"call_id":"c2","tool":"notes__fail","content":[{"text":"no"}],"is_error":true},"code":"tool_unavailable","latency_ms":1}`) +
		frame("9", "message.started", `{"message_id":"msg_2"}`) + frame("9.1", "message.delta", `{"message_id":"msg_2","text":"You have "}`)
	again = frame("10", "turn.recovered", `{}`) + frame("11", "message.reset", `{"message_id":"msg_2","reason":"worker lost"}`) +
		frame("11.1", "message.delta", `{"message_id":"msg_2","text":"There are "}`)
	answered  = frame("12", "message.completed", `{"message":{"id":"msg_2","role":"assistant","content":[{"text":"There are two."}]}}`)
	completed = frame("13", "turn.completed", `{"status":"completed","stop_reason":"end","output":"There are two."}`) + end
	broke     = frame("13", "turn.failed",
		`{"status":"failed","stop_reason":"error","error":{"code":"model_rejected","message":"The key is wrong."}}`) + end
	stopped = frame("13", "turn.completed", `{"status":"completed","stop_reason":"max_steps","output":"There are two.",`+
		`"limit_reached":{"code":"limit_reached","limit":"max_steps","value":"25","message":"It may take 25 steps.","hint":"Go on."}}`) + end
	cancelled = frame("13", "turn.cancelled", `{"status":"cancelled","stop_reason":"cancelled"}`) + end
)

const end = "event: end\ndata: {\"turn_id\":\"trn_1\"}\n\n"

// streaming returns a fake server with the given event streams, one per connection.
func streaming(t *testing.T, streams ...string) *fake {
	t.Helper()
	f := newFake(t, answers)
	n := 0
	f.hook = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/turns/trn_1/events" {
			return false
		}
		if n >= len(streams) {
			t.Errorf("connection %d was not expected", n+1)
			w.WriteHeader(http.StatusNoContent)
			return true
		}
		n++
		_, _ = w.Write([]byte(streams[n-1]))
		return true
	}
	return f
}

func TestTurnWatch(t *testing.T) {
	f := streaming(t, began+ran, again+answered+completed)
	r := f.windlass("", "turn", "watch", "trn_1")
	want := `1       turn.queued            hello
2       turn.started           agent support, model openai/gpt, 1 tools
3       message.started        asking openai/gpt
4       message.completed      notes__list{}
5       tool_call.started      notes__list {"a":1,"b":"x"}
6       tool_call.started      notes__fail {}
7       tool_call.completed    notes__list → one two` + "\uFFFD" + `[2J (12 ms)
8       tool_call.completed    notes__fail ✗ tool_unavailable: no (1 ms)
9       message.started        asking
10      turn.recovered         another worker goes on with
11      message.reset          worker lost
12      message.completed      There are two.
13      turn.completed         end: There are two.
`
	if r.code != 0 || r.out != want || strings.Count(r.err, "the stream broke") != 1 {
		t.Errorf("%d\n%s\nwant\n%s\nstderr %s", r.code, r.out, want, r.err)
	}
}

func TestTurnWatchAsJSONLines(t *testing.T) {
	r := streaming(t, began+ran+answered+completed).windlass("", "turn", "watch", "trn_1", "-o", "json")
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if r.code != 0 || len(lines) != 12 || lines[9] != `{"seq":9,"delta":1,"type":"message.delta","data":{"message_id":"msg_2","text":"You `+
		`have "}}` {
		t.Errorf("%d, %d lines\n%s", r.code, len(lines), r.out)
	}
}

func TestExitCodeOfATurn(t *testing.T) {
	for _, tc := range []struct {
		name, stream, err string
		code              int
	}{
		{"completed", completed, "", app.ExitOK},
		{"stopped by a limit", stopped, "turn trn_1 reached a limit: It may take 25 steps.\n  Go on.", app.ExitTurnFailed},
		{"failed", broke, "turn trn_1 failed: The key is wrong.", app.ExitTurnFailed},
		{"cancelled", cancelled, "turn trn_1 is cancelled", app.ExitTurnFailed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, args := range [][]string{
				{"turn", "watch", "trn_1"},
				{"turn", "create", "ses_1", "hi", "--watch"},
				{"chat", "hi"},
				{"chat", "hi", "-o", "json"},
			} {
				r := streaming(t, began+tc.stream).windlass("", args...)
				if r.code != tc.code || !strings.Contains(r.err, tc.err) {
					t.Errorf("%v = %d %q, want %d %q", args, r.code, r.err, tc.code, tc.err)
				}
			}
		})
	}
}

func TestChatInPlainLines(t *testing.T) {
	r := streaming(t, began+ran+again+answered+stopped).windlass("", "chat", "hello")
	want := `[tool] notes__list {"a":1,"b":"x"} → one two` + "\uFFFD" + `[2J (12 ms)
[tool] notes__fail {} ✗ tool_unavailable: no (1 ms)
(a worker was lost, another one goes on)
There are two.
(stopped: max_steps)
`
	if r.code != app.ExitTurnFailed || r.out != want || !strings.HasPrefix(r.err, "Go on with: windlass chat --session ses_1\n") {
		t.Errorf("%d\n%s\nwant\n%s\nstderr %q", r.code, r.out, want, r.err)
	}
}

func TestChatOnATerminal(t *testing.T) {
	f := streaming(t, began+ran+again+answered+completed)
	r := f.with(func(a *app.App) { a.Terminal = true; a.Environ = append(a.Environ, "NO_COLOR=1") }, "", "chat", "--session", "ses_1", "hello")
	want := `┌ notes__list {"a":1,"b":"x"}
┌ notes__fail {}
└ notes__list → one two` + "\uFFFD" + `[2J (12 ms)
└ notes__fail ✗ tool_unavailable: no (1 ms)
You have 
(a worker was lost, another one goes on)
(another attempt)
There are two.
`
	if r.code != 0 || r.out != want {
		t.Errorf("%d\n%s\nwant\n%s", r.code, r.out, want)
	}
	coloured := streaming(t, began+completed).with(func(a *app.App) { a.Terminal = true }, "", "chat", "hello")
	if !strings.Contains(coloured.out, "\x1b[1mnotes__list\x1b[0m") {
		t.Errorf("no colours in %q", coloured.out)
	}
}

func TestChatReadsLines(t *testing.T) {
	f := streaming(t, began+answered+completed, began+broke)
	r := f.windlass("\ufefffirst\n\n  \nsecond\n", "chat", "--agent", "support")
	if r.code != app.ExitTurnFailed || r.out != "There are two.\n" {
		t.Errorf("%d %q %q", r.code, r.out, r.err)
	}
	for _, want := range []string{
		`POST /v1/sessions {"agent_id":"support"}`, `POST /v1/sessions/ses_1/turns {"input":"first"}`,
		`POST /v1/sessions/ses_1/turns {"input":"second"}`,
	} {
		if !f.seen(want) {
			t.Errorf("requests %q lack %q", f.requests, want)
		}
	}
}

func TestInterruptCancelsTheTurnAndThenLeaves(t *testing.T) {
	f := newFake(t, answers)
	asked := make(chan struct{})
	f.hook = func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case "/v1/turns/trn_1:cancel":
			close(asked)
		case "/v1/turns/trn_1/events":
			_, _ = w.Write([]byte(began))
			_ = http.NewResponseController(w).Flush()
			<-asked
			_, _ = w.Write([]byte(cancelled))
			return true
		}
		return false
	}
	r := f.with(func(a *app.App) {
		a.Terminal = true
		a.Out = &onWrite{a.Out, func() {
			if !a.Interrupt() {
				t.Error("the first Ctrl-C is not taken")
			}
			if a.Interrupt() {
				t.Error("the second Ctrl-C is taken too")
			}
		}}
	}, "", "chat", "hello")
	if r.code != app.ExitTurnFailed || !strings.Contains(r.err, "cancelling…") ||
		!f.seen(`POST /v1/turns/trn_1:cancel {"reason":"cancelled in chat"}`) {
		t.Errorf("%d %q %q", r.code, r.err, f.requests)
	}
}
