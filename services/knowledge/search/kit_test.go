package search_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testdb"
	"github.com/windlass-dev/windlass/services/knowledge/dense"
	"github.com/windlass-dev/windlass/services/knowledge/embed"
	"github.com/windlass-dev/windlass/services/knowledge/embed/embedtest"
	"github.com/windlass-dev/windlass/services/knowledge/rank"
	"github.com/windlass-dev/windlass/services/knowledge/search"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// engines are the databases that each test runs on.
var engines = map[string]func(t *testing.T) string{
	"SQLite":     func(t *testing.T) string { t.Helper(); return tables.SQLite(t) },
	"PostgreSQL": func(t *testing.T) string { t.Helper(); return tables.Postgres(t) },
}

// tables are those of the knowledge service.
var tables = testdb.New("knowledge", func(ctx context.Context, db *sqldb.DB) error {
	_, err := store.Open(ctx, db)
	return err
})

// onEngines runs a test on each engine.
func onEngines(t *testing.T, test func(t *testing.T, k *kit)) {
	t.Helper()
	t.Parallel()
	for name, url := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newKit(t, url(t)))
		})
	}
}

// kit is a store with a searcher.
type kit struct {
	*testing.T
	*search.Searcher
	hybrid *search.Searcher
	models *embedtest.Models
	store  *store.Store
	next   int
}

func newKit(t *testing.T, url string) *kit {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "knowledge"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := store.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	k := &kit{T: t, Searcher: search.New(s), models: &embedtest.Models{}, store: s}
	k.hybrid = k.searcher(false)
	return k
}

// searcher returns a searcher by vectors, too.
func (k *kit) searcher(reranks bool) *search.Searcher {
	o := embed.Options{Model: "p/m", Timeout: 50 * time.Millisecond, Now: k.store.Now}
	if reranks {
		o.Reranker = "p/r"
	}
	return search.NewHybrid(k.store, search.Hybrid{
		Models: embed.NewModels(k.models, o), Spaces: k.store.LiveSpaces, Reranks: reranks, Codes: dense.NewCache(1 << 26),
		Log: slog.New(slog.DiscardHandler),
	})
}

// fill makes the vectors that banks lack, with a model.
func (k *kit) fill(model string) {
	k.Helper()
	m := embed.NewModels(k.models, embed.Options{Model: model, Timeout: time.Minute, Now: k.store.Now})
	f, err := embed.NewFiller(embed.Config{Owner: "test", Interval: time.Hour}, k.store, m, slog.New(slog.DiscardHandler))
	k.must(err)
	k.must(f.Fill(k.Context()))
}

func (k *kit) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

func (k *kit) bank(tenant, id, subject string) {
	k.Helper()
	k.must(k.store.CreateBank(k.Context(), store.Bank{Tenant: tenant, ID: id, Subject: subject}, 100))
}

// text is a document to store. Its paragraphs are its chunks; one that begins with "#" is the heading of those that follow.
type text struct {
	tenant, bank, name, text string
	labels                   []string
	attributes               map[string]string
}

// add stores a document that searches find, and returns its id.
func (k *kit) add(d text) string {
	k.Helper()
	k.next++
	sum, at := sha256.Sum256([]byte(d.text)), time.Date(2026, 1, 2, 3, 4, k.next, 0, time.UTC)
	put, err := k.store.PutDocument(k.Context(), store.Put{
		Document: store.Document{
			Tenant: d.tenant, ID: fmt.Sprintf("doc_%04d", k.next), Bank: d.bank, Name: d.name, MediaType: "text/plain", Size: int64(len(d.text)),
			SHA256: hex.EncodeToString(sum[:]), LatestVersion: fmt.Sprintf("ver_%04d", k.next), CreateTime: at, UpdateTime: at,
			Labels: d.labels, Attributes: d.attributes,
		},
		Data: []byte(d.text), Limit: 1000, Visible: func(store.Document) bool { return true },
	})
	k.must(err)
	in := store.Ingested{Text: d.text}
	var heading []string
	at0 := 0
	for part := range strings.SplitAfterSeq(d.text, "\n\n") {
		start := at0
		at0 += len(part)
		if title, ok := strings.CutPrefix(part, "# "); ok {
			heading = []string{strings.TrimSpace(title)}
			continue
		}
		counts, length := rank.Count(heading, part)
		in.Chunks = append(in.Chunks, store.Chunk{Start: start, End: at0, Heading: heading, Page: 1, Counts: counts, Length: length, Hash: part})
	}
	state, err := k.store.FinishIngestion(k.Context(), store.Pending{Tenant: d.tenant, Version: put.LatestVersion}, in)
	k.must(err)
	if state != store.Ready {
		k.Fatalf("document %s is %s", d.name, state)
	}
	return put.ID
}

// find searches banks of a tenant whose labels the caller may read, and returns the texts that were found.
func (k *kit) find(q search.Query) (texts []string) {
	k.Helper()
	found, err := k.Search(k.Context(), q)
	k.must(err)
	if len(found.Missing) > 0 {
		k.Errorf("missing banks: %v", found.Missing)
	}
	for _, r := range found.Results {
		texts = append(texts, strings.TrimSpace(r.Text))
	}
	return texts
}
