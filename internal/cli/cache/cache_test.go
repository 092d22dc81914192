package cache

import (
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Command(Command)

var answers = clitest.Answers{
	"GET /v1/tool-cache?period=3600s": {Body: `{"available":true,"results":"3","size_bytes":"2048","hits":"1","misses":"3",` +
		`"hit_rate":0.25,"failures":"0"}`},
	"POST /v1/tool-cache:clear": {Body: `{}`},
}

func TestCommands(t *testing.T) {
	clitest.Run(t, root, answers, []clitest.Case{
		{
			Args: "cache stats --period 1h",
			Out: "AVAILABLE  RESULTS  BYTES  HITS  MISSES  HIT RATE  FAILURES\n" +
				"yes        3        2048   1     3       25.0%     0\n",
		},
		{Args: "cache clear notes__list", Sent: `POST /v1/tool-cache:clear {"tool":"notes__list"}`},
		{Args: "cache clear --source notes", Sent: `POST /v1/tool-cache:clear {"source":"notes"}`},
		{Args: "cache clear --all", Sent: `POST /v1/tool-cache:clear {}`},
		{Args: "cache clear", Code: 2, Err: []string{"say what to clear"}},
		{Args: "cache clear notes__list --all", Code: 2, Err: []string{"say what to clear"}},
	})
}
