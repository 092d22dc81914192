package version

import (
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Command(Command)

func TestCommands(t *testing.T) {
	clitest.Run(t, root, nil, []clitest.Case{
		{Args: "version -o name", Out: "1.2.3\n"},
	})
}
