package crash

import (
	"bytes"
	"os"
	"testing"

	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/faultpoint/armed"
	"github.com/windlass-dev/windlass/test/harness"
)

// TestPointsAreOnlyInTheirOwnPrograms looks for the points' names in what users get, and in what the tests kill.
func TestPointsAreOnlyInTheirOwnPrograms(t *testing.T) {
	for path, want := range map[string]bool{harness.PlainBin(t, "windlassd"): false, harness.FaultsBin(t, "windlassd"): true} {
		program, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		names := []string{"WINDLASS_FAULT_DIR"}
		for _, p := range faultpoint.Points() {
			names = append(names, armed.Name(p))
		}
		for _, name := range names {
			if got := bytes.Contains(program, []byte(name)); got != want {
				t.Errorf("%s has %s: %v, want %v", path, name, got, want)
			}
		}
	}
}
