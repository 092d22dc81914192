// Package knowledge has the command that measures searches in banks.
package knowledge

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/usage"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	"github.com/windlass-dev/windlass/services/knowledge/eval"
)

// results is the number of results that each question is judged by.
const results = 10

// Command returns "windlass knowledge".
func Command(r *command.Runner) *cobra.Command {
	evaluate := &cobra.Command{
		Use: "eval FILE", Short: "Measure how well banks answer questions", Args: cobra.ExactArgs(1),
		Long: "Measure how well searches in banks find what questions ask for.\n\n" +
			"FILE is YAML or JSON, or - for standard input: questions, each with its bank, its query, and the names of the documents\n" +
			"that answer it; with quotes, a result counts only if it has one. Each question is searched as \"windlass bank search\" does.\n" +
			"The figures are means over the questions with their intervals of 95 % confidence.",
		Example: "  windlass knowledge eval questions.yaml\n  windlass knowledge eval questions.yaml --min-recall 0.9",
		RunE:    r.Run(evaluate),
	}
	evaluate.Flags().Float64("min-recall", 0, "fail if the mean recall of the first 10 results is less, from 0 to 1")
	return usage.Group("knowledge", "Searches in banks: how well they find what is asked for", nil, evaluate)
}

// report is what "eval" prints as JSON.
type report struct {
	eval.Summary
	Misses []miss `json:"misses"`
}

// miss is a question of whose answer the first 10 results have nothing.
type miss struct {
	Bank      string   `json:"bank"`
	Query     string   `json:"query"`
	Documents []string `json:"documents"`
}

func evaluate(c *command.Call) error {
	least, err := strconv.ParseFloat(c.Flag("min-recall"), 64)
	if err != nil || least < 0 || least > 1 {
		return app.Usage("--min-recall is a number from 0 to 1")
	}
	questions, err := read(c)
	if err != nil {
		return err
	}
	rep := report{Misses: []miss{}}
	answers := make([]eval.Answer, len(questions))
	for i, q := range questions {
		var resp knowledgev1.SearchBankResponse
		if _, err := c.Do(&knowledgev1.SearchBankRequest{BankId: q.Bank, Query: q.Query, PageSize: results}, &resp); err != nil {
			return fmt.Errorf("question %d: %w", i+1, err)
		}
		var found []eval.Result
		for _, r := range resp.GetResults() {
			found = append(found, eval.Result{Document: r.GetDocumentName(), Text: r.GetText()})
		}
		answers[i] = q.Judge(found)
		if eval.Hit(answers[i], results) == 0 {
			rep.Misses = append(rep.Misses, miss{q.Bank, q.Query, q.Documents})
		}
	}
	rep.Summary = eval.Summarize(answers)
	if err := show(c, rep); err != nil {
		return err
	}
	if rep.Recall10.Mean < least {
		c.Note("the recall of the first 10 results is %.3f, less than %v", rep.Recall10.Mean, least)
		return &app.SilentError{Code: app.ExitError}
	}
	return nil
}

// read reads the questions of the file that the argument names.
func read(c *command.Call) (questions []eval.Question, err error) {
	var raw []byte
	if c.Args[0] == "-" {
		raw, err = io.ReadAll(c.In)
	} else {
		raw, err = os.ReadFile(c.Args[0])
	}
	if err != nil {
		return nil, err
	}
	if questions, err = eval.ReadQuestions(raw); err != nil {
		return nil, app.Usage("%s: %v", c.Args[0], err)
	}
	return questions, nil
}

func show(c *command.Call, rep report) error {
	raw, err := json.Marshal(rep)
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	return c.Print("", raw, func(w io.Writer) error {
		var rows [][]string
		for _, row := range []struct {
			name   string
			figure eval.Figure
		}{{"recall@5", rep.Recall5}, {"recall@10", rep.Recall10}, {"nDCG@10", rep.NDCG10}, {"MRR", rep.MRR}} {
			rows = append(rows, []string{row.name, number(row.figure.Mean), number(row.figure.Low) + " to " + number(row.figure.High)})
		}
		if _, err := fmt.Fprintf(w, "%d questions\n\n", rep.Questions); err != nil {
			return err
		}
		if err := output.Rows(w, []string{"MEASURE", "MEAN", "95 % CONFIDENCE"}, rows); err != nil || len(rep.Misses) == 0 {
			return err
		}
		if _, err := fmt.Fprintf(w, "\nnot found (%d):\n", len(rep.Misses)); err != nil {
			return err
		}
		for _, m := range rep.Misses {
			if _, err := fmt.Fprintf(w, "  %s: %s\n", output.Line(m.Bank), output.Line(m.Query)); err != nil {
				return err
			}
		}
		return nil
	})
}

func number(f float64) string { return fmt.Sprintf("%.3f", f) }
