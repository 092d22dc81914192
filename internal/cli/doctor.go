package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/output"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// Outcomes of a check.
const (
	good = "ok"
	odd  = "warning"
	bad  = "broken"
)

// finding is the result of one check.
type finding struct {
	Check   string `json:"check"`
	Outcome string `json:"outcome"`
	Detail  string `json:"detail"`
	// Todo says how to fix it.
	Todo string `json:"todo,omitempty"`
}

func doctorCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check that everything works, and say what to do where it does not",
		Long: "Check the server, its roles, databases and Temporal, models and tool sources; and when no server answers on this machine,\n" +
			"the data directory, ports and programs that 'windlass up' needs. The exit code is 1 when something is broken.",
		Args: cobra.NoArgs, RunE: run(a, doctor),
	}
	cmd.Flags().String("data-dir", ".windlass", "data directory of 'windlass up'")
	return cmd
}

func doctor(c *call) error {
	findings := c.checkServer()
	if findings[0].Outcome == good {
		findings = append(findings, c.checkReady()...)
		findings = append(findings, c.checkModels(), c.checkAgents())
		findings = append(findings, c.checkSources()...)
	} else if local(c.client.Server()) {
		findings = append(findings, checkMachine(c.ctx, flag(c.cmd, "data-dir"))...)
	}
	if err := c.printFindings(findings); err != nil {
		return err
	}
	if slices.ContainsFunc(findings, func(f finding) bool { return f.Outcome == bad }) {
		return &app.SilentError{Code: app.ExitError}
	}
	return nil
}

func (c *call) printFindings(findings []finding) error {
	raw, err := json.Marshal(findings)
	if err != nil {
		return fmt.Errorf("print findings: %w", err)
	}
	var names []string
	for _, f := range findings {
		if f.Outcome != good {
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

func (c *call) checkServer() []finding {
	status, _, err := c.client.Probe(c.ctx, "/healthz")
	switch {
	case err != nil:
		return []finding{failed("server", err)}
	case status != http.StatusOK:
		return []finding{{"server", bad, fmt.Sprintf("%s answers /healthz with %d", c.client.Server(), status), "Check the address in --server or WINDLASS_SERVER: something else may serve there."}}
	}
	return []finding{{Check: "server", Outcome: good, Detail: c.client.Server()}}
}

// checkReady reports each readiness check of the server.
func (c *call) checkReady() []finding {
	status, body, err := c.client.Probe(c.ctx, "/readyz")
	if err != nil {
		return []finding{failed("readiness", err)}
	}
	var answer struct {
		Checks map[string]string `json:"checks"`
	}
	if json.Unmarshal(body, &answer) != nil || len(answer.Checks) == 0 {
		return []finding{{"readiness", bad, fmt.Sprintf("/readyz answers %d and names no check", status), "Look at the server's log."}}
	}
	var out []finding
	for name, state := range answer.Checks {
		f := finding{Check: name, Outcome: good, Detail: state}
		if state != "ok" {
			f.Outcome, f.Todo = bad, readyTodo(name)
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b finding) int { return strings.Compare(a.Check, b.Check) })
	return out
}

func readyTodo(name string) string {
	switch {
	case name == "temporal":
		return "Turns wait until Temporal is back. 'windlass up' restarts its own; else check temporal.address."
	case strings.HasSuffix(name, "database"):
		return "Check database.url, the disk's free space, and the server's log."
	case name == "bus":
		return "Streams are slower without the bus, nothing is lost. Check bus.url."
	default:
		return "The role does not answer: check that its process runs, mesh.targets, and its log."
	}
}

func (c *call) checkModels() finding {
	items, _, err := c.client.List(c.ctx, "/v1/models", "models", nil, 0)
	if err != nil {
		return failed("models", err)
	}
	var providers []string
	var answers *inferencev1.Model
	for _, raw := range items {
		m := &inferencev1.Model{}
		if err := codec.UnmarshalKnown(raw, m); err != nil {
			return failed("models", err)
		}
		if !slices.Contains(providers, m.GetProvider()) {
			providers = append(providers, m.GetProvider())
		}
		if m.GetDefault() {
			answers = m
		}
	}
	switch {
	case answers == nil:
		return finding{"models", bad, "no default model", "Set WINDLASS_MODEL=provider/model for the server, or configure inference.providers."}
	case answers.GetProvider() == "builtin":
		return finding{
			"models", odd, answers.GetName() + " answers where an agent names no model: scripted, no AI",
			"Set OPENAI_API_KEY or ANTHROPIC_API_KEY for the server, or run Ollama, and start it again.",
		}
	}
	return finding{Check: "models", Outcome: good, Detail: fmt.Sprintf("%s answers where an agent names no model; there are %d of %s",
		answers.GetName(), len(items), strings.Join(providers, ", "))}
}

func (c *call) checkAgents() finding {
	items, more, err := c.client.List(c.ctx, "/v1/agents", "agents", nil, 100)
	switch {
	case err != nil:
		return failed("agents", err)
	case len(items) == 0:
		return finding{"agents", odd, "there is none", "Create one: windlass apply -f agent.yaml"}
	case more:
		return finding{Check: "agents", Outcome: good, Detail: "more than 100"}
	}
	return finding{Check: "agents", Outcome: good, Detail: fmt.Sprint(len(items))}
}

func (c *call) checkSources() []finding {
	items, _, err := c.client.List(c.ctx, "/v1/sources", "sources", nil, 0)
	if err != nil {
		return []finding{failed("sources", err)}
	}
	var out []finding
	for _, raw := range items {
		var s registryv1.Source
		if err := codec.UnmarshalKnown(raw, &s); err != nil {
			return append(out, failed("sources", err))
		}
		out = append(out, sourceFinding(&s))
	}
	if len(items) == 0 {
		out = append(out, finding{"sources", odd, "there is none, so agents have no tools", "Add one: windlass source create NAME --url URL"})
	}
	return out
}

func sourceFinding(s *registryv1.Source) finding {
	f := finding{Check: "source " + s.GetName(), Outcome: good, Detail: fmt.Sprintf("%d tools", s.GetToolCount())}
	switch {
	case s.GetDisabled():
		f.Detail = "disabled"
	case s.GetState() != "ready":
		f.Outcome, f.Detail = bad, s.GetState()+": "+s.GetLastError()
		f.Todo = "Start the tool server, or fix the source; then: windlass source sync " + s.GetName()
	}
	return f
}

func failed(check string, err error) finding {
	text, todo, _ := strings.Cut(app.Explain(err), "\n")
	return finding{check, bad, text, strings.TrimSpace(todo)}
}
