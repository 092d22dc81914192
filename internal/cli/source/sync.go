package source

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

func syncTools(c *command.Call) error {
	var req proto.Message = &registryv1.RefreshToolsRequest{}
	if len(c.Args) == 1 {
		req = &registryv1.SyncSourceRequest{SourceId: c.Args[0]}
	}
	var r registryv1.SyncResult
	raw, err := c.Do(req, &r)
	if err != nil {
		return err
	}
	if c.Format == output.Name {
		for _, name := range slices.Concat(r.GetAdded(), r.GetChanged(), r.GetDrifted(), r.GetRemoved()) {
			if _, err := fmt.Fprintln(c.Out, output.Line(name)); err != nil {
				return err
			}
		}
	} else if err := c.Print("", raw, func(w io.Writer) error { return writeSync(w, &r) }); err != nil {
		return err
	}
	if len(r.GetDrifted()) > 0 {
		c.Note("! has changed and is held back: see windlass source diff, then windlass source accept")
	}
	if len(r.GetFailed()) > 0 {
		return fmt.Errorf("not reached: %s", output.Line(strings.Join(r.GetFailed(), "; ")))
	}
	return nil
}

// writeSync writes what a sync of sources changed.
func writeSync(w io.Writer, r *registryv1.SyncResult) error {
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
