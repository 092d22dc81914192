package source

import (
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
)

var root = clitest.Nouns(Noun())

const sourceA = `{"id":"src_1","name":"notes","kind":"mcp","url":"http://127.0.0.1:9000/mcp","state":"ready","tool_count":2}`

var answers = clitest.Answers{
	"GET /v1/sources?page_size=100":                                       {Body: `{"sources":[` + sourceA + `],"next_page_token":""}`},
	"PATCH /v1/sources/notes?update_mask=base_url%2Ccall_timeout_seconds": {Body: sourceA},
	"POST /v1/sources": {Body: `{"id":"src_2","name":"files","kind":"mcp","state":"unreachable",` +
		`"last_error":"exit status 1"}`},
	"POST /v1/sources/notes:sync": {Body: `{"added":["notes__new"],"removed":["notes__old"],"changed":[],"total":7,` +
		`"failed":[]}`},
	"POST /v1/tools:refresh": {Body: `{"added":[],"removed":[],"changed":[],"total":7,"failed":["gone: ` +
		`connection refused"]}`},
}

func TestCommands(t *testing.T) {
	clitest.Run(t, root, answers, []clitest.Case{
		{
			Args: "source list",
			Out: "NAME   KIND  STATE  TOOLS  SYNCED  WHERE                      ERROR\nnotes  mcp   ready  2              " +
				"http://127.0.0.1:9000/mcp\n",
		},
		{
			Args: "source create files --env A=b --timeout 5 -o name -- npx -y x", Out: "files\n",
			Err:  []string{"its tools could not be listed yet: exit status 1"},
			Sent: `POST /v1/sources {"call_timeout_seconds":5,"command":["npx","-y","x"],"env":{"A":"b"},"kind":"mcp","name":"files"}`,
		},
		{
			Args: "source update notes --timeout 9 --base-url= -o name", Out: "notes\n",
			Sent: `PATCH /v1/sources/notes?update_mask=base_url%2Ccall_timeout_seconds {"call_timeout_seconds":9}`,
		},
		{Args: "source update notes", Code: 2, Err: []string{"name what to change"}},
		{Args: "source create files", Code: 2, Err: []string{"one of --url, --openapi, --graphql, --grpc, --endpoint", "--agents, and a"}},
		{Args: "source create files --url http://x -- y", Code: 2},
		{Args: "source sync notes", Out: "+ notes__new\n- notes__old\n7 tools\n", Sent: "POST /v1/sources/notes:sync {}"},
		{Args: "source sync notes -o name", Out: "notes__new\nnotes__old\n"},
		{Args: "source sync", Code: 1, Out: "7 tools\n", Err: []string{"not reached: gone: connection refused"}},
	})
}
