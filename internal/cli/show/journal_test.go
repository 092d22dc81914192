package show

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/gateway/eventjson"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestJournalsAreShown renders the journals that the console's timeline is tested with: a change of an event's meaning shows in both.
func TestJournalsAreShown(t *testing.T) {
	t.Parallel()
	journals, err := filepath.Glob("../../../gateway/console/app/src/journals/*.jsonl")
	if err != nil || len(journals) < 10 {
		t.Fatalf("%d journals: %v", len(journals), err)
	}
	for _, journal := range journals {
		name := strings.TrimSuffix(filepath.Base(journal), ".jsonl")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(journal)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for line := range bytes.Lines(text) {
				ev, err := eventjson.Decode(bytes.TrimSpace(line))
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				got.WriteString(EventLine(ev) + "\n")
			}
			golden := filepath.Join("testdata", "journals", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("the journal is shown as\n%s\nwant\n%s\nRun with -update to accept it.", got.String(), want)
			}
		})
	}
}
