package turn

import (
	"net/http"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Nouns(Noun())

const turnA = `{"id":"trn_1","session_id":"ses_1","agent_id":"support","status":"queued","stop_reason":"","input":"hello","output":"",` +
	`"tools_used":[],"usage":{"input_tokens":3,"output_tokens":4,"tool_calls":1}}`

var answers = clitest.Answers{
	"GET /v1/turns?page_size=100": {Body: `{"turns":[],"next_page_token":""}`},
	"GET /v1/turns?page_size=100&status=x": {
		Status: 400,
		Body: `{"code":"invalid_argument","detail":"the request is wrong","todo":"Correct the named ` +
			`fields.","fields":[{"field":"status","message":"must be one of queued, running"}]}`,
	},
	"GET /v1/turns/trn_1":           {Body: turnA},
	"POST /v1/sessions/ses_1/turns": {Status: 202, Body: turnA},
	"POST /v1/turns/trn_1:cancel":   {Body: turnA},
}

func TestCommands(t *testing.T) {
	clitest.Run(t, root, answers, []clitest.Case{
		{Args: "turn list", Err: []string{"no turns"}},
		{Args: "turn list -o json", Out: "[]\n"},
		{Args: "turn list --status x", Code: 1, Err: []string{"the request is wrong", "status: must be one of", "Correct the named fields."}},
		{Args: "turn create ses_1 hello there -o name", Out: "trn_1\n", Sent: `POST /v1/sessions/ses_1/turns {"input":"hello there"}`},
		{
			Args: "turn create ses_1 - --mode reject -o name", Stdin: "\ufefffrom stdin", Out: "trn_1\n",
			Sent: `POST /v1/sessions/ses_1/turns {"input":"from stdin","mode":"reject"}`,
		},
		{Args: "turn cancel trn_1 --reason why -o name", Out: "trn_1\n", Sent: `POST /v1/turns/trn_1:cancel {"reason":"why"}`},
		{
			Args: "turn get trn_1 -o yaml",
			Out: "id: trn_1\nsession_id: ses_1\nagent_id: support\nstatus: queued\nstop_reason: \"\"\ninput: hello\noutput: \"\"\ntools_used: " +
				"[]\nusage:\n  input_tokens: 3\n  output_tokens: 4\n  tool_calls: 1\n",
		},
		{Args: "turn watch trn_1 --deltas=x", Code: 2, Err: []string{"--deltas x: want true or false\n"}},
		{Args: "turn watch trn_1 -o yaml", Code: 2},
	})
}

func TestTurnGetWaits(t *testing.T) {
	for status, code := range map[string]int{"completed": 0, "failed": app.ExitTurnFailed, "cancelled": app.ExitTurnFailed} {
		f := clitest.New(t, root, nil)
		n := 0
		f.Hook = func(w http.ResponseWriter, _ *http.Request) bool {
			if n++; n == 1 {
				_, _ = w.Write([]byte(`{"id":"trn_1","status":"waiting"}`))
			} else {
				_, _ = w.Write([]byte(`{"id":"trn_1","status":"` + status + `"}`))
			}
			return true
		}
		r := f.Run("", "turn", "get", "trn_1", "--wait", "-o", "name")
		if r.Code != code || r.Out != "trn_1\n" || !f.Seen("GET /v1/turns/trn_1?wait=60s") {
			t.Errorf("%s: %d %q %q", status, r.Code, r.Out, r.Err)
		}
	}
}

func TestTurnOpenPrintsItsPage(t *testing.T) {
	f := clitest.New(t, root, answers)
	if r := f.Run("", "turn", "open", "trn_1"); r.Code != 0 || r.Out != f.URL+"/turns/trn_1\n" {
		t.Errorf("%d %q %q", r.Code, r.Out, r.Err)
	}
}
