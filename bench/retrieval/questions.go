package main

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/windlass-dev/windlass/services/knowledge/eval"
)

//go:embed testdata/questions.txt
var questionsText string

// question is a line of testdata/questions.txt.
type question struct {
	corpus, document, quote, text string
	paraphrased, heldOut          bool
	answers                       []span // where the corpus has the quote
}

// span is a range of a document's text.
type span struct {
	document   string
	start, end int
}

// readQuestions returns the questions, and an error if a document does not have its quote.
func readQuestions(corpora []corpus) ([]question, error) {
	var questions []question
	var missing []error
	for line := range strings.Lines(questionsText) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, " | ")
		if len(fields) != 5 || fields[3] != "w" && fields[3] != "p" {
			return nil, fmt.Errorf("not a question: %s", line)
		}
		q := question{
			corpus: fields[0], document: fields[1], quote: fields[2], text: fields[4],
			paraphrased: fields[3] == "p", heldOut: len(questions)%2 == 1,
		}
		found := false
		for _, c := range corpora {
			if c.name == q.corpus {
				q.answers = append(q.answers, c.find(q.quote)...)
			}
		}
		for _, a := range q.answers {
			found = found || a.document == q.document
		}
		if !found {
			missing = append(missing, fmt.Errorf("%s %s does not say %q", q.corpus, q.document, q.quote))
		}
		questions = append(questions, q)
	}
	return questions, errors.Join(missing...)
}

// find returns where documents of the corpus have a quote, whatever its white space.
func (c corpus) find(quote string) (spans []span) {
	words := strings.Fields(quote)
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w)
	}
	re := regexp.MustCompile(strings.Join(words, `\s+`))
	for _, d := range c.documents {
		for _, at := range re.FindAllStringIndex(d.parsed.Text, -1) {
			spans = append(spans, span{d.name, at[0], at[1]})
		}
	}
	return spans
}

// judge says which results answer a question: those that have at least half of the quote, in any document that has it.
func judge(q question, results []span) eval.Answer {
	a := eval.Answer{Expected: 1}
	for _, r := range results {
		relevant := -1
		for _, want := range q.answers {
			if common := min(r.end, want.end) - max(r.start, want.start); r.document == want.document && 2*common >= want.end-want.start {
				relevant = 0
			}
		}
		a.Relevant = append(a.Relevant, relevant)
	}
	return a
}
