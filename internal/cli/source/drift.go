package source

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

func driftCommands(r *command.Runner) []*cobra.Command {
	diff := &cobra.Command{
		Use: "diff ID", Short: "Show what changed in the tools of a pinned source, and is held back", Args: cobra.ExactArgs(1),
		RunE: r.Run(func(c *command.Call) error {
			var r registryv1.DiffSourceResponse
			raw, err := c.Do(&registryv1.DiffSourceRequest{SourceId: c.Args[0]}, &r)
			if err != nil {
				return err
			}
			return c.Print("", raw, func(w io.Writer) error { return writeDrift(w, &r) })
		}),
	}
	accept := &cobra.Command{
		Use: "accept ID [TOOL…]", Short: "Accept changed tools of a pinned source, all of them or those named", Args: cobra.MinimumNArgs(1),
		Long:    "Accepts changed tools of a pinned source: all of them, or those named as in the mesh or as the source names them.",
		Example: "  windlass source diff notes\n  windlass source accept notes read",
		RunE:    r.Run(accept),
	}
	return []*cobra.Command{diff, accept}
}

// accept accepts the definitions that are held back when it begins: a tool that changes again meanwhile is not accepted.
func accept(c *command.Call) error {
	var held registryv1.DiffSourceResponse
	if _, err := c.Do(&registryv1.DiffSourceRequest{SourceId: c.Args[0]}, &held); err != nil {
		return err
	}
	req := &registryv1.AcceptSourceRequest{SourceId: c.Args[0]}
	for _, t := range held.GetTools() {
		if len(c.Args) == 1 || slices.ContainsFunc(c.Args[1:], func(name string) bool { return names(t, name) }) {
			req.Tools = append(req.Tools, &registryv1.DefinitionChoice{Name: t.GetName(), DefinitionHash: t.GetDefinitionHash()})
		}
	}
	for _, name := range c.Args[1:] {
		if !slices.ContainsFunc(held.GetTools(), func(t *registryv1.DriftedTool) bool { return names(t, name) }) {
			return fmt.Errorf("no changed definition of %s is held back; see windlass source diff %s", output.Line(name), output.Line(c.Args[0]))
		}
	}
	if len(req.GetTools()) == 0 {
		c.Note("nothing is held back")
		return nil
	}
	var r registryv1.AcceptSourceResponse
	raw, err := c.Do(req, &r)
	if err != nil {
		return err
	}
	return c.Print("", raw, func(w io.Writer) error {
		for _, name := range r.GetAccepted() {
			if _, err := fmt.Fprintln(w, "tool", output.Line(name), "accepted"); err != nil {
				return err
			}
		}
		return nil
	})
}

// names reports whether a name is that of a tool in the mesh, or the one that its source uses.
func names(t *registryv1.DriftedTool, name string) bool {
	_, own, _ := strings.Cut(t.GetName(), "__")
	return t.GetName() == name || own == notInNames.ReplaceAllString(name, "_")
}

// notInNames matches what names of tools in the mesh cannot have.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// writeDrift writes what changed in the definitions of tools, as unified diffs.
func writeDrift(w io.Writer, r *registryv1.DiffSourceResponse) error {
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
