package knowledge

import (
	"encoding/json"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var root = clitest.Command(Command)

var answers = clitest.Answers{
	"POST /v1/banks/handbook:search": {Body: `{"results":[{"document_name":"b.md","text":"no"},{"document_name":"a.md","text":"yes"}]}`},
}

const questions = `
bank: handbook
questions:
- {query: Where, documents: [a.md]}
- {query: Why, documents: [c.md]}
`

func TestEval(t *testing.T) {
	const table = `2 questions

MEASURE    MEAN   95 % CONFIDENCE
recall@5   0.500  0.000 to 1.000
recall@10  0.500  0.000 to 1.000
nDCG@10    0.315  0.000 to 0.631
MRR        0.250  0.000 to 0.500

not found (1):
  handbook: Why
`
	clitest.Run(t, root, answers, []clitest.Case{
		{Args: "knowledge eval -", Stdin: questions, Out: table, Sent: `POST /v1/banks/handbook:search {"page_size":10,"query":"Why"}`},
		{Args: "knowledge eval - --min-recall 0.5", Stdin: questions, Out: table},
		{Args: "knowledge eval - --min-recall 0.6", Stdin: questions, Out: table, Code: 1, Err: []string{
			"the recall of the first 10 results is 0.500, less than 0.6",
		}},
		{Args: "knowledge eval - --min-recall 2", Stdin: questions, Code: 2, Err: []string{"a number from 0 to 1"}},
		{Args: "knowledge eval -", Stdin: "questions: []", Code: 2, Err: []string{"there are 0 questions"}},
		{Args: "knowledge eval -", Stdin: "questions: [{bank: gone, query: x, documents: [a]}]", Code: 3, Err: []string{"question 1"}},
		{Args: "knowledge eval missing.yaml", Code: 1, Err: []string{"missing.yaml"}},
	})
}

func TestEvalAsJSON(t *testing.T) {
	r := clitest.New(t, root, answers).Run(questions, "knowledge", "eval", "-", "-o", "json")
	var got report
	if err := json.Unmarshal([]byte(r.Out), &got); err != nil {
		t.Fatalf("%v in %s%s", err, r.Out, r.Err)
	}
	if got.Questions != 2 || got.Recall10.Mean != 0.5 || len(got.Misses) != 1 || got.Misses[0].Documents[0] != "c.md" {
		t.Errorf("%+v", got)
	}
}
