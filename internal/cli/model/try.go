package model

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/inference/api/trial"
)

// tryCommand is "windlass model try".
func tryCommand(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "try MODEL [--check NAME]", Short: "Make small calls of a model and say which features it honours", Args: cobra.ExactArgs(1),
		Long: "Make small calls of a configured model and say which features it honours, which are refused by name, and which are\n" +
			"broken: the model did something else, or the call failed. The calls cost tokens.\n\nChecks: " + strings.Join(trial.Names(), ", ") + ".",
		Example: "  windlass model try openai/gpt-5.4-mini\n  windlass model try ollama/qwen3 --check tool_call --check image -o json",
		RunE:    r.Run(try),
	}
	cmd.Flags().StringArray("check", nil, "only this check; may be repeated")
	return cmd
}

// tried is the answer to all requests: the checks as the server sends them.
type tried struct {
	Model  string            `json:"model"`
	Checks []json.RawMessage `json:"checks"`
}

// try requests one check at a time: a slow model takes minutes for all.
func try(c *command.Call) error {
	names, _ := c.Cmd.Flags().GetStringArray("check") // the flag exists
	if len(names) == 0 {
		names = trial.Names()
	}
	all := tried{Model: c.Args[0]}
	var rows [][]string
	for _, name := range names {
		var answer inferencev1.TryModelResponse
		raw, err := c.Do(&inferencev1.TryModelRequest{Model: c.Args[0], Checks: []string{name}}, &answer)
		if err != nil {
			return err
		}
		var part tried
		if err := json.Unmarshal(raw, &part); err != nil {
			return fmt.Errorf("read the result of %s: %w", name, err)
		}
		all.Checks = append(all.Checks, part.Checks...)
		for _, k := range answer.GetChecks() {
			rows = append(rows, []string{
				k.GetName(), enum.Name(k.GetOutcome()), fmt.Sprintf("%.1fs", float64(k.GetDurationMs())/1000), output.Cell(k.GetReason()),
			})
		}
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return c.Print(c.Args[0], raw, func(w io.Writer) error {
		return output.Rows(w, []string{"CHECK", "OUTCOME", "TIME", "REASON"}, rows)
	})
}
