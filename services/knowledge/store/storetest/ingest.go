package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/sqldb/plantest"
	"github.com/windlass-dev/windlass/libs/testwant"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// RunIngestions runs the part of the suite about ingestions on the empty database at url.
func RunIngestions(t *testing.T, url string) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "knowledge"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		plantest.Check(t, db, "SELECT count(*) FROM documents WHERE tenant = $1", "SELECT count(*) FROM banks WHERE tenant = $1") // their limits
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := store.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("starts of ingestions", func(t *testing.T) { starts(t, s) })
	t.Run("swap of versions", func(t *testing.T) { ingestion(t, s) })
	t.Run("excerpts", func(t *testing.T) { excerpts(t, s) })
	t.Run("labels of versions", func(t *testing.T) { labelsOfVersions(t, s) })
	t.Run("outcomes of ingestions", func(t *testing.T) { outcomes(t, s) })
	t.Run("ingestions under contention", func(t *testing.T) { contention(t, s) })
}

// ingestions are documents that are ingested, in a bank of the test's own.
type ingestions struct {
	*testing.T
	*store.Store
	tenant string
	next   int
}

const ingestBank = "ingested"

// newIngestions makes the bank.
func newIngestions(t *testing.T, s *store.Store, tenant string) *ingestions {
	t.Helper()
	i := &ingestions{T: t, Store: s, tenant: tenant}
	i.must(s.CreateBank(t.Context(), store.Bank{Tenant: tenant, ID: ingestBank}, 10))
	return i
}

func (i *ingestions) must(err error) {
	i.Helper()
	if err != nil {
		i.Fatal(err)
	}
}

// put stores a document with a text. Each is a second later than the one before.
func (i *ingestions) put(name, text string, labels ...string) (store.Document, store.Pending) {
	i.Helper()
	i.next++
	sum, at := sha256.Sum256([]byte(text)), time.Date(2026, 1, 2, 3, 4, i.next, 0, time.UTC)
	d, err := i.PutDocument(i.Context(), store.Put{
		Document: store.Document{
			Tenant: i.tenant, ID: "doc_" + i.tenant + name, Bank: ingestBank, Name: name, MediaType: "text/plain", Size: int64(len(text)),
			SHA256: hex.EncodeToString(sum[:]), LatestVersion: fmt.Sprintf("ver_%s%d", i.tenant, i.next), CreateTime: at, UpdateTime: at,
			Labels: labels,
		},
		Data: []byte(text), Limit: 100, Visible: func(store.Document) bool { return true },
	})
	i.must(err)
	return d, store.Pending{Tenant: i.tenant, Version: d.LatestVersion}
}

// ingested is what a text of some words becomes: each word is a chunk.
func ingested(words ...string) store.Ingested {
	out := store.Ingested{Title: "Title"}
	for _, word := range words {
		start := len(out.Text)
		out.Text += word + "\n"
		out.Chunks = append(out.Chunks, store.Chunk{
			Start: start, End: len(out.Text), Heading: []string{"Chapter"}, Page: 1, Counts: map[string]int{word: 2}, Length: 2,
		})
	}
	return out
}

// numbers checks the numbers of the bank.
func (i *ingestions) numbers(documents, chunks, length int64) {
	i.Helper()
	b, err := i.Bank(i.Context(), i.tenant, ingestBank)
	if err != nil || b.Documents != documents || b.Chunks != chunks || b.Length != length {
		i.Errorf("bank %+v, %v; want %d documents, %d chunks, length %d", b, err, documents, chunks, length)
	}
}

