package turn

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/clitest"
)

func TestTurnWatch(t *testing.T) {
	f := clitest.New(t, root, answers).Stream(clitest.Began+clitest.Ran, clitest.Again+clitest.Answered+clitest.Completed)
	r := f.Run("", "turn", "watch", "trn_1")
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
	if r.Code != 0 || r.Out != want || strings.Count(r.Err, "the stream broke") != 1 {
		t.Errorf("%d\n%s\nwant\n%s\nstderr %s", r.Code, r.Out, want, r.Err)
	}
}

func TestTurnWatchAsJSONLines(t *testing.T) {
	f := clitest.New(t, root, answers).Stream(clitest.Began + clitest.Ran + clitest.Answered + clitest.Completed)
	r := f.Run("", "turn", "watch", "trn_1", "-o", "json")
	lines := strings.Split(strings.TrimSpace(r.Out), "\n")
	if r.Code != 0 || len(lines) != 12 || lines[9] != `{"seq":9,"delta":1,"type":"message.delta","data":{"message_id":"msg_2","text":"You `+
		`have "}}` {
		t.Errorf("%d, %d lines\n%s", r.Code, len(lines), r.Out)
	}
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
				{"turn", "watch", "trn_1"},
				{"turn", "create", "ses_1", "hi", "--watch"},
			} {
				r := clitest.New(t, root, answers).Stream(clitest.Began+tc.stream).Run("", args...)
				if r.Code != tc.code || !strings.Contains(r.Err, tc.err) {
					t.Errorf("%v = %d %q, want %d %q", args, r.Code, r.Err, tc.code, tc.err)
				}
			}
		})
	}
}

func TestWatchSaysWhatIsAsked(t *testing.T) {
	asked := clitest.Frame("2", "approval.requested", `{"approval_id":"apr_1","call_id":"c1","tool":"bank__pay"}`)
	r := clitest.New(t, root, answers).Stream(asked+clitest.Completed).Run("", "turn", "watch", "trn_1")
	if !strings.Contains(r.Out, "approval.requested     apr_1 for bank__pay") {
		t.Errorf("%d %q", r.Code, r.Out)
	}
}
