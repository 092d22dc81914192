package ingest_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/libs/testwant"
	"github.com/windlass-dev/windlass/services/knowledge/ingest"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

func TestAVersionBecomesTheLiveOne(t *testing.T) {
	t.Parallel()
	k := newKit(t, 1)
	d := k.put("a.md", "one two\n\nthree")
	for range 2 { // the second time nothing is left to do
		k.ingest(d.LatestVersion, ingest.Ready)
	}
	now := k.read(d)
	testwant.Equal(t, "state", now.State, store.Ready)
	testwant.Equal(t, "version", now.Version, d.LatestVersion)
	testwant.Equal(t, "title", now.Title, "a.md")
	testwant.Equal(t, "text bytes", now.TextBytes, int64(14))
	testwant.Equal(t, "chunks", now.Chunks, 2)
	if got, want := k.chunks(d), []chunk{{"ver_1", 0, 9}, {"ver_1", 9, 14}}; !slices.Equal(got, want) {
		t.Errorf("chunks %v, want %v", got, want)
	}
	testwant.Equal(t, "reads", k.reader.calls, 1)
}

func TestANewVersionTakesThePlaceOfTheFormer(t *testing.T) {
	t.Parallel()
	k := newKit(t, 1)
	first := k.put("a.md", "one two\n\nthree")
	k.ingest(first.LatestVersion, ingest.Ready)
	second := k.put("a.md", "four")
	if got := k.read(second); got.Version != first.LatestVersion || got.State != store.Queued || len(k.chunks(first)) != 2 {
		t.Errorf("before it is ingested: %+v, chunks %v", got, k.chunks(first))
	}
	k.ingest(second.LatestVersion, ingest.Ready)
	if got, want := k.chunks(first), []chunk{{second.LatestVersion, 0, 4}}; !slices.Equal(got, want) {
		t.Errorf("chunks %v, want %v", got, want)
	}
	if _, err := k.store.Text(t.Context(), first, first.LatestVersion, 0, 10); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("text of the former version: %v", err)
	}
	b, err := k.store.Bank(t.Context(), tenant, bank)
	if err != nil || b.Documents != 1 || b.Chunks != 1 || b.Length != 1 {
		t.Errorf("bank %+v, %v", b, err)
	}
}

// TestASupersededVersionDoesNotBecomeLive: a later version, a cancel or a delete that comes while a content is read wins.
func TestASupersededVersionDoesNotBecomeLive(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		do   func(k *kit, d store.Document)
		want ingest.Outcome
	}{
		{"a later version", func(k *kit, _ store.Document) { k.put("a.md", "later") }, ingest.Superseded},
		{"a cancel", func(k *kit, d store.Document) {
			_, err := k.Cancel(k.Context(), tenant, bank, d.ID)
			k.must(err)
		}, ingest.Cancelled},
		{"a delete", func(k *kit, d store.Document) {
			k.must(k.store.DeleteDocument(k.Context(), tenant, bank, d.ID))
		}, ingest.Superseded},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, 1)
			block := make(chan struct{})
			k.reader.block, k.reader.began = block, make(chan string, 1)
			d := k.put("a.md", "former")
			var done sync.WaitGroup
			done.Go(func() { k.ingest(d.LatestVersion, row.want) })
			<-k.reader.began
			row.do(k, d)
			close(block)
			done.Wait()
			if got := k.chunks(d); len(got) != 0 {
				t.Errorf("chunks %v", got)
			}
			k.ingest(d.LatestVersion, row.want) // and it stays so
		})
	}
}

func TestAContentThatIsRefusedFails(t *testing.T) {
	t.Parallel()
	k := newKit(t, 1)
	d := k.put("a.pdf", "refuse")
	k.ingest(d.LatestVersion, ingest.Failed)
	k.ingest(d.LatestVersion, ingest.Failed)
	if now := k.read(d); now.State != store.Failed || now.Problem != "It is encrypted." || now.Version != "" {
		t.Errorf("document %+v", now)
	}
	if k.reader.calls != 1 {
		t.Errorf("it was read %d times", k.reader.calls)
	}
	retried, err := k.Retry(t.Context(), tenant, bank, d.ID, "ver_again")
	if err != nil || retried.State != store.Queued || retried.Problem != "" {
		t.Fatalf("retried: %+v, %v", retried, err)
	}
	if _, err := k.Retry(t.Context(), tenant, bank, d.ID, "ver_more"); !errors.Is(err, store.ErrState) {
		t.Errorf("retried while it is queued: %v", err)
	}
	k.ingest(d.LatestVersion, ingest.Superseded)
	k.ingest("ver_again", ingest.Failed)
}

