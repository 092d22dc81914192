package approval

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Nouns(Noun())

const (
	approvalA = `{"id":"apr_1","kind":"approval","status":"pending","tool":"bank__pay","arguments":{"amount":5},"message":"money leaves"}`
	questionA = `{"id":"apr_2","kind":"input","status":"answered"}`
	clientA   = `{"id":"apr_3","kind":"client_tool","status":"answered"}`
)

var answers = clitest.Answers{
	"GET /v1/approvals?page_size=100&status=pending": {Body: `{"approvals":[` + approvalA + `],"next_page_token":""}`},
	"POST /v1/approvals/apr_1:decide":                {Body: strings.Replace(approvalA, "pending", "approved", 1)},
	"POST /v1/approvals/apr_9:decide":                {Status: 400, Body: `{"code":"approval_resolved","detail":"approval apr_9 is denied already"}`},
	"GET /v1/approvals/apr_2":                        {Body: questionA},
	"POST /v1/approvals/apr_2:answer":                {Body: questionA},
	"GET /v1/approvals/apr_3":                        {Body: clientA},
	"POST /v1/approvals/apr_3:answer":                {Body: clientA},
}

func TestCommands(t *testing.T) {
	clitest.Run(t, root, answers, []clitest.Case{
		{
			Words: []string{"approval", "list", "--status", "pending"},
			Out: "ID     KIND      STATUS   TOOL       ARGUMENTS     AGE  EXPIRES  MESSAGE\napr_1  approval  pending  bank__pay  " +
				"{\"amount\":5}                money leaves\n",
		},
		{
			Words: []string{"approval", "approve", "apr_1", "--comment", "fine"},
			Out:   "apr_1 approved\n",
			Sent:  `POST /v1/approvals/apr_1:decide {"comment":"fine","decision":"approve"}`,
		},
		{
			Words: []string{"approval", "deny", "apr_9", "apr_1", "--arguments-hash", "h"},
			Code:  1,
			Out:   "apr_1 approved\n",
			Err:   []string{"is denied already"},
			Sent:  `POST /v1/approvals/apr_1:decide {"arguments_hash":"h","decision":"deny"}`,
		},
		{
			Words: []string{"approval", "answer", "apr_2", `{"a":1}`},
			Out:   "apr_2 answered\n",
			Sent:  `POST /v1/approvals/apr_2:answer {"content":{"a":1}}`,
		},
		{
			Words: []string{"approval", "answer", "apr_2", "yes"},
			Code:  2,
			Err:   []string{"is a JSON object"},
		},
		{
			Words: []string{"approval", "answer", "apr_2", "--decline"},
			Out:   "apr_2 answered\n",
			Sent:  `POST /v1/approvals/apr_2:answer {"action":"decline"}`,
		},
		{
			Words: []string{"approval", "answer", "apr_2", "x", "--decline"},
			Code:  2,
			Err:   []string{"takes no ANSWER"},
		},
		{
			Words: []string{"approval", "answer", "apr_3", "it broke", "--error"},
			Out:   "apr_3 answered\n",
			Sent:  `POST /v1/approvals/apr_3:answer {"is_error":true,"result":"it broke"}`,
		},
	})
}