// ingestion: a version becomes the live one once, and takes the place of the former.
func ingestion(t *testing.T, s *store.Store) {
	i := newIngestions(t, s, "swap")
	d, first := i.put("a", "one two")
	begun, attempts, err := s.BeginIngestion(t.Context(), first)
	if err != nil || attempts != 1 || begun.State != store.Ingesting || begun.ID != d.ID {
		t.Fatalf("begun %+v, %d, %v", begun, attempts, err)
	}
	for range 2 {
		state, err := s.FinishIngestion(t.Context(), first, ingested("one", "two"))
		if err != nil || state != store.Ready {
			t.Fatalf("finished: %s, %v", state, err)
		}
	}
	i.numbers(1, 2, 4)
	if begun, _, err := s.BeginIngestion(t.Context(), first); err != nil || begun.State != store.Ready {
		t.Errorf("begun when it was ready: %+v, %v", begun, err)
	}
	_, second := i.put("a", "three")
	i.numbers(1, 2, 4)
	if state, err := s.FinishIngestion(t.Context(), second, ingested("three")); err != nil || state != store.Ready {
		t.Fatalf("finished: %s, %v", state, err)
	}
	i.numbers(1, 1, 2)
	now, err := s.Document(t.Context(), i.tenant, ingestBank, d.ID)
	i.must(err)
	testwant.Equal(t, "version", now.Version, second.Version)
	testwant.Equal(t, "title", now.Title, "Title")
	testwant.Equal(t, "text bytes", now.TextBytes, int64(6))
	testwant.Equal(t, "chunks", now.Chunks, 1)
	text, err := s.Text(t.Context(), now, second.Version, 0, 100)
	if err != nil || string(text.Data) != "three\n" {
		t.Errorf("text %q, %v", text.Data, err)
	}
	for what, err := range map[string]error{
		"text of the former version": errOf(s.Text(t.Context(), now, first.Version, 0, 100)),
		"finish of the former one":   errOf(s.FinishIngestion(t.Context(), first, ingested("one"))),
		"begin of another tenant's":  errOf(s.FinishIngestion(t.Context(), store.Pending{Tenant: "x", Version: second.Version}, ingested())),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// excerpts: ranges of several documents are read at once, each with its chunk; those of versions that are gone are left out.
func excerpts(t *testing.T, s *store.Store) {
	i := newIngestions(t, s, "excerpts")
	at := func(name, text string, start, end int64) store.Range {
		t.Helper()
		d, p := i.put(name, text)
		in := ingested(strings.Fields(text)...)
		in.Chunks[0].Page = 7
		_, err := s.FinishIngestion(t.Context(), p, in)
		i.must(err)
		return store.Range{Bank: ingestBank, Document: d.ID, Version: p.Version, Start: start, End: end}
	}
	gone := at("a", "old words", 0, 3)
	a, b := at("a", "one two three", 4, 13), at("b", "four", 1, 3)
	other := b
	other.Bank = "another"
	behind := a
	behind.Start, behind.End = 14, 20
	found, err := s.Excerpts(t.Context(), i.tenant, []store.Range{b, gone, other, a, behind, a})
	if err != nil || len(found) != 2 {
		t.Fatalf("found %+v, %v", found, err)
	}
	e := found[a]
	if e.Text != "two\nthree" || e.Ordinal != 1 || e.Page != 1 || e.DocumentName != "a" || !slices.Equal(e.Heading, []string{"Chapter"}) {
		t.Errorf("%+v", e)
	}
	if e := found[b]; e.Text != "ou" || e.Page != 7 || e.Document != b.Document || e.Version != b.Version || e.Start != 1 || e.End != 3 {
		t.Errorf("%+v", e)
	}
	documents, err := s.DocumentsOf(t.Context(), i.tenant, []string{b.Document, "gone", a.Document})
	if err != nil || len(documents) != 2 {
		t.Errorf("documents %+v, %v", documents, err)
	}
	none, err := s.DocumentsOf(t.Context(), "another", []string{b.Document})
	if err != nil || len(none) != 0 {
		t.Errorf("documents of another tenant %+v, %v", none, err)
	}
}

// errOf returns the error of two results.
func errOf[T any](_ T, err error) error { return err }

// labelsOfVersions: a document that is replaced keeps the labels of the version that is found until that is the new one.
func labelsOfVersions(t *testing.T, s *store.Store) {
	i := newIngestions(t, s, "relabel")
	finish := func(p store.Pending) {
		t.Helper()
		_, err := s.FinishIngestion(t.Context(), p, ingested("x"))
		i.must(err)
	}
	has := func(what, id string, want ...string) {
		t.Helper()
		d, err := s.Document(t.Context(), i.tenant, ingestBank, id)
		i.must(err)
		all, err := s.Labels(t.Context(), i.tenant, ingestBank)
		i.must(err)
		if !slices.Equal(d.Labels, want) || !slices.Equal(all, want) {
			t.Errorf("%s: labels %q, of the bank %q; want %q", what, d.Labels, all, want)
		}
	}
	i.put("a", "one", "hr")
	d, first := i.put("a", "secret", "board")
	has("never live", d.ID, "board")
	finish(first)
	has("live", d.ID, "board")
	i.put("a", "public")
	has("a version without labels that is not live", d.ID, "board")
	_, second := i.put("a", "public", "staff")
	has("its other labels", d.ID, "board", "staff")
	i.put("a", "public")
	has("without them again", d.ID, "board", "staff")
	i.must(s.FailIngestion(t.Context(), second, "no"))
	has("it failed", d.ID, "board", "staff")
	again, err := s.RetryIngestion(t.Context(), i.tenant, ingestBank, d.ID, "ver_retry", begin)
	i.must(err)
	finish(store.Pending{Tenant: i.tenant, Version: again.LatestVersion})
	has("it is live", d.ID)
	i.put("a", "public", "law")
	has("the same content as that of the live version", d.ID, "law")
	i.put("a", "public")
	has("without the label", d.ID)
	_, third := i.put("a", "other")
	finish(third)
	has("without labels", d.ID)
}

// outcomes: ingestions fail, are cancelled and are retried; nothing of them is found.
func outcomes(t *testing.T, s *store.Store) {
	ctx := t.Context()
	i := newIngestions(t, s, "outcomes")
	d, first := i.put("a", "one")
	i.must(s.FailIngestion(ctx, first, "It is encrypted."))
	i.must(s.FailIngestion(ctx, first, "later")) // too late
	now, err := s.Document(ctx, i.tenant, ingestBank, d.ID)
	if err != nil || now.State != store.Failed || now.Problem != "It is encrypted." {
		t.Errorf("failed: %+v, %v", now, err)
	}
	if _, err := s.CancelIngestion(ctx, i.tenant, ingestBank, d.ID); !errors.Is(err, store.ErrState) {
		t.Errorf("cancelled after it failed: %v", err)
	}
	at := now.UpdateTime.Add(time.Minute)
	retried, err := s.RetryIngestion(ctx, i.tenant, ingestBank, d.ID, "ver_again", at)
	if err != nil || retried.State != store.Queued || retried.LatestVersion != "ver_again" || !retried.UpdateTime.Equal(at) {
		t.Fatalf("retried: %+v, %v", retried, err)
	}
	if _, err := s.RetryIngestion(ctx, i.tenant, ingestBank, d.ID, "ver_more", at); !errors.Is(err, store.ErrState) {
		t.Errorf("retried when it was queued: %v", err)
	}
	if data, err := s.Content(ctx, i.tenant, d.SHA256); err != nil || string(data) != "one" {
		t.Errorf("content %q, %v", data, err)
	}
	if cancelled, err := s.CancelIngestion(ctx, i.tenant, ingestBank, d.ID); err != nil || cancelled.State != store.Cancelled {
		t.Errorf("cancelled: %+v, %v", cancelled, err)
	}
	again := store.Pending{Tenant: i.tenant, Version: "ver_again"}
	if state, err := s.FinishIngestion(ctx, again, ingested("one")); err != nil || state != store.Cancelled {
		t.Errorf("finished after the cancel: %s, %v", state, err)
	}
	i.numbers(0, 0, 0)
	for what, err := range map[string]error{
		"cancel": errOf(s.CancelIngestion(ctx, i.tenant, "other", d.ID)),
		"retry":  errOf(s.RetryIngestion(ctx, i.tenant, "other", d.ID, "ver_x", at)),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s in another bank: %v", what, err)
		}
	}
	i.must(s.DeleteDocument(ctx, i.tenant, ingestBank, d.ID))
	if _, err := s.Content(ctx, i.tenant, d.SHA256); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("content of a deleted document: %v", err)
	}
}

