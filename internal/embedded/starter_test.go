package embedded

import (
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/windlass-dev/windlass/internal/datadir"
	"github.com/windlass-dev/windlass/libs/testwant"
)

// TestTheStarterNamesTheDataDirectory: whatever characters its path has.
func TestTheStarterNamesTheDataDirectory(t *testing.T) {
	for _, name := range []string{"state", "my, state", "state #1", "a: b", `"quoted" [x] {y}`, `it's`, "größe"} {
		t.Run(name, func(t *testing.T) {
			dir, err := datadir.Open(filepath.Join(t.TempDir(), name))
			testwant.Equal(t, "the error of Open", err, nil)
			t.Cleanup(func() { _ = dir.Close() })
			var kinds []string
			dec := yaml.NewDecoder(strings.NewReader(starter(dir)))
			for {
				var doc struct {
					Kind    string   `yaml:"kind"`
					Name    string   `yaml:"name"`
					Command []string `yaml:"command"`
				}
				if err := dec.Decode(&doc); err != nil {
					break
				}
				if kinds = append(kinds, doc.Kind); doc.Name == "notes" {
					testwant.Equal(t, "the command of the notes", doc.Command, []string{"notes", "--dir", dir.Path("notes")})
				}
			}
			testwant.Equal(t, "the kinds", kinds, []string{"source", "source", "source", "agent"})
		})
	}
}
