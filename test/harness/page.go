package harness

import (
	"os"
	"os/exec"
	"testing"

	"github.com/windlass-dev/windlass/libs/testnpm"
)

// Page returns the command that runs a script in Chromium against a mesh, its UI of Temporal included. The test is skipped where there
// is no browser.
func Page(t testing.TB, script string, up *Embedded) *exec.Cmd {
	t.Helper()
	node, chromium, packages := testnpm.Browser(t)
	temporal, _ := up.Ready["temporal_ui"].(string)
	cmd := exec.CommandContext(t.Context(), node, script)
	cmd.Env = append(os.Environ(), "WINDLASS_URL="+up.Client.Base, "TEMPORAL_UI="+temporal, "CHROMIUM="+chromium, "PACKAGES="+packages)
	return cmd
}
