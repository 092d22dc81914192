package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/doctor"
	"github.com/windlass-dev/windlass/internal/cli/output"
)

func doctorCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check that everything works, and say what to do where it does not",
		Long: "Check the server, its roles, databases and Temporal, models and tool sources; and when no server answers on this machine,\n" +
			"the data directory, ports and programs that 'windlass up' needs. The exit code is 1 when something is broken.\n\n" +
			"With --probe, also run a turn and say which part of its way failed. It calls the default model once, with an agent that is deleted\n" +
			"afterwards; with --agent it asks that agent, whose tools may then act.\n\n" +
			"With --config, also check the certificates that a file configures (gateway.tls and mesh.tls): when they expire, whether they belong\n" +
			"together, and which roles they name; and connect to each process in mesh.targets to check what it shows.",
		Args: cobra.NoArgs, RunE: run(a, runDoctor),
	}
	cmd.Flags().Bool("probe", false, "run a turn as well")
	cmd.Flags().String("agent", "", "agent that --probe asks; empty = one of its own")
	cmd.Flags().Duration("timeout", 30*time.Second, "how long --probe waits for its turn")
	cmd.Flags().String("data-dir", ".windlass", "data directory of 'windlass up'")
	cmd.Flags().String("config", "", "YAML file with configuration, whose certificates are checked too")
	return cmd
}

func runDoctor(c *call) error {
	findings := doctor.Check(c.ctx, c.client, flag(c.cmd, "data-dir"))
	if probe, _ := c.cmd.Flags().GetBool("probe"); probe && findings[0].Outcome == doctor.OK {
		timeout, err := c.cmd.Flags().GetDuration("timeout")
		if err != nil {
			return err
		}
		findings = append(findings, doctor.Probe(c.ctx, c.client, flag(c.cmd, "agent"), timeout)...)
	}
	if file := flag(c.cmd, "config"); file != "" {
		findings = append(findings, doctor.Certificates(c.ctx, file, c.Environ)...)
	}
	if err := printFindings(c, findings); err != nil {
		return err
	}
	if slices.ContainsFunc(findings, func(f doctor.Finding) bool { return f.Outcome == doctor.Broken }) {
		return &app.SilentError{Code: app.ExitError}
	}
	return nil
}

func printFindings(c *call, findings []doctor.Finding) error {
	raw, err := json.Marshal(findings)
	if err != nil {
		return fmt.Errorf("print findings: %w", err)
	}
	var names []string
	for _, f := range findings {
		if f.Outcome != doctor.OK {
			names = append(names, f.Check)
		}
	}
	if c.format == output.Name {
		for _, name := range names {
			if _, err := fmt.Fprintln(c.Out, name); err != nil {
				return err
			}
		}
		return nil
	}
	return c.print("", raw, func(w io.Writer) error {
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
