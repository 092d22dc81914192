package decide

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Command(Command)

const (
	asksForInput    = `{"id":"apr_2","kind":"input","status":"pending","turn_id":"trn_1","schema":{"type":"object","properties":{"n":{"type":"integer"}}}}`
	unknown         = `{"id":"apr_4","kind":"resolution","status":"pending","turn_id":"trn_1","call_id":"c1"}`
	onClient        = `{"id":"apr_3","kind":"client_tool","status":"pending","turn_id":"trn_1"}`
	pendingApproval = `{"id":"apr_1","kind":"approval","status":"pending","arguments_hash":"h"}`
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
		{"apr_1", []string{"perhaps"}, 2, "", `"perhaps" does not answer apr_1: approve? y or n`},
		{"apr_1", nil, 2, "", "say the answer"},
		{"apr_2", []string{"7"}, 0, `POST /v1/approvals/apr_2:answer {"content":{"n":7}}`, ""},
		{"apr_2", []string{""}, 0, `POST /v1/approvals/apr_2:answer {"action":"decline"}`, ""},
		{"apr_3", []string{"it", "is", "open"}, 0, `POST /v1/approvals/apr_3:answer {"result":"it is open"}`, ""},
		{"apr_4", []string{"done", "receipt"}, 0, `POST /v1/turns/trn_1:resolve {"call_id":"c1","outcome":"done","result":"receipt"}`, ""},
		{"apr_4", []string{"not_done"}, 0, `POST /v1/turns/trn_1:resolve {"call_id":"c1","outcome":"not_done"}`, ""},
		{"apr_4", []string{"y"}, 2, "", "did the call happen?"},
	} {
		t.Run(tc.id+strings.Join(tc.more, " "), func(t *testing.T) {
			f := clitest.New(t, root, clitest.Answers{
				"GET /v1/approvals/apr_1": {Body: pendingApproval}, "GET /v1/approvals/apr_2": {Body: asksForInput},
				"GET /v1/approvals/apr_3": {Body: onClient}, "GET /v1/approvals/apr_4": {Body: unknown},
				"POST /v1/approvals/apr_1:decide": {Body: pendingApproval}, "POST /v1/approvals/apr_2:answer": {Body: asksForInput},
				"POST /v1/approvals/apr_3:answer": {Body: onClient}, "POST /v1/turns/trn_1:resolve": {Body: unknown},
			})
			r := f.Run("", append([]string{"decide", tc.id}, tc.more...)...)
			if r.Code != tc.code || !strings.Contains(r.Err, tc.err) || tc.sent != "" && !f.Seen(tc.sent) {
				t.Errorf("%d %q, requests %q", r.Code, r.Err, f.Requests())
			}
		})
	}
}
