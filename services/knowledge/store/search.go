package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// searchRows are what searches read.
type searchRows struct{ base }

// Snapshot runs f, whose reads all see one state of the database, so that a result never mixes two versions of a document.
func (s searchRows) Snapshot(ctx context.Context, f func(Snapshot) error) error {
	return s.db.Read(ctx, func(q sqldb.Querier) error { return f(Snapshot{q, s.db.Dialect()}) })
}

// Snapshot is one state of the database. It ends with the function that it was passed to.
type Snapshot struct {
	q       sqldb.Querier
	dialect string
}

// Frequencies returns a bank, and in how many of its chunks each of some words is; words that are in none are left out. ErrNotFound when
// there is no such bank.
func (s Snapshot) Frequencies(ctx context.Context, tenant, bank string, words []string) (Bank, map[string]int64, error) {
	b, err := sqldb.One(ctx, s.q, scanBank, "SELECT "+bankColumns+" FROM banks WHERE tenant = $1 AND id = $2", tenant, bank)
	if err != nil || len(words) == 0 {
		return b, nil, err
	}
	frequencies := map[string]int64{}
	scan := func(row sqldb.Scanner) (struct{}, error) {
		var word string
		var n int64
		err := row.Scan(&word, &n)
		frequencies[word] = n
		return struct{}{}, err
	}
	_, err = sqldb.All(ctx, s.q, scan, "SELECT word, frequency FROM terms WHERE tenant = $1 AND bank = $2 AND word IN ("+
		sqldb.Placeholders(3, len(words))+")", append([]any{tenant, bank}, texts(words)...)...)
	return b, frequencies, err
}

// Word is an analysed word by which candidates are found.
type Word struct {
	// Text is the word: letters and digits.
	Text string
	// Weight is what a chunk gains that has it.
	Weight int64
}

// Find says which chunks of a bank are candidates.
type Find struct {
	// Tenant and Bank say where.
	Tenant, Bank string
	// Words are those of which a candidate has at least one. The candidates with the largest sum of weights are returned, and of equal
	// ones those that were stored first, so that engines agree.
	Words []Word
	// Labels are those that the caller may read: a document with another one is left out.
	Labels []string
	// Attributes are those that documents must have.
	Attributes map[string]string
	// Counted are the words whose occurrences are counted.
	Counted []string
	// Limit is the maximum number of candidates.
	Limit int
}

// Candidate is a chunk that a search may return.
type Candidate struct {
	// ID identifies the chunk in the database; Document and Ordinal say which of a document it is.
	ID       int64
	Document string
	Ordinal  int
	// Counts says how often it has each of the counted words; Length is the number of all words.
	Counts map[string]int
	Length int
}

// Candidates returns candidates in no particular order.
func (s Snapshot) Candidates(ctx context.Context, f Find) ([]Candidate, error) {
	if len(f.Words) == 0 || f.Limit <= 0 {
		return nil, nil
	}
	text, args := s.candidates(f)
	counted := slices.Sorted(slices.Values(f.Counted))
	scan := func(row sqldb.Scanner) (c Candidate, err error) {
		var words string
		err = row.Scan(&c.ID, &c.Document, &c.Ordinal, &c.Length, &words)
		c.Counts = countWords(words, counted)
		return c, err
	}
	return sqldb.All(ctx, s.q, scan, text, args...)
}

// candidates returns the query for candidates. The index has its own row for each word, so that a common word costs the reading of its
// chunks' ids and not of their text.
func (s Snapshot) candidates(f Find) (text string, args []any) {
	args = []any{f.Tenant, f.Bank, f.Limit}
	parameter := func(value any) string {
		args = append(args, value)
		return fmt.Sprintf("$%d", len(args))
	}
	bank := bankWord(f.Tenant, f.Bank)
	var hits []string
	for _, w := range f.Words {
		weight := "CAST(" + parameter(w.Weight) + " AS BIGINT)"
		if s.dialect == sqldb.SQLite {
			match := parameter(fmt.Sprintf("bank_word : %s AND words : %q", bank, w.Text))
			hits = append(hits, "SELECT rowid AS id, "+weight+" AS weight FROM chunk_index WHERE chunk_index MATCH "+match)
		} else {
			match := parameter(fmt.Sprintf("'%s' & '%s'", bank, w.Text))
			hits = append(hits, "SELECT id, "+weight+" AS weight FROM chunks WHERE word_index @@ CAST(CAST("+match+" AS TEXT) AS TSQUERY)")
		}
	}
	var filter strings.Builder
	filter.WriteString(" AND NOT EXISTS (" + hiddenBy("c.document", f.Labels, len(args)+1) + ")")
	args = append(args, texts(f.Labels)...)
	for _, name := range slices.Sorted(maps.Keys(f.Attributes)) {
		filter.WriteString(" AND EXISTS (SELECT 1 FROM document_attributes a WHERE a.tenant = $1 AND a.document = c.document AND a.name = " +
			parameter(name) + " AND a.value = " + parameter(f.Attributes[name]) + ")")
	}
	return `WITH hits AS (` + strings.Join(hits, " UNION ALL ") + `),
		sums AS (SELECT id, SUM(weight) AS weight FROM hits GROUP BY id),
		best AS (SELECT c.id FROM sums s JOIN chunks c ON c.id = s.id
			WHERE c.tenant = $1 AND c.bank = $2` + filter.String() + ` ORDER BY s.weight DESC, c.id LIMIT $3)
		SELECT c.id, c.document, c.ordinal, c.length, c.words FROM best b JOIN chunks c ON c.id = b.id`, args
}

