package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/knowledge/chunk"
	"github.com/windlass-dev/windlass/services/knowledge/rank"
	"github.com/windlass-dev/windlass/services/knowledge/search"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// service is the knowledge service's store and search, with a bank for each corpus.
type service struct {
	db                *sqldb.DB
	store             *store.Store
	searcher          *search.Searcher
	documents, chunks int
}

const tenant = "bench"

// openService stores the corpora in the database at url.
func openService(ctx context.Context, url string, corpora []corpus) (*service, error) {
	db, err := sqldb.Open(ctx, sqldb.Config{URL: url, Schema: "knowledge"})
	if err != nil {
		return nil, fmt.Errorf("open the service's database: %w", err)
	}
	st, err := store.Open(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	s := &service{db: db, store: st, searcher: search.New(st)}
	for _, c := range corpora {
		if err := st.CreateBank(ctx, store.Bank{Tenant: tenant, ID: c.name, CreateTime: st.Now(), UpdateTime: st.Now()}, 100); err != nil {
			return nil, fmt.Errorf("create a bank: %w", err)
		}
		for _, d := range c.documents {
			in := store.Ingested{Title: d.parsed.Title, Text: d.parsed.Text}
			for _, c := range chunk.Split(d.parsed) {
				counts, length := rank.Count(c.Heading, d.parsed.Text[c.Start:c.End])
				in.Chunks = append(in.Chunks, store.Chunk{
					Start: c.Start, End: c.End, Heading: c.Heading, Page: c.Page, Counts: counts, Length: length,
				})
			}
			if err := s.add(ctx, c.name, d.name, in); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// add stores a document that is ready to be found.
func (s *service) add(ctx context.Context, bank, name string, in store.Ingested) error {
	sum := sha256.Sum256([]byte(in.Text))
	s.documents++
	s.chunks += len(in.Chunks)
	d, err := s.store.PutDocument(ctx, store.Put{
		Document: store.Document{
			Tenant: tenant, ID: fmt.Sprintf("doc_%06d", s.documents), Bank: bank, Name: name, MediaType: "text/markdown",
			SHA256: hex.EncodeToString(sum[:]), Size: int64(len(in.Text)), LatestVersion: fmt.Sprintf("ver_%06d", s.documents),
			CreateTime: s.store.Now(), UpdateTime: s.store.Now(),
		},
		Data: []byte(in.Text), Limit: 1_000_000, Visible: func(store.Document) bool { return true },
	})
	if err != nil {
		return fmt.Errorf("store %s: %w", name, err)
	}
	if _, err := s.store.FinishIngestion(ctx, store.Pending{Tenant: tenant, Version: d.LatestVersion}, in); err != nil {
		return fmt.Errorf("index %s: %w", name, err)
	}
	return nil
}

// search returns the first ten passages for a question.
func (s *service) search(ctx context.Context, q question) ([]span, error) {
	found, err := s.searcher.Search(ctx, search.Query{Tenant: tenant, Banks: []search.Bank{{ID: q.corpus}}, Text: q.text})
	if err != nil {
		return nil, fmt.Errorf("search for %q: %w", q.text, err)
	}
	spans := make([]span, 0, len(found.Results))
	for _, r := range found.Results {
		spans = append(spans, span{r.DocumentName, int(r.Start), int(r.End)})
	}
	return spans, nil
}

// sqlite returns the URL of the service's database in a folder.
func sqlite(dir string) string { return "sqlite:" + filepath.Join(dir, "knowledge.db") }
