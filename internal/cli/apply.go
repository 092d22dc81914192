package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func applyCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "apply FILE…", Short: "Create or update agents, sources, schedules and webhooks from YAML",
		Long: "Create or update the agents, sources, schedules and webhooks that YAML files describe.\n" +
			"FILE may be a folder (its .yaml and .yml files, by name) or - for standard input.\n" +
			"All files are checked first: a mistake in one of them applies nothing.",
		Example: "  windlass apply agents/\n  windlass apply -f agent.yaml --dry-run",
		Args:    cobra.ArbitraryArgs, RunE: run(a, apply),
	}
	cmd.Flags().StringArrayP("filename", "f", nil, "file, folder or -, as the argument (several are possible)")
	cmd.Flags().Bool("dry-run", false, "only tell what would be done")
	return cmd
}

// bundle is one YAML text and its origin.
type bundle struct{ from, yaml string }

func apply(c *call) error {
	names, err := c.cmd.Flags().GetStringArray("filename")
	if err != nil {
		return app.Usage("%s", err)
	}
	if names = append(names, c.args...); len(names) == 0 {
		return app.Usage("name a file, a folder or - for standard input: %s apply FILE", c.Self)
	}
	bundles, err := readBundles(c.App, names)
	if err != nil {
		return err
	}
	dry := flag(c.cmd, "dry-run") == "true"
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

// applyAll sends the bundles one by one and returns the server's results up to the first error.
func applyAll(c *call, bundles []bundle, dry bool) ([]json.RawMessage, error) {
	var all []json.RawMessage
	for _, b := range bundles {
		raw, err := c.client.Do(c.ctx, client.Request{
			Method: http.MethodPost, Path: "/v1/agents:apply", Body: map[string]any{"yaml": b.yaml, "dry_run": dry},
		}, &sessionsv1.ApplyBundleResponse{})
		if err != nil {
			if fault.As(err) != nil && unreachable(err) {
				return all, err
			}
			return all, fmt.Errorf("%s: %w", b.from, err)
		}
		var answer struct {
			Applied []json.RawMessage `json:"applied"`
		}
		if err := json.Unmarshal(raw, &answer); err != nil {
			return all, fmt.Errorf("%s: the answer is not what a Windlass server says: %w", b.from, err)
		}
		all = append(all, answer.Applied...)
	}
	return all, nil
}

// printApplied prints what was applied, even if an error followed, and returns the error.
func printApplied(c *call, done []json.RawMessage, failed error, suffix string) error {
	if failed != nil && len(done) == 0 {
		return failed
	}
	if !c.format.Plain() {
		if err := output.List(c.Out, c.format, done); err != nil {
			return err
		}
		return failed
	}
	for _, raw := range done {
		var d struct{ Kind, ID, Action, Warning, Secret string }
		if err := json.Unmarshal(raw, &d); err != nil {
			return fmt.Errorf("the answer is not what a Windlass server says: %w", err)
		}
		line := d.Kind + "/" + d.ID
		if c.format == output.Table {
			line += " " + d.Action + suffix
		}
		if _, err := fmt.Fprintln(c.Out, output.Line(line)); err != nil {
			return err
		}
		if d.Warning != "" {
			c.note("  %s", output.Line(d.Warning))
		}
		if d.Secret != "" {
			c.note("  its signing secret, shown only this once: %s", output.Line(d.Secret))
		}
	}
	return failed
}

func readBundles(a *app.App, names []string) ([]bundle, error) {
	var out []bundle
	for _, name := range names {
		if name == "-" {
			raw, err := io.ReadAll(a.In)
			if err != nil {
				return nil, fmt.Errorf("read standard input: %w", err)
			}
			out = append(out, bundle{"standard input", string(raw)})
			continue
		}
		files, err := yamlFiles(name)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			out = append(out, bundle{file, string(raw)})
		}
	}
	return out, nil
}

// yamlFiles returns a file itself, or the YAML files of a folder in order of name.
func yamlFiles(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() {
		return []string{name}, err
	}
	var files []string
	for _, pattern := range []string{"*.yaml", "*.yml"} {
		found, err := filepath.Glob(filepath.Join(name, pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("folder %s has no .yaml or .yml files", name)
	}
	slices.Sort(files)
	return files, nil
}
