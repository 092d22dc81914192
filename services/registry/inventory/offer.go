package inventory

import (
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/libs/toolschema"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// offers returns a warning for each tool whose input schema models are not offered as it is. The registry keeps the schema of the source.
func offers(tools []store.Found) []string {
	var out []string
	for _, t := range tools {
		fitted, err := toolschema.Fit(string(t.InputSchema), &toolschema.Full)
		switch {
		case err != nil:
			out = append(out, fmt.Sprintf("%s: models are not offered this tool: its input schema %v", t.OriginalName, err))
		case len(fitted.Notes) > 0:
			out = append(out, fmt.Sprintf("%s: models are offered a simpler input schema: %s", t.OriginalName, strings.Join(fitted.Notes, "; ")))
		}
	}
	return out
}
