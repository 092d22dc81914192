// Package doctor has the command that checks a server, and the machine that is to run one.
package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/health"
	"github.com/windlass-dev/windlass/internal/cli/output"
)

// Command returns "windlass doctor".
func Command(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check that everything works, and say what to do where it does not",
		Long: "Check the server, its roles, databases and Temporal, models and tool sources; and when no server answers on this machine,\n" +
			"the data directory, ports and programs that 'windlass up' needs. The exit code is 1 when something is broken.\n\n" +
			"With --probe, also run a turn and say which part of its way failed. It calls the default model once, with an agent that is deleted\n" +
			"afterwards; with --agent it asks that agent, whose tools may then act.\n\n" +
			"With --config, also check the certificates that a file configures (gateway.tls and mesh.tls): when they expire, whether they belong\n" +
			"together, and which roles they name; and connect to each process in mesh.targets to check what it shows.",
		Args: cobra.NoArgs, RunE: r.Run(check),
	}
	cmd.Flags().Bool("probe", false, "run a turn as well")
	cmd.Flags().String("agent", "", "agent that --probe asks; empty = one of its own")
	cmd.Flags().Duration("timeout", 30*time.Second, "how long --probe waits for its turn")
	cmd.Flags().String("data-dir", ".windlass", "data directory of 'windlass up'")
	cmd.Flags().String("config", "", "YAML file with configuration, whose certificates are checked too")
	return cmd
}

func check(c *command.Call) error {
	findings := health.Check(c.Ctx, c.Client, c.Flag("data-dir"))
	if c.Bool("probe") && findings[0].Outcome == health.OK {
		timeout, err := c.Cmd.Flags().GetDuration("timeout")
		if err != nil {
			return err
		}
		findings = append(findings, health.Probe(c.Ctx, c.Client, c.Flag("agent"), timeout)...)
	}
	if file := c.Flag("config"); file != "" {
		findings = append(findings, health.Certificates(c.Ctx, file, c.Environ)...)
	}
	if err := printFindings(c, findings); err != nil {
		return err
	}
	if slices.ContainsFunc(findings, func(f health.Finding) bool { return f.Outcome == health.Broken }) {
		return &app.SilentError{Code: app.ExitError}
	}
	return nil
}

func printFindings(c *command.Call, findings []health.Finding) error {
	raw, err := json.Marshal(findings)
	if err != nil {
		return fmt.Errorf("print findings: %w", err)
	}
	var names []string
	for _, f := range findings {
		if f.Outcome != health.OK {
			names = append(names, f.Check)
		}
	}
	return c.Print(strings.Join(names, "\n"), raw, func(w io.Writer) error {
		for _, f := range findings {
			if _, err := fmt.Fprintf(w, "%-8s %-20s %s\n", f.Outcome, f.Check, output.Line(f.Detail)); err != nil {
				return err
			}
			if f.Todo != "" {
				if _, err := fmt.Fprintf(w, "%-8s %-20s → %s\n", "", "", output.Line(f.Todo)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
