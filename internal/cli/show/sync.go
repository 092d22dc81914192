package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/windlass-dev/windlass/internal/cli/output"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// Sync writes what a sync of sources changed.
func Sync(w io.Writer, r *registryv1.SyncResult) error {
	for _, part := range []struct {
		sign  string
		names []string
	}{{"+", r.GetAdded()}, {"~", r.GetChanged()}, {"!", r.GetDrifted()}, {"-", r.GetRemoved()}} {
		for _, name := range part.names {
			if _, err := fmt.Fprintf(w, "%s %s\n", part.sign, output.Line(name)); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintf(w, "%d tools\n", r.GetTotal())
	return err
}

// Drift writes what changed in the definitions of tools, as unified diffs.
func Drift(w io.Writer, r *registryv1.DiffSourceResponse) error {
	for _, t := range r.GetTools() {
		if _, err := fmt.Fprintf(w, "tool %s\n", output.Line(t.GetName())); err != nil {
			return err
		}
		for line := range strings.Lines(t.GetDiff()) {
			if _, err := fmt.Fprintln(w, output.Text(strings.TrimSuffix(line, "\n"))); err != nil {
				return err
			}
		}
	}
	return nil
}
