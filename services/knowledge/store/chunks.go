package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// Chunk is a passage of a version's text, with the words that it is found by.
type Chunk struct {
	// Start and End are the first byte of the passage in the text, and the one after the last.
	Start, End int
	// Heading has the headings over it, the outermost first.
	Heading []string
	// Page is where it begins, from 1; 0 = the document has no pages.
	Page int
	// Counts says how often each analysed word occurs, and Length how many words there are. Words have letters and digits only, and at most
	// 256 bytes.
	Counts map[string]int
	Length int
	// Hash is that of the text that is embedded for it. A chunk of the document's next version with the same one keeps the vector. "" = none
	// is kept.
	Hash string
}

// encodeCounts returns the column words: each word as often as it occurs, in their order.
func encodeCounts(counts map[string]int) string {
	var b strings.Builder
	for _, word := range slices.Sorted(maps.Keys(counts)) {
		for range counts[word] {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(word)
		}
	}
	return b.String()
}

// decodeCounts reads the column words.
func decodeCounts(words string) map[string]int {
	counts := map[string]int{}
	for word := range strings.FieldsSeq(words) {
		counts[word]++
	}
	return counts
}

// bankWord is the word that stands for a bank of a tenant in the index of chunks.
func bankWord(tenant, bank string) string {
	sum := sha256.Sum256([]byte(tenant + "\x00" + bank))
	return "b" + hex.EncodeToString(sum[:12])
}

var documentChunks = sqldb.NewInserts("chunks",
	"tenant, bank, document, version, ordinal, start_byte, end_byte, page, heading, bank_word, words, length")

// insertChunks makes a version what searches find of its document. The bank is locked, and the document has no chunks.
func insertChunks(ctx context.Context, tx sqldb.Tx, d Document, version string, chunks []Chunk) error {
	rows := make([][]any, 0, len(chunks))
	changes, length := map[string]int64{}, int64(0)
	word := bankWord(d.Tenant, d.Bank)
	for i, c := range chunks {
		heading, err := json.Marshal(append([]string{}, c.Heading...))
		if err != nil {
			return fmt.Errorf("encode heading: %w", err)
		}
		rows = append(rows, []any{
			d.Tenant, d.Bank, d.ID, version, i, c.Start, c.End, c.Page, string(heading), word, encodeCounts(c.Counts), c.Length,
		})
		for w := range c.Counts {
			changes[w]++
		}
		length += int64(c.Length)
	}
	if err := documentChunks.Exec(ctx, tx, rows); err != nil {
		return err
	}
	if err := changeTerms(ctx, tx, d, changes); err != nil {
		return err
	}
	return countChunks(ctx, tx, d, 1, int64(len(chunks)), length)
}

// dropChunks makes searches no longer find a document. The bank is locked. It does nothing if the document has no live version.
func dropChunks(ctx context.Context, tx sqldb.Tx, d Document) error {
	if d.Version == "" {
		return nil
	}
	changes, length := map[string]int64{}, int64(0)
	scan := func(s sqldb.Scanner) (struct{}, error) {
		var words string
		var n int64
		err := s.Scan(&words, &n)
		for w := range decodeCounts(words) {
			changes[w]--
		}
		length += n
		return struct{}{}, err
	}
	chunks, err := sqldb.All(ctx, tx, scan, "SELECT words, length FROM chunks WHERE tenant = $1 AND document = $2", d.Tenant, d.ID)
	if err != nil {
		return err
	}
	if err := dropVectors(ctx, tx, d); err != nil {
		return err
	}
	if _, err := sqldb.Exec(ctx, tx, "DELETE FROM chunks WHERE tenant = $1 AND document = $2", d.Tenant, d.ID); err != nil {
		return err
	}
	if err := changeTerms(ctx, tx, d, changes); err != nil {
		return err
	}
	return countChunks(ctx, tx, d, -1, -int64(len(chunks)), -length)
}

// countChunks adds to the numbers of a bank.
func countChunks(ctx context.Context, tx sqldb.Tx, d Document, documents, chunks, length int64) error {
	return sqldb.ExecOne(ctx, tx, `UPDATE banks SET documents = documents + $3, chunks = chunks + $4, length = length + $5
		WHERE tenant = $1 AND id = $2`, d.Tenant, d.Bank, documents, chunks, length)
}

// changeTerms adds to the frequencies of words, and deletes those that no chunk has any more.
func changeTerms(ctx context.Context, tx sqldb.Tx, d Document, changes map[string]int64) error {
	return sqldb.Groups(slices.Sorted(maps.Keys(changes)), func(words []string) error {
		args := []any{d.Tenant, d.Bank}
		var values strings.Builder
		fell := false
		for i, word := range words {
			if i > 0 {
				values.WriteString(", ")
			}
			fmt.Fprintf(&values, "($1, $2, $%d, CAST($%d AS BIGINT))", 2*i+3, 2*i+4)
			args = append(args, word, changes[word])
			fell = fell || changes[word] < 0
		}
		if _, err := sqldb.Exec(ctx, tx, "INSERT INTO terms (tenant, bank, word, frequency) VALUES "+values.String()+
			" ON CONFLICT (tenant, bank, word) DO UPDATE SET frequency = terms.frequency + excluded.frequency", args...); err != nil || !fell {
			return err
		}
		_, err := sqldb.Exec(ctx, tx, "DELETE FROM terms WHERE tenant = $1 AND bank = $2 AND frequency <= 0 AND word IN ("+
			sqldb.Placeholders(3, len(words))+")", append([]any{d.Tenant, d.Bank}, texts(words)...)...)
		return err
	})
}