func TestACancelledIngestionIsRetried(t *testing.T) {
	t.Parallel()
	k := newKit(t, 1)
	d := k.put("a.md", "one")
	k.ingest(d.LatestVersion, ingest.Ready)
	if _, err := k.Cancel(t.Context(), tenant, bank, d.ID); !errors.Is(err, store.ErrState) {
		t.Errorf("cancelled when it was ready: %v", err)
	}
	next := k.put("a.md", "two")
	k.run()
	if cancelled, err := k.Cancel(t.Context(), tenant, bank, d.ID); err != nil || cancelled.State != store.Cancelled {
		t.Fatalf("cancelled: %+v, %v", cancelled, err)
	}
	testpoll.Until(t, "the workflow is cancelled", func() bool {
		_, cancelled := k.engine.calls()
		return slices.Equal(cancelled, []string{next.LatestVersion})
	})
	if got := k.read(d); got.Version != d.LatestVersion || len(k.chunks(d)) != 1 {
		t.Errorf("the former version is gone: %+v", got)
	}
	if _, err := k.Retry(t.Context(), tenant, bank, d.ID, "ver_again"); err != nil {
		t.Fatal(err)
	}
	k.ingest("ver_again", ingest.Ready)
	if data, err := k.store.Content(t.Context(), tenant, k.read(d).SHA256); err != nil || string(data) != "two" {
		t.Errorf("content %q, %v", data, err)
	}
	if _, err := k.Cancel(t.Context(), tenant, bank, "doc_none"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("cancelled without a document: %v", err)
	}
}

// TestAnIngestionThatIsInterruptedIsRepeated: errors are tried again, but not forever, and a caller that stops does not count.
func TestAnIngestionThatIsInterruptedIsRepeated(t *testing.T) {
	t.Parallel()
	k := newKit(t, 1)
	d := k.put("a.md", "one")
	k.reader.block, k.reader.began = make(chan struct{}), make(chan string, 1)
	for range 12 {
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() {
			if _, err := k.Ingest(ctx, tenant, d.LatestVersion); !errors.Is(err, context.Canceled) {
				t.Errorf("a call that was cancelled: %v", err)
			}
		})
		<-k.reader.began
		cancel()
		done.Wait()
	}
	k.reader.block, k.reader.began = nil, nil
	k.reader.set(errAway)
	for range 7 {
		if _, err := k.Ingest(t.Context(), tenant, d.LatestVersion); !errors.Is(err, errAway) {
			t.Fatal(err)
		}
	}
	k.reader.set(nil)
	k.ingest(d.LatestVersion, ingest.Ready)

	d = k.put("b.md", "two")
	k.reader.set(errAway)
	for range 8 {
		if _, err := k.Ingest(t.Context(), tenant, d.LatestVersion); !errors.Is(err, errAway) {
			t.Fatal(err)
		}
	}
	k.ingest(d.LatestVersion, ingest.Failed)
	if now := k.read(d); now.State != store.Failed || now.Problem == "" {
		t.Errorf("document %+v", now)
	}
}

// TestConcurrentCallsStoreEachChunkOnce: a call may be repeated while the first one still runs.
func TestConcurrentCallsStoreEachChunkOnce(t *testing.T) {
	t.Parallel()
	k := newKit(t, 4)
	d := k.put("a.md", "one\n\ntwo\n\nthree")
	var done sync.WaitGroup
	for range 8 {
		done.Go(func() { k.ingest(d.LatestVersion, ingest.Ready) })
	}
	done.Wait()
	if got := k.chunks(d); len(got) != 3 {
		t.Errorf("chunks %v", got)
	}
}

// TestOnlySomeAreIngestedAtATime: further calls wait until one ends.
func TestOnlySomeAreIngestedAtATime(t *testing.T) {
	t.Parallel()
	k := newKit(t, 2)
	block := make(chan struct{})
	k.reader.block, k.reader.began = block, make(chan string, 8)
	var done sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		d := k.put(name, name)
		done.Go(func() { k.ingest(d.LatestVersion, ingest.Ready) })
	}
	<-k.reader.began
	<-k.reader.began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.Ingest(ctx, tenant, "ver_1"); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that waits ended with %v", err)
	}
	if len(k.reader.began) != 0 {
		t.Error("a third one is read")
	}
	close(block)
	done.Wait()
}

func TestNewChecksWhatItNeeds(t *testing.T) {
	if _, err := ingest.New(ingest.Config{Concurrent: 1, Interval: time.Second}, ingest.Deps{}); err == nil {
		t.Error("a service without RestartAfter was made")
	}
	cfg := ingest.Config{Concurrent: 1, Interval: time.Second, RestartAfter: time.Second}
	if _, err := ingest.New(cfg, ingest.Deps{Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("a service without a store was made")
	}
}
