package ingest_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testdb"
	"github.com/windlass-dev/windlass/services/knowledge/ingest"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

const (
	tenant = "acme"
	bank   = "handbook"
)

var tables = testdb.New("knowledge", func(ctx context.Context, db *sqldb.DB) error {
	_, err := store.Open(ctx, db)
	return err
})

// reader reads texts whose paragraphs are chunks. The text "refuse" is refused.
type reader struct {
	mu sync.Mutex
	// err is returned instead, block is waited for.
	err   error
	block <-chan struct{}
	// began receives the name of each content that is read.
	began chan string
	calls int
}

func (r *reader) Read(ctx context.Context, c ingest.Content) (store.Ingested, error) {
	r.mu.Lock()
	r.calls++
	err, block := r.err, r.block
	r.mu.Unlock()
	if r.began != nil {
		r.began <- c.Name
	}
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return store.Ingested{}, ctx.Err()
		}
	}
	if err != nil {
		return store.Ingested{}, err
	}
	text := string(c.Data)
	if text == "refuse" {
		return store.Ingested{}, &ingest.RefusedError{Reason: "It is encrypted."}
	}
	out, at := store.Ingested{Title: c.Name, Text: text}, 0
	for part := range strings.SplitAfterSeq(text, "\n\n") {
		counts := map[string]int{}
		for word := range strings.FieldsSeq(part) {
			counts[word]++
		}
		out.Chunks = append(out.Chunks, store.Chunk{Start: at, End: at + len(part), Counts: counts, Length: len(strings.Fields(part))})
		at += len(part)
	}
	return out, nil
}

func (r *reader) set(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

// engine is a workflow engine that records its calls.
type engine struct {
	mu        sync.Mutex
	err       error
	started   []string
	cancelled []string
}

func (e *engine) Start(_ context.Context, _, version string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil {
		e.started = append(e.started, version)
	}
	return e.err
}

func (e *engine) Cancel(_ context.Context, version string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cancelled = append(e.cancelled, version)
	return nil
}

func (e *engine) calls() (started, cancelled []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string{}, e.started...), append([]string{}, e.cancelled...)
}

func (e *engine) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err = err
}

// kit is a service with a bank.
type kit struct {
	*testing.T
	*ingest.Service
	store  *store.Store
	db     *sqldb.DB
	reader *reader
	engine *engine
	mu     sync.Mutex
	now    time.Time
	next   int
}

// newKit returns a kit whose clock stands still.
func newKit(t *testing.T, concurrent int) *kit {
	t.Helper()
	k := &kit{T: t, reader: &reader{}, engine: &engine{}, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	var err error
	k.db, err = sqldb.Open(t.Context(), sqldb.Config{URL: tables.SQLite(t), Schema: "knowledge", Now: k.clock})
	k.must(err)
	t.Cleanup(func() { k.must(k.db.Close()) })
	k.store, err = store.Open(t.Context(), k.db)
	k.must(err)
	k.Service, err = ingest.New(ingest.Config{Concurrent: concurrent, Interval: time.Hour, RestartAfter: time.Minute}, ingest.Deps{
		Store: k.store, Reader: k.reader, Engine: k.engine, Log: slog.New(slog.DiscardHandler),
	})
	k.must(err)
	k.must(k.store.CreateBank(t.Context(), store.Bank{Tenant: tenant, ID: bank}, 10))
	return k
}

func (k *kit) clock() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

func (k *kit) advance(d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now = k.now.Add(d)
}

func (k *kit) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

// put stores a document with a text.
func (k *kit) put(name, text string) store.Document {
	k.Helper()
	k.next++
	sum := sha256.Sum256([]byte(text))
	k.advance(time.Second)
	d, err := k.store.PutDocument(k.Context(), store.Put{
		Document: store.Document{
			Tenant: tenant, ID: "doc_" + name, Bank: bank, Name: name, MediaType: "text/plain", Size: int64(len(text)),
			SHA256: hex.EncodeToString(sum[:]), LatestVersion: fmt.Sprintf("ver_%d", k.next), CreateTime: k.clock(), UpdateTime: k.clock(),
		},
		Data: []byte(text), Limit: 100, Visible: func(store.Document) bool { return true },
	})
	k.must(err)
	return d
}

// read reads a document again.
func (k *kit) read(d store.Document) store.Document {
	k.Helper()
	now, err := k.store.Document(k.Context(), tenant, bank, d.ID)
	k.must(err)
	return now
}

// ingest ingests a version, which must have an outcome.
func (k *kit) ingest(version string, want ingest.Outcome) {
	k.Helper()
	got, err := k.Ingest(k.Context(), tenant, version)
	if err != nil || got != want {
		k.Errorf("version %s: outcome %q, %v; want %q", version, got, err, want)
	}
}

// chunk is a chunk as it is stored.
type chunk struct {
	version    string
	start, end int
}

// chunks returns the chunks of a document, in their order.
func (k *kit) chunks(d store.Document) []chunk {
	k.Helper()
	rows, err := sqldb.All(k.Context(), k.db.Reader(), func(s sqldb.Scanner) (c chunk, err error) {
		err = s.Scan(&c.version, &c.start, &c.end)
		return c, err
	}, "SELECT version, start_byte, end_byte FROM chunks WHERE document = $1 ORDER BY ordinal", d.ID)
	k.must(err)
	return rows
}

// run runs the service until the test ends.
func (k *kit) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.Service.Run(ctx)
	}()
	k.Cleanup(func() {
		cancel()
		<-done
	})
}

var errAway = errors.New("away")
