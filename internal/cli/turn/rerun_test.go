package turn

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
)

const (
	rerunA    = `{"id":"trn_2","session_id":"ses_2","agent_id":"support","status":"queued","rerun_of":"trn_1"}`
	comparedA = `{"a":{"turn_id":"trn_1","agent_id":"support","blueprint_revision":1,"model":"a/b","status":"completed","stop_reason":"end","usage":{"model_calls":3,"tool_calls":3,"input_tokens":30,"output_tokens":15,"cost_micros":"1500"},"duration_ms":"1200","steps":8},
"b":{"turn_id":"trn_2","agent_id":"support","blueprint_revision":2,"model":"c/d","status":"failed","stop_reason":"error","usage":{"model_calls":1},"steps":2},
"answer":{"same":false,"diff":"@@ -1,1 +0,0 @@\n-done\n"},
"tools":[{"tool":"x__a","a":{"arguments_json":"{}"},"b":{"arguments_json":"{}","taken_over":true},"same_arguments":true,"same_result":true},
{"tool":"x__a","a":{"arguments_json":"{}"},"b":{"arguments_json":"{\"n\":\"0123456789012345678901234567890123456789\"}","recorded":true}},
{"tool":"x__b","b":{"arguments_json":"{}","is_error":true}},{"tool":"x__c","a":{"arguments_json":"{}"}}]}`
	comparison = `             trn_1                trn_2
status       completed end        failed error
agent        support, revision 1  support, revision 2
model        a/b                  c/d
steps        8                    2
model calls  3                    1
tool calls   3                    0
tokens in    30                   0
tokens out   15                   0
cost         0.0015               0
time         1.2s                 0s

TOOL                   ARGUMENTS A  ARGUMENTS B                               RESULT B
x__a  same             {}           {}                                        taken over
x__a  other arguments  {}           {"n":"012345678901234567890123456789012…  recorded
x__b  only B                        {}                                        error
x__c  only A           {}

The answers differ:
@@ -1,1 +0,0 @@
-done
`
)

func TestRerunCommands(t *testing.T) {
	answers := clitest.Answers{
		"POST /v1/turns/trn_1:rerun":             {Status: 202, Body: rerunA},
		"GET /v1/turns/trn_1:compare?with=trn_2": {Body: comparedA},
		"GET /v1/turns/trn_1:compare?with=trn_1": {Body: `{"answer":{"same":true}}`},
		"POST /v1/turns/trn_9:rerun":             {Status: 409, Body: `{"code":"turn_active","detail":"turn trn_9 is running"}`},
	}
	for _, tc := range []struct {
		args []string
		code int
		out  string
		err  string
		sent string
	}{
		{[]string{"turn", "rerun", "trn_1", "-o", "name"}, 0, "trn_2\n", "", `POST /v1/turns/trn_1:rerun {}`},
		{
			[]string{
				"turn", "rerun", "trn_1", "--from", "infer-2", "--agent", "b", "--model", "m/n", "--tools", "recorded", "--missing",
				"live_read", "--max-steps", "3", "-o", "name",
			},
			0, "trn_2\n", "",
			`POST /v1/turns/trn_1:rerun ` +
				`{"agent_id":"b","from_step":"infer-2","limits":{"max_steps":3},"missing":"live_read","model":"m/n","tools":"recorded"}`,
		},
		{[]string{"turn", "rerun", "trn_9"}, 1, "", "is running", ""},
		{[]string{"turn", "compare", "trn_1", "trn_2"}, 0, comparison, "", ""},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			f := clitest.New(t, root, answers)
			r := f.Run("", tc.args...)
			if r.Code != tc.code || r.Out != tc.out || !strings.Contains(r.Err, tc.err) {
				t.Errorf("%d %s %q\nwant %s", r.Code, r.Out, r.Err, tc.out)
			}
			if tc.sent != "" && !f.Seen(tc.sent) {
				t.Errorf("requests %q lack %q", f.Requests(), tc.sent)
			}
		})
	}
	r := clitest.New(t, root, answers).Run("", "turn", "compare", "trn_1", "trn_1")
	if !strings.HasSuffix(r.Out, "\nThe answers are the same.\n") {
		t.Errorf("%s", r.Out)
	}
}
