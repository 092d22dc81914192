package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testnpm"
)

// Pages returns the command that runs scripts of test/browser/testdata one after the other in one Chromium, against a mesh and its UI of
// Temporal. Scripts of other folders are named by their paths from there. The test is skipped where there is no browser.
func Pages(t testing.TB, up *Embedded, scripts ...string) *exec.Cmd {
	t.Helper()
	node, chromium, packages := testnpm.Browser(t)
	temporal, _ := up.Ready["temporal_ui"].(string)
	all := filepath.Join(Root(t), "test", "browser", "testdata", "all.mjs")
	cmd := exec.CommandContext(t.Context(), node, append([]string{all}, scripts...)...)
	// What the scripts read is named here, since go test keeps results by the variables that the test itself has read.
	cmd.Env = append(os.Environ(), testmain.WholeEnv+"="+os.Getenv(testmain.WholeEnv), testmain.ShuffleEnv+"="+os.Getenv(testmain.ShuffleEnv),
		"WINDLASS_URL="+up.Client.Base, "TEMPORAL_UI="+temporal, "CHROMIUM="+chromium, "PACKAGES="+packages)
	return cmd
}
