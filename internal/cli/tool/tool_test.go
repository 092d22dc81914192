package tool

import (
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Nouns(Noun())

var answers = clitest.Answers{
	"GET /v1/tools?page_size=100": {Body: `{"tools":[{"name":"notes__list","source":"notes","description":"Lists ` +
		`notes","effect":"read","available":true}],"next_page_token":""}`},
	"POST /v1/tools/notes__list:invoke": {Body: `{"content":[{"text":"one"},{"blob":{"media_type":"image/png",` +
		`"data":"AAAA"}}],"is_error":false,"cached":false,"latency_ms":3,"execution_id":"exe_1"}`},
	"POST /v1/tools/notes__fail:invoke": {Body: `{"content":[{"text":"no such note"}],"is_error":true,"execution_id":"exe_2"}`},
}

func TestCommands(t *testing.T) {
	clitest.Run(t, root, answers, []clitest.Case{
		{Args: "tool list", Out: "NAME         EFFECT  AVAILABLE  DESCRIPTION\nnotes__list  read    yes        Lists notes\n"},
		{
			Args: `tool invoke notes__list {"a":1}`, Out: "one[image/png, 3 bytes]\n",
			Sent: `POST /v1/tools/notes__list:invoke {"arguments":{"a":1}}`,
		},
		{Args: "tool invoke notes__list -", Stdin: `{"b":2}`, Sent: `POST /v1/tools/notes__list:invoke {"arguments":{"b":2}}`},
		{
			Args: "tool invoke --fresh notes__list", Out: "one[image/png, 3 bytes]\n",
			Sent: `POST /v1/tools/notes__list:invoke {"arguments":{},"fresh":true}`,
		},
		{Args: "tool invoke notes__list {", Code: 2, Err: []string{"no valid JSON"}},
		{Args: "tool invoke notes__fail", Code: 1, Out: "no such note\n", Sent: `POST /v1/tools/notes__fail:invoke {"arguments":{}}`},
	})
}
