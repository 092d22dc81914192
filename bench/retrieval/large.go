package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/knowledge/rank"
	"github.com/windlass-dev/windlass/services/knowledge/search"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

const (
	// chunkWords is the number of words of a generated chunk, documentChunks that of the chunks of a document.
	chunkWords, documentChunks = 180, 50
	// vocabulary is the number of different words; their frequencies follow Zipf's law.
	vocabulary = 50_000
	// queries is how many are timed.
	queries = 100
)

// measureLarge prints the time of searches in a bank of n generated chunks, and that of the same words as a bare query of FTS5.
func measureLarge(ctx context.Context, out io.Writer, dir string, n int) (err error) {
	s, err := openService(ctx, sqlite(dir), []corpus{{name: "large"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.db.Close()) }()
	p, err := openPlain(ctx, dir, []corpus{{name: "large"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.db.Close()) }()
	random := rand.New(rand.NewPCG(1, 2)) // the same text each time
	words := rand.NewZipf(random, 1.1, 20, vocabulary-1)
	begin := time.Now()
	for s.chunks < n {
		if err := addGenerated(ctx, s, p, words); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintf(out, "%d chunks in %d documents, stored in %.0f s\n", s.chunks, s.documents, time.Since(begin).Seconds())
	before := residentMiB()
	var ours, bare []time.Duration
	for range queries {
		// Two common words, two of any kind, two rare ones.
		text := strings.Join([]string{
			word(uint64(random.IntN(50))), word(uint64(random.IntN(500))), word(words.Uint64()), word(words.Uint64()),
			word(uint64(random.IntN(vocabulary))), word(uint64(random.IntN(vocabulary))),
		}, " ")
		took := time.Now()
		if _, err := s.searcher.Search(ctx, search.Query{Tenant: tenant, Banks: []search.Bank{{ID: "large"}}, Text: text}); err != nil {
			return fmt.Errorf("search for %q: %w", text, err)
		}
		ours = append(ours, time.Since(took))
		took = time.Now()
		if _, err := p.search(ctx, question{corpus: "large", text: text}); err != nil {
			return err
		}
		bare = append(bare, time.Since(took))
	}
	slices.Sort(ours)
	slices.Sort(bare)
	limit := bare[queries/2]*3/2 + 10*time.Millisecond
	_, _ = fmt.Fprintf(out, "search p50 %v, p90 %v; bare FTS5 p50 %v, p90 %v; limit of p50 (1.5 × + 10 ms) %v; memory +%d MiB\n",
		ours[queries/2], ours[queries*9/10], bare[queries/2], bare[queries*9/10], limit, residentMiB()-before)
	return nil
}

// word returns the word of a rank. It has letters only, and none that stemming would remove.
func word(n uint64) string {
	return strings.Map(func(digit rune) rune {
		return rune("bcfhjkmnprtvwxzq"[strings.IndexRune("0123456789abcdef", digit)])
	}, fmt.Sprintf("%x", n)) + "q"
}

// addGenerated stores a document of random words in both indexes.
func addGenerated(ctx context.Context, s *service, p *plain, words *rand.Zipf) error {
	var text strings.Builder
	in := store.Ingested{}
	for range documentChunks {
		start := text.Len()
		for range chunkWords {
			text.WriteString(word(words.Uint64()) + " ")
		}
		part := text.String()[start:]
		counts, length := rank.Count(nil, part)
		in.Chunks = append(in.Chunks, store.Chunk{Start: start, End: text.Len(), Counts: counts, Length: length})
	}
	in.Text = text.String()
	if err := s.add(ctx, "large", fmt.Sprintf("%d.txt", s.documents), in); err != nil {
		return err
	}
	err := p.db.WriteAlone(ctx, func(tx sqldb.Tx) error {
		for _, c := range in.Chunks {
			if _, err := tx.ExecContext(ctx, "INSERT INTO pieces_large (document, start, text) VALUES ('', $1, $2)", c.Start,
				in.Text[c.Start:c.End]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("fill the plain index: %w", err)
	}
	return nil
}

// residentMiB returns the memory of the process; 0 where it is not known.
func residentMiB() int {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident int
	if _, err := fmt.Sscan(string(raw), &size, &resident); err != nil {
		return 0
	}
	return resident * os.Getpagesize() >> 20
}
