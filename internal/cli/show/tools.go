package show

import (
	"io"
	"strings"

	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// FoundTools writes the tools that a search found, best first.
func FoundTools(w io.Writer, r *registryv1.SearchToolsResponse, width int) error {
	var rows [][]string
	for _, f := range r.GetTools() {
		t := f.GetTool()
		rows = append(rows, []string{
			t.GetName(), enum.Name(t.GetEffect()), output.YesNo(t.GetAvailable()), output.Short(t.GetDescription(), width),
		})
	}
	return output.Rows(w, []string{"NAME", "EFFECT", "AVAILABLE", "DESCRIPTION"}, rows)
}

// ToolNames lists the names of found tools, one on each line.
func ToolNames(r *registryv1.SearchToolsResponse) string {
	var names []string
	for _, f := range r.GetTools() {
		names = append(names, f.GetTool().GetName())
	}
	return strings.Join(names, "\n")
}
