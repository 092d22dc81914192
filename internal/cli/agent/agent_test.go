package agent

import (
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Nouns(Noun())

const agentA = `{"id":"support","display_name":"Support","description":"Helps\nwith all","instructions":"Be brief.\nBe ` +
	`kind.","model":"","strategy":"react","tools":["notes__*","calc__*"],"limits":null,"labels":{},"revision":3,` +
	`"create_time":"2026-01-02T15:04:05Z","update_time":null}`

var answers = clitest.Answers{
	"GET /v1/agents?page_size=100":                   {Body: `{"agents":[` + agentA + `],"next_page_token":""}`},
	"GET /v1/agents/support":                         {Body: agentA},
	"GET /v1/agents/secret":                          {Status: 403, Body: `{"code":"permission_denied","detail":"you need sessions.agents.get"}`},
	"DELETE /v1/agents/support":                      {Body: `{}`},
	"GET /v1/agents/support/revisions?page_size=100": {Body: `{"revisions":[` + agentA + `],"next_page_token":""}`},
	"DELETE /v1/agents/support?force=true":           {Body: `{}`},
}

func TestCommands(t *testing.T) {
	clitest.Run(t, root, answers, []clitest.Case{
		{
			Args: "agent list",
			Out: "ID       MODEL      STRATEGY  TOOLS             REVISION  UPDATED  DESCRIPTION\nsupport  (default)  react     " +
				"notes__*,calc__*  3                  Helps with all\n",
		},
		{Args: "agents ls -o name", Out: "support\n"},
		{Args: "get agents -o name", Out: "support\n"},
		{Args: "get agent support -o name", Out: "support\n"},
		{Args: "list agents -o name", Out: "support\n"},
		{
			Args: "agent get support",
			Out: "id            support\ndisplay_name  Support\ndescription   Helps\n              with all\ninstructions  Be " +
				"brief.\n              Be kind.\nstrategy      react\ntools         notes__*, calc__*\nrevision      3\ncreate_time   " +
				"2026-01-02T15:04:05Z\n",
		},
		{Args: "agent get nobody", Code: 3, Err: []string{"error: nothing at "}},
		{Args: "agent get secret", Code: 4, Err: []string{"you need sessions.agents.get"}},
		{Args: "agent delete support", Out: "agent support deleted\n", Sent: "DELETE /v1/agents/support"},
		{Args: "agent delete support --force", Out: "agent support deleted\n", Sent: "DELETE /v1/agents/support?force=true"},
		{Args: "agent revisions support -o name", Out: "support\n"},
	})
}
