package embedded

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/internal/datadir"
)

//go:embed starter.yaml
var starterYAML string

// starter returns the bundle that is applied to an empty mesh: the example tool servers and an agent that may use them.
func starter(dir *datadir.Dir) string {
	return strings.ReplaceAll(starterYAML, "NOTES_DIR", strconv.Quote(dir.Path("notes")))
}
