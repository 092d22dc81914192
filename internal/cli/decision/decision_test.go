package decision

import (
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Nouns(Noun())

var answers = clitest.Answers{
	"GET /v1/decisions?denied_only=true&page_size=100": {Body: `{"decisions":[{"id":"dec_1","subject":"local","kind":"tool",` +
		`"resource":"notes__delete","allowed":false,"reason":"no rule matches"}],"next_page_token":""}`},
}

func TestCommands(t *testing.T) {
	clitest.Run(t, root, answers, []clitest.Case{
		{
			Args: "decision list --denied-only",
			Out:  "ID     AGE  SUBJECT  KIND  RESOURCE       ALLOWED  REASON\ndec_1       local    tool  notes__delete  no       no rule matches\n",
		},
	})
}