// countWords returns how often each of some words is in the column words, which is sorted.
func countWords(words string, counted []string) map[string]int {
	counts := make(map[string]int, len(counted))
	for _, word := range counted {
		// The first position from which on all words are equal or greater. Each position stands for the word that it is in.
		at := sort.Search(len(words), func(i int) bool {
			start := strings.LastIndexByte(words[:i], ' ') + 1
			end := strings.IndexByte(words[start:], ' ')
			if end < 0 {
				return words[start:] >= word
			}
			return words[start:start+end] >= word
		})
		for rest := words[at:]; rest != ""; {
			next, after, _ := strings.Cut(rest, " ")
			if next != word {
				break
			}
			counts[word]++
			rest = after
		}
	}
	return counts
}

// Passage is a chunk that was found.
type Passage struct {
	// ID identifies the chunk in the database; Ordinal says which one of the document it is, from 0.
	ID      int64
	Ordinal int
	// Document and DocumentName say whose it is, Version whose text.
	Document, DocumentName, Version string
	// Start and End are its first byte in the version's text, and the one after the last.
	Start, End int64
	// Heading has the headings over it, the outermost first.
	Heading []string
	// Page is where it begins, from 1; 0 = the document has no pages.
	Page int
}

// Passages returns chunks of a tenant by their ids.
func (s Snapshot) Passages(ctx context.Context, tenant string, ids []int64) (map[int64]Passage, error) {
	passages := make(map[int64]Passage, len(ids))
	scan := func(row sqldb.Scanner) (p Passage, err error) {
		var heading []byte
		if err := row.Scan(&p.ID, &p.Ordinal, &p.Document, &p.DocumentName, &p.Version, &p.Start, &p.End, &p.Page, &heading); err != nil {
			return p, err
		}
		if err := json.Unmarshal(heading, &p.Heading); err != nil {
			return p, fmt.Errorf("decode heading of chunk %d: %w", p.ID, err)
		}
		return p, nil
	}
	return passages, sqldb.Groups(ids, func(ids []int64) error {
		args := []any{tenant}
		for _, id := range ids {
			args = append(args, id)
		}
		all, err := sqldb.All(ctx, s.q, scan, `SELECT c.id, c.ordinal, c.document, d.name, c.version, c.start_byte, c.end_byte, c.page, c.heading
			FROM chunks c JOIN documents d ON d.tenant = c.tenant AND d.id = c.document
			WHERE c.tenant = $1 AND c.id IN (`+sqldb.Placeholders(2, len(ids))+`)`, args...)
		for _, p := range all {
			passages[p.ID] = p
		}
		return err
	})
}

// Span is a range of a version's text.
type Span struct {
	// Ordinal says which chunk of the document it is.
	Ordinal int
	// Start and End are its first byte, and the one after the last.
	Start, End int64
}

// Around returns a chunk with up to distance chunks before and after it, in their order.
func (s Snapshot) Around(ctx context.Context, tenant string, p Passage, distance int) ([]Span, error) {
	scan := func(row sqldb.Scanner) (out Span, err error) {
		err = row.Scan(&out.Ordinal, &out.Start, &out.End)
		return out, err
	}
	return sqldb.All(ctx, s.q, scan, `SELECT ordinal, start_byte, end_byte FROM chunks
		WHERE tenant = $1 AND document = $2 AND ordinal >= $3 AND ordinal <= $4 ORDER BY ordinal`, tenant, p.Document, p.Ordinal-distance,
		p.Ordinal+distance)
}

// Text returns a range of a version's text; ErrNotFound.
func (s Snapshot) Text(ctx context.Context, tenant, version string, start, end int64) (string, error) {
	text, err := sqldb.One(ctx, s.q, sqldb.Column[[]byte], `SELECT substr(text, CAST($3 AS INTEGER), CAST($4 AS INTEGER))
		FROM document_versions WHERE tenant = $1 AND id = $2`, tenant, version, start+1, end-start)
	return string(text), err
}
