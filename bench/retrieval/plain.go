package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// pieceBytes is the size of the pieces that the plain search finds: about 300 tokens, as chunks have.
const pieceBytes = 1200

// plain is the baseline: SQLite's FTS5 with its default tokenizer and order, over pieces of the same texts that have a fixed size.
type plain struct {
	db     *sqldb.DB
	pieces int
}

func openPlain(ctx context.Context, dir string, corpora []corpus) (*plain, error) {
	db, err := sqldb.Open(ctx, sqldb.Config{URL: "sqlite:" + filepath.Join(dir, "plain.db"), Schema: "plain"})
	if err != nil {
		return nil, fmt.Errorf("open the plain index: %w", err)
	}
	p := &plain{db: db}
	err = db.WriteAlone(ctx, func(tx sqldb.Tx) error {
		p.pieces = 0
		for _, c := range corpora {
			create := "CREATE VIRTUAL TABLE pieces_" + c.name + " USING fts5 (document UNINDEXED, start UNINDEXED, text)"
			if _, err := tx.ExecContext(ctx, create); err != nil {
				return err
			}
			for _, d := range c.documents {
				for start, end := range pieces(d.parsed.Text) {
					p.pieces++
					if _, err := tx.ExecContext(ctx, "INSERT INTO pieces_"+c.name+" (document, start, text) VALUES ($1, $2, $3)", d.name, start,
						d.parsed.Text[start:end]); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("fill the plain index: %w", err)
	}
	return p, nil
}

// pieces yields the bounds of the pieces of a text.
func pieces(text string) func(yield func(start, end int) bool) {
	return func(yield func(start, end int) bool) {
		for start := 0; start < len(text); {
			end := min(start+pieceBytes, len(text))
			for end < len(text) && !utf8.RuneStart(text[end]) {
				end++
			}
			if !yield(start, end) {
				return
			}
			start = end
		}
	}
}

// search returns the first ten pieces that have any word of a question.
func (p *plain) search(ctx context.Context, q question) ([]span, error) {
	scan := func(row sqldb.Scanner) (s span, err error) {
		var text string
		err = row.Scan(&s.document, &s.start, &text)
		s.end = s.start + len(text)
		return s, err
	}
	spans, err := sqldb.All(ctx, p.db.Reader(), scan, "SELECT document, start, text FROM pieces_"+q.corpus+" WHERE pieces_"+q.corpus+
		" MATCH $1 ORDER BY rank LIMIT 10", matchAny(q.text))
	if err != nil {
		return nil, fmt.Errorf("plain search for %q: %w", q.text, err)
	}
	return spans, nil
}

// matchAny returns a query of FTS5 for texts that have any word of a question.
func matchAny(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range words {
		words[i] = `"` + w + `"`
	}
	return strings.Join(words, " OR ")
}
