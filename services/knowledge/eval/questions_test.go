package eval_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/services/knowledge/eval"
)

func TestQuestionsAreRead(t *testing.T) {
	t.Parallel()
	const yaml = "bank: handbook\nquestions:\n- query: How?\n  documents: [a.md]\n" +
		"- {bank: other, query: Why, documents: [b.md], quotes: [because]}\n"
	const json = `{"questions": [{"bank": "handbook", "query": "How?", "documents": ["a.md"]}]}`
	for text, banks := range map[string][]string{yaml: {"handbook", "other"}, json: {"handbook"}} {
		got, err := eval.ReadQuestions([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for i, q := range got {
			if q.Bank != banks[i] {
				t.Errorf("bank of question %d is %q", i, q.Bank)
			}
		}
	}
	for _, row := range []struct{ name, text, want string }{
		{name: "nothing", text: "", want: "there are 0 questions"},
		{name: "no YAML", text: "{", want: "read questions"},
		{name: "an unknown field", text: "questions: [{querry: x}]", want: "querry"},
		{name: "no bank", text: "questions: [{query: x, documents: [a]}]", want: "question 1 has no bank"},
		{name: "no query", text: "questions: [{bank: b, documents: [a]}]", want: "question 1 has no query"},
		{name: "no documents", text: "questions: [{bank: b, query: x}]", want: "question 1 has no documents"},
		{name: "an empty quote", text: "questions: [{bank: b, query: x, documents: [a], quotes: ['']}]", want: "an empty quote"},
	} {
		if _, err := eval.ReadQuestions([]byte(row.text)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}

func TestResultsAreJudged(t *testing.T) {
	t.Parallel()
	results := []eval.Result{{"a.md", "first"}, {"b.md", "a lease\n is"}, {"a.md", "second"}}
	for _, row := range []struct {
		name     string
		question eval.Question
		relevant []int
		expected int
	}{
		{name: "documents", question: eval.Question{Documents: []string{"b.md", "a.md"}}, relevant: []int{1, 0, 1}, expected: 2},
		{
			name: "quotes", question: eval.Question{Documents: []string{"a.md", "b.md"}, Quotes: []string{"second", "lease is"}},
			relevant: []int{-1, 1, 0}, expected: 2,
		},
		{
			name: "a quote in another document", question: eval.Question{Documents: []string{"a.md"}, Quotes: []string{"lease is"}},
			relevant: []int{-1, -1, -1}, expected: 1,
		},
	} {
		got := row.question.Judge(results)
		if !slices.Equal(got.Relevant, row.relevant) || got.Expected != row.expected {
			t.Errorf("%s: %+v", row.name, got)
		}
	}
}
