package turn

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/money"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func compareCommand(r *command.Runner) *cobra.Command {
	return &cobra.Command{
		Use: "compare TURN TURN", Short: "Show two turns side by side: what they used, their tool calls, how their answers differ",
		Args: cobra.ExactArgs(2), RunE: r.Run(compare),
	}
}

func compare(c *command.Call) error {
	var got sessionsv1.TurnComparison
	raw, err := c.Do(&sessionsv1.CompareTurnsRequest{TurnId: c.Args[0], With: c.Args[1]}, &got)
	if err != nil {
		return err
	}
	return c.Print(got.GetB().GetTurnId(), raw, func(w io.Writer) error { return writeComparison(w, &got) })
}

// writeComparison writes the turns as a table, their calls as another, and how their answers differ.
func writeComparison(w io.Writer, got *sessionsv1.TurnComparison) error {
	a, b := got.GetA(), got.GetB()
	var rows [][]string
	for _, field := range []struct {
		name string
		of   func(*sessionsv1.ComparedTurn) string
	}{
		{"status", func(t *sessionsv1.ComparedTurn) string { return enum.Name(t.GetStatus()) + " " + t.GetStopReason() }},
		{"agent", func(t *sessionsv1.ComparedTurn) string {
			return fmt.Sprintf("%s, revision %d", t.GetAgentId(), t.GetBlueprintRevision())
		}},
		{"model", (*sessionsv1.ComparedTurn).GetModel},
		{"steps", func(t *sessionsv1.ComparedTurn) string { return fmt.Sprint(t.GetSteps()) }},
		{"model calls", func(t *sessionsv1.ComparedTurn) string { return fmt.Sprint(t.GetUsage().GetModelCalls()) }},
		{"tool calls", func(t *sessionsv1.ComparedTurn) string { return fmt.Sprint(t.GetUsage().GetToolCalls()) }},
		{"tokens in", func(t *sessionsv1.ComparedTurn) string { return fmt.Sprint(t.GetUsage().GetInputTokens()) }},
		{"tokens out", func(t *sessionsv1.ComparedTurn) string { return fmt.Sprint(t.GetUsage().GetOutputTokens()) }},
		{"cost", func(t *sessionsv1.ComparedTurn) string { return money.Micros(t.GetUsage().GetCostMicros()).String() }},
		{"time", func(t *sessionsv1.ComparedTurn) string {
			return (time.Duration(t.GetDurationMs()) * time.Millisecond).String()
		}},
	} {
		rows = append(rows, []string{field.name, field.of(a), field.of(b)})
	}
	if err := output.Rows(w, []string{"", a.GetTurnId(), b.GetTurnId()}, rows); err != nil {
		return err
	}
	if err := writeCalls(w, got.GetTools()); err != nil {
		return err
	}
	text := "\nThe answers are the same.\n"
	if !got.GetAnswer().GetSame() {
		text = "\nThe answers differ:\n" + output.Text(got.GetAnswer().GetDiff())
	}
	_, err := io.WriteString(w, text)
	return err
}

func writeCalls(w io.Writer, calls []*sessionsv1.ComparedCall) error {
	if len(calls) == 0 {
		return nil
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	rows := make([][]string, len(calls))
	for i, call := range calls {
		rows[i] = []string{call.GetTool(), likeness(call), callArguments(call.GetA()), callArguments(call.GetB()), howAnswered(call.GetB())}
	}
	return output.Rows(w, []string{"TOOL", "", "ARGUMENTS A", "ARGUMENTS B", "RESULT B"}, rows)
}

// likeness describes in a word what two calls have in common.
func likeness(call *sessionsv1.ComparedCall) string {
	switch {
	case call.GetB() == nil:
		return "only A"
	case call.GetA() == nil:
		return "only B"
	case !call.GetSameArguments():
		return "other arguments"
	case !call.GetSameResult():
		return "other result"
	default:
		return "same"
	}
}

func callArguments(side *sessionsv1.ComparedSide) string {
	const limit = 40
	text := []rune(output.Line(side.GetArgumentsJson()))
	if len(text) > limit {
		return string(text[:limit-1]) + "…"
	}
	return string(text)
}

// howAnswered describes where a result came from.
func howAnswered(side *sessionsv1.ComparedSide) string {
	switch {
	case side == nil:
		return ""
	case side.GetTakenOver():
		return "taken over"
	case side.GetRecorded():
		return "recorded"
	case side.GetOpen():
		return "none"
	case side.GetIsError():
		return "error"
	default:
		return "live"
	}
}
