package turn

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func contextCommand(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "context ID", Short: "Show what the model of a turn was sent at a step, and how that differs from another step",
		Long: "Show what the model of a turn was sent at a model step: instructions, tools, facts, messages, results, each with tokens.\n" +
			"With --against M the parts that step M did not have are marked +, and those that only step M had -.",
		Args: cobra.ExactArgs(1), RunE: r.Run(showContext),
	}
	cmd.Flags().Uint32("step", 0, "number of the model step, 2 for infer-2; 0 = the newest")
	cmd.Flags().Uint32("against", 0, "number of the model step to compare with")
	return cmd
}

func showContext(c *command.Call) error {
	req := &sessionsv1.GetTurnContextRequest{TurnId: c.Args[0]}
	if err := c.Given(req, "step", "against"); err != nil {
		return err
	}
	var got sessionsv1.TurnContext
	raw, err := c.Do(req, &got)
	if err != nil {
		return err
	}
	return c.Print(c.Args[0], raw, func(w io.Writer) error { return writeContext(w, &got) })
}

// writeContext writes the parts of a context as a table, those of a comparison with a mark in front.
func writeContext(w io.Writer, got *sessionsv1.TurnContext) error {
	counted := "estimated"
	if got.GetCounted() == sessionsv1.TokenCount_TOKEN_COUNT_PROVIDER {
		counted = "counted by the provider"
	}
	if _, err := fmt.Fprintf(w, "Step %d, %s, %d tokens (%s)\n", got.GetStep(), got.GetModel(), got.GetTokens(), counted); err != nil {
		return err
	}
	header := []string{"KIND", "ROLE", "NAME", "TOKENS", "TEXT"}
	var rows [][]string
	for _, p := range got.GetParts() {
		rows = append(rows, contextRow(p))
	}
	if got.GetAgainst() > 0 {
		header, rows = append([]string{""}, header...), nil
		for _, d := range got.GetDiff() {
			rows = append(rows, append([]string{diffMarks[d.GetOp()]}, contextRow(d.GetPart())...))
		}
	}
	return output.Rows(w, header, rows)
}

var diffMarks = map[sessionsv1.ContextDiffOp]string{
	sessionsv1.ContextDiffOp_CONTEXT_DIFF_OP_ADDED: "+", sessionsv1.ContextDiffOp_CONTEXT_DIFF_OP_REMOVED: "-",
}

func contextRow(p *sessionsv1.ContextPart) []string {
	text := p.GetText()
	if text == "" && p.GetMediaType() != "" {
		text = fmt.Sprintf("(%s, %d bytes)", p.GetMediaType(), p.GetSize())
	}
	return []string{
		strings.ReplaceAll(enum.Name(p.GetKind()), "_", " "), enum.Name(p.GetRole()), output.Cell(p.GetName()), fmt.Sprint(p.GetTokens()),
		output.Cell(text),
	}
}
