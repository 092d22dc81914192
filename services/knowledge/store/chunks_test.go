package store

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testdb"
)

// tables are those of the knowledge service.
var tables = testdb.New("knowledge", func(ctx context.Context, db *sqldb.DB) error {
	_, err := Open(ctx, db)
	return err
})

// terms reads the frequencies of a bank's words.
func terms(t *testing.T, s *Store, bank string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	_, err := sqldb.All(t.Context(), s.db.Reader(), func(row sqldb.Scanner) (struct{}, error) {
		var word string
		var n int64
		err := row.Scan(&word, &n)
		out[word] = n
		return struct{}{}, err
	}, "SELECT word, frequency FROM terms WHERE tenant = 't' AND bank = $1", bank)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// found returns how many chunks of a bank the index has for a word.
func found(t *testing.T, s *Store, bank, word string) (n int) {
	t.Helper()
	query, text := "SELECT count(*) FROM chunk_index WHERE chunk_index MATCH $1", bankWord("t", bank)+" AND "+word
	if s.db.Dialect() == sqldb.Postgres {
		query, text = "SELECT count(*) FROM chunks WHERE word_index @@ CAST($1 AS tsquery)", bankWord("t", bank)+" & "+word
	}
	n, err := sqldb.One(t.Context(), s.db.Reader(), sqldb.Column[int], query, text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// put stores a document whose latest version is live, with chunks.
func put(t *testing.T, s *Store, bank, name string, chunks ...Chunk) Document {
	t.Helper()
	d, err := s.PutDocument(t.Context(), Put{
		Document: Document{
			Tenant: "t", ID: "doc_" + bank + name, Bank: bank, Name: name, MediaType: "text/plain", SHA256: name, Size: 1,
			LatestVersion: "ver_" + bank + name, CreateTime: s.Now(), UpdateTime: s.Now(),
		},
		Data: []byte("content of " + name), Limit: 9, Visible: func(Document) bool { return true },
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.db.Write(t.Context(), func(tx sqldb.Tx) error {
		if err := insertChunks(t.Context(), tx, d, d.LatestVersion, chunks); err != nil {
			return err
		}
		return sqldb.ExecOne(t.Context(), tx, `UPDATE documents SET live_version = latest_version, state = 'ready'
			WHERE tenant = 't' AND id = $1`, d.ID)
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func each(t *testing.T, f func(*testing.T, *Store)) {
	for _, engine := range []string{sqldb.SQLite, sqldb.Postgres} {
		t.Run(engine, func(t *testing.T) {
			url := tables.SQLite(t)
			if engine == sqldb.Postgres {
				url = tables.Postgres(t)
			}
			f(t, openStore(t, url))
		})
	}
}

func openStore(t *testing.T, url string) *Store {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "knowledge", MaxConns: 1, SecureDelete: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := Open(context.WithoutCancel(t.Context()), db)
	if err != nil {
		t.Fatal(err)
	}
	for _, bank := range []string{"a", "b"} {
		if err := s.CreateBank(t.Context(), Bank{Tenant: "t", ID: bank, CreateTime: time.Now()}, 9); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestNumbersOfABankAreThoseOfItsChunks: frequencies, counts and index follow what is stored and deleted, in each bank by itself.
func TestNumbersOfABankAreThoseOfItsChunks(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		one := put(t, s, "a", "one", Chunk{Start: 0, End: 5, Heading: []string{"é"}, Counts: map[string]int{"red": 2, "ship": 1}, Length: 3},
			Chunk{Start: 5, End: 9, Page: 2, Counts: map[string]int{"red": 1}, Length: 1}, Chunk{Start: 9, End: 10})
		put(t, s, "a", "two", Chunk{Counts: map[string]int{"red": 1, "boat": 1}, Length: 2})
		put(t, s, "b", "one", Chunk{Counts: map[string]int{"red": 7}, Length: 7})
		if got := terms(t, s, "a"); !maps.Equal(got, map[string]int64{"red": 3, "ship": 1, "boat": 1}) {
			t.Errorf("frequencies: %v", got)
		}
		b, err := s.Bank(t.Context(), "t", "a")
		if err != nil || b.Documents != 2 || b.Chunks != 4 || b.Length != 6 {
			t.Errorf("the bank: %+v, %v", b, err)
		}
		if got := []int{found(t, s, "a", "red"), found(t, s, "b", "red"), found(t, s, "a", "boat")}; !slices.Equal(got, []int{3, 1, 1}) {
			t.Errorf("found %v", got)
		}
		if err := s.DeleteDocument(t.Context(), "t", "a", one.ID); err != nil {
			t.Fatal(err)
		}
		if got := terms(t, s, "a"); !maps.Equal(got, map[string]int64{"red": 1, "boat": 1}) {
			t.Errorf("frequencies after a deletion: %v", got)
		}
		b, err = s.Bank(t.Context(), "t", "a")
		if err != nil || b.Documents != 1 || b.Chunks != 1 || b.Length != 2 {
			t.Errorf("the bank after a deletion: %+v, %v", b, err)
		}
		if got := []int{found(t, s, "a", "red"), found(t, s, "b", "red"), found(t, s, "a", "ship")}; !slices.Equal(got, []int{1, 1, 0}) {
			t.Errorf("found %v after a deletion", got)
		}
		if err := s.DeleteBank(t.Context(), "t", "a"); err != nil {
			t.Fatal(err)
		}
		if got := found(t, s, "a", "red") + len(terms(t, s, "a")); got != 0 {
			t.Errorf("%d rows of the deleted bank", got)
		}
		if got := terms(t, s, "b"); !maps.Equal(got, map[string]int64{"red": 1}) {
			t.Errorf("frequencies of the other bank: %v", got)
		}
	})
}

// TestManyWords: a document may have more words than one statement has parameters.
func TestManyWords(t *testing.T) {
	s := openStore(t, tables.SQLite(t))
	counts := map[string]int{}
	for i := range 500 {
		counts["w"+strings.Repeat("x", i%40)+string(rune('a'+i%26))] = 1 + i%3
	}
	d := put(t, s, "a", "one", Chunk{Counts: counts, Length: 1000})
	if got := terms(t, s, "a"); len(got) != len(counts) {
		t.Errorf("%d words, want %d", len(got), len(counts))
	}
	if got := decodeCounts(encodeCounts(counts)); !maps.Equal(got, counts) {
		t.Errorf("counts read back: %v", got)
	}
	if err := s.DeleteDocument(t.Context(), "t", "a", d.ID); err != nil || len(terms(t, s, "a")) != 0 {
		t.Errorf("after the deletion: %v, %v", err, terms(t, s, "a"))
	}
}

// TestADeletedDocumentIsInNoFile: SQLite's file and its log have nothing of a document after its deletion, nor of a bank.
func TestADeletedDocumentIsInNoFile(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, tables.SQLiteIn(t, dir))
	const nonce = "qzxnonceqzx"
	put(t, s, "a", "stays", Chunk{Counts: map[string]int{"stays": 1}, Length: 1})
	for name, remove := range map[string]func() error{
		"document": func() error { return s.DeleteDocument(t.Context(), "t", "a", "doc_a"+nonce) },
		"bank":     func() error { return s.DeleteBank(t.Context(), "t", "b") },
	} {
		t.Run(name, func(t *testing.T) {
			put(t, s, map[string]string{"document": "a", "bank": "b"}[name], nonce,
				Chunk{Heading: []string{nonce}, Counts: map[string]int{nonce: 3}, Length: 3})
			if n := occurrences(t, dir, nonce); n == 0 {
				t.Fatal("the text is not found while it is there")
			}
			if err := remove(); err != nil {
				t.Fatal(err)
			}
			if err := s.Purge(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := occurrences(t, dir, nonce); n != 0 {
				t.Errorf("the text is found %d times after the deletion", n)
			}
		})
	}
}

// occurrences counts a text in all files of a directory.
func occurrences(t *testing.T, dir, text string) (n int) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		n += bytes.Count(raw, []byte(text))
	}
	return n
}
