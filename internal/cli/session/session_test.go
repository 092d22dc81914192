package session

import (
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Nouns(Noun())

var answers = clitest.Answers{
	"GET /v1/sessions?agent_id=support&page_size=1": {Body: `{"sessions":[{"id":"ses_1","agent_id":"support","title":"T","last_seq":9}],` +
		`"next_page_token":"n"}`},
	"PATCH /v1/sessions/ses_1?update_mask=title": {Body: `{"id":"ses_1","agent_id":"support"}`},
	"POST /v1/sessions":                          {Body: `{"id":"ses_1","agent_id":"support"}`},
	"GET /v1/sessions/ses_1/messages?page_size=200": {Body: `{"messages":[{"id":"msg_1","seq":1,"role":"user","content":[{"text":"hi\u001b[2J"}]},
		{"id":"msg_2","seq":2,"role":"assistant","tool_calls":[{"call_id":"c","tool":"notes__list","arguments_json":"{}"}]},
		{"id":"msg_3","seq":3,"role":"tool","tool_result":{"call_id":"c","tool":"notes__list","content":[{"text":"one\ntwo"}]}}],"next_page_token":""}`},
	"GET /v1/sessions?page_size=100&pinned=true&q=4711&status=failed": {Body: `{"sessions":[{"id":"ses_1"}],"next_page_token":""}`},
	"PATCH /v1/sessions/ses_1?update_mask=archived%2Cpinned":          {Body: `{"id":"ses_1","agent_id":"support"}`},
	"DELETE /v1/sessions/ses_1?permanent=true":                        {Body: `{"deleted":true}`},
	"POST /v1/sessions/ses_1:restore":                                 {Body: `{"id":"ses_1","agent_id":"support"}`},
	"POST /v1/sessions/ses_1/shares":                                  {Body: `{"id":"shr_1","url":"/shared/secret","token":"secret","share":{}}`},
	"GET /v1/sessions/ses_1/shares?page_size=200": {
		Body: `{"shares":[{"id":"shr_1","access":"read","audience":"anyone","expire_time":"2026-01-15T09:30:00Z"}],"next_page_token":""}`,
	},
	"DELETE /v1/sessions/ses_1/shares/shr_1": {Body: `{}`},
	"POST /v1/sessions/ses_1:fork": {Body: `{"id":"ses_2","agent_id":"other",` +
		`"forked_from_session":"ses_1","forked_from_seq":7}`},
	"GET /v1/sessions/ses_1:export?format=markdown":                 {Body: "# T\n\n\u001b[2Jhello\n"},
	"GET /v1/sessions/ses_1:export?format=json&include_events=true": {Body: `{"events":[],"session":{"id":"ses_1"}}`},
}

func TestCommands(t *testing.T) {
	clitest.Run(t, root, answers, []clitest.Case{
		{Args: "session list --agent support --limit 1 -o name", Out: "ses_1\n", Err: []string{"there are more"}},
		{Args: `session create --params {"n":1} -o name`, Out: "ses_1\n", Sent: `POST /v1/sessions {"params":{"n":1}}`},
		{Args: "session update ses_1 --title T -o name", Out: "ses_1\n", Sent: `PATCH /v1/sessions/ses_1?update_mask=title {"title":"T"}`},
		{Args: "session list --search 4711 --status failed --pinned -o name", Out: "ses_1\n"},
		{
			Args: "session update ses_1 --pinned --archived=false -o name", Out: "ses_1\n",
			Sent: `PATCH /v1/sessions/ses_1?update_mask=archived%2Cpinned {"pinned":true}`,
		},
		{Args: "session delete ses_1 --permanent -o name", Out: "ses_1\n"},
		{
			Args: "session share ses_1 --audience named --subject dev:bob --ttl 1h --redact",
			Out:  "share shr_1: /shared/secret below the address of the gateway\n",
			Sent: `POST /v1/sessions/ses_1/shares {"access":"read","audience":"named","redact_tool_results":true,"subjects":["dev:bob"],"ttl_seconds":"3600"}`,
		},
		{Args: "session share ses_1 --ttl 1ms", Code: 2, Err: []string{"--ttl must be whole seconds"}},
		{Args: "session shares ses_1 -o name", Out: "shr_1\n"},
		{Args: "session unshare ses_1 shr_1", Out: "share shr_1 revoked\n"},
		{Args: "session restore ses_1 -o name", Out: "ses_1\n", Sent: `POST /v1/sessions/ses_1:restore {}`},
		{Args: "session update ses_1", Code: 2, Err: []string{"say what to change"}},
		{Args: "session create --params [1]", Code: 2, Err: []string{"--params must be a JSON object"}},
		{
			Args: "session create --agent support --title T --label a=b --bank hr --bank it -o name", Out: "ses_1\n",
			Sent: `POST /v1/sessions {"agent_id":"support","banks":["hr","it"],"labels":{"a":"b"},"title":"T"}`,
		},
		{
			Args: "session messages ses_1",
			Out:  "user       hi\uFFFD[2J\nassistant  calls notes__list {}\ntool       notes__list: one\n           two\n",
		},
		{
			Args: "session fork ses_1 --seq 9 --agent other --title T -o name", Out: "ses_2\n",
			Sent: `POST /v1/sessions/ses_1:fork {"agent_id":"other","seq":9,"title":"T"}`,
		},
		{Args: "session fork ses_1 -o name", Out: "ses_2\n", Sent: `POST /v1/sessions/ses_1:fork {}`},
		{Args: "session export ses_1", Out: "# T\n\n\uFFFD[2Jhello\n"},
		{Args: "session export ses_1 -f json --events", Out: "{\n  \"events\": [],\n  \"session\": {\n    \"id\": \"ses_1\"\n  }\n}\n"},
		{Args: "session export ses_1 -o yaml --events", Out: "events: []\nsession:\n  id: ses_1\n"},
		{Args: "session export ses_1 -f docx", Code: 2, Err: []string{"markdown, pdf or json"}},
	})
}
