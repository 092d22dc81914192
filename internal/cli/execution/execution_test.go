package execution

import (
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Nouns(Noun())

var answers = clitest.Answers{
	"GET /v1/executions?page_size=100&turn_id=trn_1": {Body: `{"executions":[{"id":"exe_1","tool":"notes__list","effect":"once",` +
		`"state":"unresolved","attempts":1,"latency_ms":3,"turn_id":"trn_1"}],"next_page_token":""}`},
}

func TestCommands(t *testing.T) {
	clitest.Run(t, root, answers, []clitest.Case{
		{
			Args: "execution list --turn trn_1",
			Out: "ID     AGE  TOOL         EFFECT  STATE       ATTEMPTS  MS  CODE  TURN\nexe_1       notes__list  once    unresolved  1         " +
				"3         trn_1\n",
		},
	})
}
