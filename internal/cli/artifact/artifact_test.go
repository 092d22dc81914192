package artifact

import (
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Command(Command)

var answers = clitest.Answers{
	"GET /v1/artifacts/art_1": {Body: "one\u001b[2J\n"},
	"GET /v1/sessions/ses_1/artifacts?page_size=100": {Body: `{"artifacts":[{"id":"art_1","name":"r.txt",` +
		`"media_type":"text/plain","size":"9","turn_id":"trn_1"}],"next_page_token":""}`},
}

func TestCommands(t *testing.T) {
	clitest.Run(t, root, answers, []clitest.Case{
		{Args: "artifact list ses_1", Out: "ID     NAME   TYPE        BYTES  AGE  TURN\nart_1  r.txt  text/plain  9           trn_1\n"},
		{Args: "artifact ls ses_1 -o name", Out: "art_1\n"},
		{Args: "artifact get art_1", Out: "one\uFFFD[2J\n"},
		{Args: "artifact get art_1 --file -", Out: "one\u001b[2J\n"},
	})
}