// starts: those that wait longest are started first, as many as there is room for, and again after a while.
func starts(t *testing.T, s *store.Store) {
	ctx := t.Context()
	i := newIngestions(t, s, "starts")
	var all []store.Pending
	for n := range 5 {
		_, p := i.put(fmt.Sprint(n), fmt.Sprint(n))
		all = append(all, p)
	}
	began := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	startable := func(before time.Time, open int, want ...store.Pending) {
		t.Helper()
		got, err := s.Startable(ctx, before, open)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("startable %v, %v; want %v", got, err, want)
		}
	}
	startable(began, 3, all[:3]...)
	for _, p := range all[:2] {
		i.must(s.MarkStarted(ctx, p, began))
	}
	startable(began, 3, all[2])
	startable(began, 2)
	startable(began.Add(time.Second), 3, all[0], all[1], all[2])
	if _, err := s.FinishIngestion(ctx, all[0], ingested("x")); err != nil {
		t.Fatal(err)
	}
	startable(began, 3, all[2:4]...)
	i.must(s.MarkStarted(ctx, all[0], began)) // ready: nothing to note
	for _, p := range all[1:] {
		_, attempts, err := s.BeginIngestion(ctx, p)
		i.must(err)
		testwant.Equal(t, "attempts", attempts, 1)
		i.must(s.ReleaseIngestion(ctx, p))
		if _, attempts, err = s.BeginIngestion(ctx, p); err != nil || attempts != 1 {
			t.Errorf("after a release: %d, %v", attempts, err)
		}
		i.must(s.FailIngestion(ctx, p, "x"))
		i.must(s.ReleaseIngestion(ctx, p))
	}
}

// contention: concurrent ingestions of documents of one bank keep its numbers exact, and concurrent ones of a version store it once.
func contention(t *testing.T, s *store.Store) {
	i := newIngestions(t, s, "contention")
	var wait sync.WaitGroup
	for n := range 6 {
		_, p := i.put(fmt.Sprint(n), fmt.Sprint(n))
		for range 2 {
			wait.Go(func() {
				state, err := s.FinishIngestion(context.WithoutCancel(t.Context()), p, ingested("same", "words", fmt.Sprint("w", n)))
				if err != nil || state != store.Ready {
					t.Errorf("finished: %s, %v", state, err)
				}
			})
		}
	}
	wait.Wait()
	i.numbers(6, 18, 36)
}
