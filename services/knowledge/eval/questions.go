package eval

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxQuestions is the number of questions of a file.
const maxQuestions = 10_000

// Question is what to search for, and what a search should find.
type Question struct {
	// Bank is the id of the bank to search.
	Bank string `yaml:"bank"`
	// Query is the question.
	Query string `yaml:"query"`
	// Documents are the names of the documents that answer it.
	Documents []string `yaml:"documents"`
	// Quotes are parts of their text that answer it. With quotes, a result counts if it has one; without, if it is of one of the
	// documents.
	Quotes []string `yaml:"quotes"`
}

// file is a file of questions.
type file struct {
	Bank      string     `yaml:"bank"`
	Questions []Question `yaml:"questions"`
}

// ReadQuestions reads questions from YAML or JSON. A question without a bank has that of the file.
func ReadQuestions(raw []byte) ([]Question, error) {
	var f file
	d := yaml.NewDecoder(bytes.NewReader(raw))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read questions: %w", err)
	}
	if len(f.Questions) == 0 || len(f.Questions) > maxQuestions {
		return nil, fmt.Errorf("there are %d questions; a file has 1 to %d under \"questions\"", len(f.Questions), maxQuestions)
	}
	for i := range f.Questions {
		q := &f.Questions[i]
		if q.Bank == "" {
			q.Bank = f.Bank
		}
		empty := func(s string) bool { return strings.TrimSpace(s) == "" }
		switch {
		case q.Bank == "":
			return nil, fmt.Errorf("question %d has no bank", i+1)
		case empty(q.Query):
			return nil, fmt.Errorf("question %d has no query", i+1)
		case len(q.Documents) == 0 || slices.ContainsFunc(q.Documents, empty):
			return nil, fmt.Errorf("question %d has no documents that answer it, or an empty name of one", i+1)
		case slices.ContainsFunc(q.Quotes, empty):
			return nil, fmt.Errorf("question %d has an empty quote", i+1)
		}
	}
	return f.Questions, nil
}

// Result is a passage that a search returned.
type Result struct {
	// Document is the name of its document.
	Document string
	// Text is its text.
	Text string
}

// Judge says which of the results, the best first, answer the question. White space of quotes does not matter. A quote that a result has
// only a part of does not count.
func (q Question) Judge(results []Result) Answer {
	a := Answer{Expected: max(len(q.Quotes), 1)}
	if len(q.Quotes) == 0 {
		a.Expected = len(q.Documents)
	}
	for _, r := range results {
		expected := slices.Index(q.Documents, r.Document)
		if len(q.Quotes) > 0 && expected >= 0 {
			text := plainSpaces(r.Text)
			expected = slices.IndexFunc(q.Quotes, func(quote string) bool { return strings.Contains(text, plainSpaces(quote)) })
		}
		a.Relevant = append(a.Relevant, expected)
	}
	return a
}

func plainSpaces(text string) string { return strings.Join(strings.Fields(text), " ") }
