// Package apply has the command that creates and updates what YAML files describe.
package apply

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/hint"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/project"
	"github.com/windlass-dev/windlass/libs/fault"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Command returns "windlass apply".
func Command(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "apply FILE…", Short: "Create or update agents, sources, routes, schedules and webhooks from YAML",
		Long: "Create or update the agents, sources, routes, schedules and webhooks that YAML files describe.\n" +
			"FILE may be a folder (its .yaml and .yml files, by name) or - for standard input.\n" +
			"All files are checked first: a mistake in one of them applies nothing.",
		Example: "  windlass apply agents/\n  windlass apply -f agent.yaml --dry-run\n  windlass apply --watch .",
		Args:    cobra.ArbitraryArgs, RunE: r.Run(apply),
	}
	cmd.Flags().StringArrayP("filename", "f", nil, "file, folder or -, as the argument (several are possible)")
	cmd.Flags().Bool("dry-run", false, "only tell what would be done")
	cmd.Flags().BoolP("watch", "w", false, "apply again after each change of a file, until Ctrl-C; see 'windlass init'")
	return cmd
}

func apply(c *command.Call) error {
	names, _ := c.Cmd.Flags().GetStringArray("filename") // the flag exists
	if names = append(names, c.Args...); len(names) == 0 {
		return app.Usage("name a file, a folder or - for standard input: %s apply FILE", c.Self)
	}
	if c.Bool("watch") {
		return applyAgain(c, names)
	}
	return applyFiles(c, names)
}

func applyFiles(c *command.Call, names []string) error {
	bundles, err := project.Read(c.In, names)
	if err != nil {
		return err
	}
	dry := c.Bool("dry-run")
	if dry || len(bundles) > 1 {
		done, err := applyAll(c, bundles, true)
		if err != nil {
			return err
		}
		if dry {
			return printApplied(c, done, nil, " (dry run)")
		}
	}
	done, err := applyAll(c, bundles, false)
	return printApplied(c, done, err, "")
}

// applyAgain applies files, and again after each change, until Ctrl-C. After a change of another file than YAML the programs of the
// sources are started again. Mistakes are told and waited out.
func applyAgain(c *command.Call, names []string) error {
	if c.Format != output.Table || c.Bool("dry-run") || slices.Contains(names, "-") {
		return app.Usage("--watch takes files and folders, and neither --dry-run nor -o")
	}
	ticker := time.NewTicker(300 * time.Millisecond)
	defer ticker.Stop()
	var before project.Stamp
	for {
		now := project.Look(names)
		if changed, program := now.Changed(before); changed {
			err := applyFiles(c, names)
			if err == nil && program && before != nil {
				err = restartSources(c, names)
			}
			if err != nil && c.Ctx.Err() == nil {
				c.Note("%s", app.Explain(hint.Commands(err)))
			}
			before = now
		}
		select {
		case <-ticker.C:
		case <-c.Ctx.Done():
			return nil
		}
	}
}

// restartSources starts the programs of the sources in bundles again.
func restartSources(c *command.Call, names []string) error {
	bundles, err := project.Read(c.In, names)
	if err != nil {
		return err
	}
	done, err := applyAll(c, bundles, true)
	if err != nil {
		return err
	}
	for _, raw := range done {
		var d struct{ Kind, ID string }
		if err := json.Unmarshal(raw, &d); err != nil || d.Kind != "source" {
			continue
		}
		var src registryv1.Source
		for _, disabled := range []bool{true, false} {
			if _, err := c.Do(&registryv1.UpdateSourceRequest{
				Source: &registryv1.Source{Id: d.ID, Disabled: disabled}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"disabled"}},
			}, &src); err != nil {
				return err
			}
		}
		switch src.GetState() {
		case registryv1.SourceState_SOURCE_STATE_UNREACHABLE, registryv1.SourceState_SOURCE_STATE_INVALID:
			c.Note("source/%s cannot be started: %s", output.Line(d.ID), output.Line(strings.TrimSpace(src.GetLastError())))
			continue
		}
		c.Note("source/%s started again, tools: %d", output.Line(d.ID), src.GetToolCount())
	}
	return nil
}

// applyAll sends the bundles one by one and returns the server's results up to the first error.
func applyAll(c *command.Call, bundles []project.Bundle, dry bool) ([]json.RawMessage, error) {
	var all []json.RawMessage
	for _, b := range bundles {
		raw, err := c.Do(&sessionsv1.ApplyBundleRequest{Yaml: b.YAML, DryRun: dry}, &sessionsv1.ApplyBundleResponse{})
		if err != nil {
			if fault.As(err) != nil && command.Unreachable(err) {
				return all, err
			}
			return all, fmt.Errorf("%s: %w", b.From, err)
		}
		var answer struct {
			Applied []json.RawMessage `json:"applied"`
		}
		if err := client.Decode(raw, &answer); err != nil {
			return all, fmt.Errorf("%s: %w", b.From, err)
		}
		all = append(all, answer.Applied...)
	}
	return all, nil
}

// printApplied prints what was applied, even if an error followed, and returns the error.
func printApplied(c *command.Call, done []json.RawMessage, failed error, suffix string) error {
	if failed != nil && len(done) == 0 {
		return failed
	}
	if !c.Format.Plain() {
		if err := output.List(c.Out, c.Format, done); err != nil {
			return err
		}
		return failed
	}
	for _, raw := range done {
		var d struct{ Kind, ID, Action, Warning, Secret string }
		if err := client.Decode(raw, &d); err != nil {
			return err
		}
		line := d.Kind + "/" + d.ID
		if c.Format == output.Table {
			line += " " + d.Action + suffix
		}
		if _, err := fmt.Fprintln(c.Out, output.Line(line)); err != nil {
			return err
		}
		if d.Warning != "" {
			c.Note("  %s", output.Line(d.Warning))
		}
		if d.Secret != "" {
			c.Note("  its signing secret, shown only this once: %s", output.Line(d.Secret))
		}
	}
	return failed
}
