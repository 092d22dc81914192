package storetest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/sqldb/plantest"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// RunSources runs the part of the suite about sources of banks on the empty database at url.
func RunSources(t *testing.T, url string) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "knowledge", SecureDelete: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		plantest.Check(t, db, "count(*) FROM bank_sources", "count(*) FROM documents WHERE tenant = $1", "count(*) FROM banks") // their limits
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := store.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("sources", func(t *testing.T) { newSources(t, s, "t1").rows() })
	t.Run("states of syncs", func(t *testing.T) { newSources(t, s, "t2").states() })
	t.Run("starts of syncs", func(t *testing.T) { newSources(t, s, "t7").starts() })
	t.Run("items", func(t *testing.T) { newSources(t, s, "t3").items() })
	t.Run("pauses", func(t *testing.T) { newSources(t, s, "t4").pauses() })
	t.Run("deletions of sources", func(t *testing.T) { newSources(t, s, "t5").deletions() })
	t.Run("counts of documents", func(t *testing.T) { newSources(t, s, "t6").counts() })
}

const sourceBank = "followed"

// bankSources are sources in a bank of the test's own.
type bankSources struct {
	*testing.T
	*store.Store
	tenant string
	next   int
}

func newSources(t *testing.T, s *store.Store, tenant string) *bankSources {
	t.Helper()
	k := &bankSources{T: t, Store: s, tenant: tenant}
	k.must(s.CreateBank(t.Context(), store.Bank{Tenant: tenant, ID: sourceBank}, 10))
	return k
}

func (k *bankSources) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

func (k *bankSources) is(what string, err, want error) {
	k.Helper()
	if !errors.Is(err, want) {
		k.Errorf("%s: %v, want %v", what, err, want)
	}
}

// source makes a source.
func (k *bankSources) source(interval time.Duration) store.Source {
	k.Helper()
	k.next++
	src := store.Source{
		Tenant: k.tenant, ID: fmt.Sprintf("bsr_%d", k.next), Bank: sourceBank, Subject: "alice", Principal: []byte{0, 1, 0xff},
		State: store.SyncQueued,
		Sync:  fmt.Sprintf("syn_%d", k.next), CreateTime: begin, Spec: store.SourceSpec{
			Kind: "url", URL: "https://example.com/é", Labels: []string{"staff"}, Attributes: map[string]string{"a": "b"}, Interval: interval,
		},
	}
	k.must(k.CreateSource(k.Context(), src, 10))
	return src
}

func (k *bankSources) read(src store.Source) store.Source {
	k.Helper()
	out, err := k.Source(k.Context(), k.tenant, sourceBank, src.ID)
	k.must(err)
	return out
}

// begins begins a sync.
func (k *bankSources) begins(src store.Source, attempts int) store.PendingSync {
	k.Helper()
	p := store.PendingSync{Tenant: k.tenant, Sync: src.Sync}
	got, n, err := k.BeginSync(k.Context(), p)
	if err != nil || n != attempts || got.ID != src.ID || got.State != store.Syncing {
		k.Fatalf("begun %+v, attempt %d, %v; want attempt %d", got, n, err, attempts)
	}
	return p
}

// put stores an item whose document has its name.
func (k *bankSources) put(p store.PendingSync, key, text string) (store.Document, error) {
	k.Helper()
	sum := sha256.Sum256([]byte(text))
	k.next++
	return k.PutItem(k.Context(), p, sourceBank, store.Put{Document: store.Document{
		Tenant: k.tenant, ID: fmt.Sprintf("doc_%s_%d", k.tenant, k.next), Bank: sourceBank, Name: key, MediaType: "text/plain",
		Size: int64(len(text)), SHA256: hex.EncodeToString(sum[:]), LatestVersion: fmt.Sprintf("ver_%s_%d", k.tenant, k.next),
		Labels: []string{"staff"}, CreateTime: begin, UpdateTime: begin,
	}, Data: []byte(text), Limit: 10}, store.Item{
		Key: key, Validator: "v " + text, SHA256: hex.EncodeToString(sum[:]), Labels: []string{"own"},
	}, store.Progress{Added: k.next})
}

func (k *bankSources) rows() {
	want := k.source(0)
	if got := k.read(want); !reflect.DeepEqual(got, want) {
		k.Errorf("read %+v, want %+v", got, want)
	}
	second := k.source(time.Minute)
	list, err := k.Sources(k.Context(), k.tenant, sourceBank, want.ID, 9)
	if err != nil || len(list) != 1 || !reflect.DeepEqual(list[0], second) {
		k.Errorf("after the first: %+v, %v", list, err)
	}
	_, err = k.Source(k.Context(), k.tenant, "other", want.ID)
	k.is("of another bank", err, store.ErrNotFound)
	_, err = k.Source(k.Context(), "other", sourceBank, want.ID)
	k.is("of another tenant", err, store.ErrNotFound)
	further := store.Source{Tenant: k.tenant, ID: "bsr_9", Bank: sourceBank}
	k.is("one more than the limit", k.CreateSource(k.Context(), further, 2), store.ErrTooMany)
	k.is("without a bank", k.CreateSource(k.Context(), store.Source{Tenant: k.tenant, ID: "bsr_9", Bank: "none"}, 9), store.ErrNotFound)
	k.must(k.DeleteBank(k.Context(), k.tenant, sourceBank))
	_, err = k.Source(k.Context(), k.tenant, sourceBank, want.ID)
	k.is("of a deleted bank", err, store.ErrNotFound)
}

func (k *bankSources) states() {
	src := k.source(time.Minute)
	if list, err := k.StartableSyncs(k.Context(), begin, 9); err != nil || !k.has(list, src.Sync) {
		k.Errorf("startable %v, %v", list, err)
	}
	p := store.PendingSync{Tenant: k.tenant, Sync: src.Sync}
	k.must(k.MarkSyncStarted(k.Context(), p, begin))
	if list, err := k.StartableSyncs(k.Context(), begin, 9); err != nil || k.has(list, src.Sync) {
		k.Errorf("startable after its start %v, %v", list, err)
	}
	if list, err := k.StartableSyncs(k.Context(), begin.Add(time.Second), 9); err != nil || !k.has(list, src.Sync) {
		k.Errorf("startable again %v, %v", list, err)
	}
	k.begins(src, 1)
	k.must(k.ReleaseSync(k.Context(), p))
	k.begins(src, 1)
	k.begins(src, 2)
	k.must(k.SetProgress(k.Context(), p, store.Progress{Added: 3, Total: 9}))
	if again, err := k.QueueSync(k.Context(), k.tenant, sourceBank, src.ID, "syn_no"); err != nil || again.Sync != src.Sync {
		k.Errorf("a second sync of a source: %+v, %v", again, err)
	}
	done := store.SyncResult{
		State: store.SyncFailed, Problem: "away", Progress: store.Progress{Added: 3, Failed: 1}, Time: begin,
		Problems: []store.ItemProblem{{Item: "a", Problem: "b"}},
	}
	k.must(k.FinishSync(k.Context(), p, done))
	got := k.read(src)
	if got.State != store.SyncFailed || got.Problem != "away" || got.Progress != done.Progress ||
		!reflect.DeepEqual(got.Problems, done.Problems) || !got.SyncTime.Equal(begin) || !got.NextTime.Equal(begin.Add(time.Minute)) {
		k.Errorf("finished %+v", got)
	}
	k.is("finished twice", k.FinishSync(k.Context(), p, done), store.ErrNotFound)
	k.is("progress after the end", k.SetProgress(k.Context(), p, store.Progress{}), store.ErrNotFound)
	_, err := k.put(p, "late", "x")
	k.is("an item after the end", err, store.ErrNotFound)
	newID := func() string { return "syn_next" }
	if n, err := k.QueueDue(k.Context(), begin.Add(time.Minute-time.Microsecond), 9, newID); err != nil || n != 0 {
		k.Errorf("%d due too early, %v", n, err)
	}
	if n, err := k.QueueDue(k.Context(), begin.Add(time.Minute), 9, newID); err != nil || n != 1 {
		k.Errorf("%d due, %v", n, err)
	}
	got = k.read(src)
	if got.State != store.SyncQueued || got.Sync != "syn_next" || got.Progress != (store.Progress{}) || got.Problems != nil {
		k.Errorf("queued again %+v", got)
	}
	_, _, err = k.BeginSync(k.Context(), p)
	k.is("a former sync", err, store.ErrNotFound)
}

// starts: no more syncs are under way than may be, and those that wait longest are started first.
func (k *bankSources) starts() {
	var all []store.PendingSync
	for range 4 {
		all = append(all, store.PendingSync{Tenant: k.tenant, Sync: k.source(0).Sync})
	}
	startable := func(before time.Time, open int, want ...store.PendingSync) {
		k.Helper()
		got, err := k.StartableSyncs(k.Context(), before, open)
		got = slices.DeleteFunc(got, func(p store.PendingSync) bool { return p.Tenant != k.tenant })
		if err != nil || !slices.Equal(got, want) {
			k.Errorf("startable %v, %v; want %v", got, err, want)
		}
	}
	startable(begin, 3, all[:3]...)
	for _, p := range all[:2] {
		k.must(k.MarkSyncStarted(k.Context(), p, begin))
	}
	startable(begin, 3, all[2])
	startable(begin, 2)
	startable(begin.Add(time.Second), 3, all[0], all[1], all[2])
	k.must(k.FinishSync(k.Context(), all[0], store.SyncResult{State: store.Synced, Time: begin}))
	startable(begin, 3, all[2], all[3])
	k.must(k.FinishSync(k.Context(), all[1], store.SyncResult{State: store.Synced, Time: begin}))
	k.must(k.DeleteBank(k.Context(), k.tenant, sourceBank))
}

func (k *bankSources) has(list []store.PendingSync, sync string) bool {
	for _, p := range list {
		if p.Sync == sync && p.Tenant == k.tenant {
			return true
		}
	}
	return false
}

func (k *bankSources) items() {
	src := k.source(0)
	p := k.begins(src, 1)
	first, err := k.put(p, "a.txt", "one")
	k.must(err)
	_, err = k.put(p, "b.txt", "two")
	k.must(err)
	if got := k.read(src).Progress.Added; got != k.next {
		k.Errorf("progress %d, want %d", got, k.next)
	}
	again, err := k.put(p, "a.txt", "three")
	if err != nil || again.ID != first.ID || again.LatestVersion == first.LatestVersion {
		k.Errorf("a changed item: %+v, %v", again, err)
	}
	items, err := k.Items(k.Context(), src)
	if err != nil || len(items) != 2 {
		k.Fatalf("items %+v, %v", items, err)
	}
	for _, i := range items {
		if i.Document.SHA256 != i.SHA256 || i.Document.Name != i.Key || i.Labels[0] != "own" || i.Document.Labels[0] != "staff" ||
			i.Key == "a.txt" && i.Validator != "v three" {
			k.Errorf("item %+v", i)
		}
	}
	other := k.source(0)
	q := k.begins(other, 1)
	_, err = k.put(q, "a.txt", "mine")
	k.is("the name of another source's document", err, store.ErrExists)
	k.must(k.DropItem(k.Context(), p, sourceBank, items[0], store.Progress{Removed: 1}))
	k.must(k.DropItem(k.Context(), p, sourceBank, items[0], store.Progress{Removed: 1}))
	k.must(k.DeleteDocument(k.Context(), k.tenant, sourceBank, items[1].Document.ID))
	if rest, err := k.Items(k.Context(), src); err != nil || len(rest) != 0 {
		k.Errorf("items without documents: %+v, %v", rest, err)
	}
	back, err := k.put(p, items[1].Key, "back")
	if err != nil || back.ID == items[1].Document.ID {
		k.Errorf("an item whose document was deleted: %+v, %v", back, err)
	}
}

func (k *bankSources) pauses() {
	src := k.source(0)
	p := k.begins(src, 1)
	now, err := k.PauseSource(k.Context(), k.tenant, sourceBank, src.ID, true)
	if err != nil || !now.Paused {
		k.Errorf("paused %+v, %v", now, err)
	}
	_, err = k.put(p, "a.txt", "one")
	k.is("an item of a paused source", err, store.ErrPaused)
	_, _, err = k.BeginSync(k.Context(), p)
	k.is("a sync of a paused source", err, store.ErrPaused)
	if list, err := k.StartableSyncs(k.Context(), begin, 9); err != nil || k.has(list, src.Sync) || k.read(src).State != store.SyncQueued {
		k.Errorf("startable while paused %v, %v", list, err)
	}
	_, err = k.PauseSource(k.Context(), k.tenant, sourceBank, src.ID, false)
	k.must(err)
	_, err = k.PauseBank(k.Context(), k.tenant, sourceBank, true)
	k.must(err)
	if list, err := k.StartableSyncs(k.Context(), begin, 9); err != nil || k.has(list, src.Sync) {
		k.Errorf("startable in a paused bank %v, %v", list, err)
	}
	_, _, err = k.BeginSync(k.Context(), p)
	k.is("a sync in a paused bank", err, store.ErrPaused)
	bank, err := k.PauseBank(k.Context(), k.tenant, sourceBank, false)
	if err != nil || bank.Paused {
		k.Errorf("resumed %+v, %v", bank, err)
	}
	k.begins(src, 1)
	document, err := k.put(p, "a.txt", "one")
	k.must(err)
	_, err = k.PauseBank(k.Context(), k.tenant, sourceBank, true)
	k.must(err)
	for _, pending := range k.startable() {
		if pending.Version == document.LatestVersion {
			k.Error("a document of a paused bank is to be ingested")
		}
	}
	_, err = k.PauseBank(k.Context(), k.tenant, "none", true)
	k.is("a bank that does not exist", err, store.ErrNotFound)
}

func (k *bankSources) startable() []store.Pending {
	k.Helper()
	list, err := k.Startable(k.Context(), begin, 100)
	k.must(err)
	return list
}

func (k *bankSources) deletions() {
	src, other := k.source(0), k.source(0)
	p := k.begins(src, 1)
	q := k.begins(other, 1)
	_, err := k.put(p, "a.txt", "one")
	k.must(err)
	kept, err := k.put(q, "b.txt", "one")
	k.must(err)
	_, err = k.MarkDeleting(k.Context(), k.tenant, sourceBank, "bsr_none")
	k.is("one that does not exist", err, store.ErrNotFound)
	if now, err := k.MarkDeleting(k.Context(), k.tenant, sourceBank, src.ID); err != nil || now.State != store.Deleting {
		k.Errorf("marked %+v, %v", now, err)
	}
	_, err = k.put(p, "c.txt", "one")
	k.is("an item of a source that is being deleted", err, store.ErrNotFound)
	_, err = k.QueueSync(k.Context(), k.tenant, sourceBank, src.ID, "syn_no")
	k.is("a sync of it", err, store.ErrNotFound)
	list, err := k.DeletingSources(k.Context(), 9)
	if err != nil || len(list) != 1 || list[0].ID != src.ID {
		k.Fatalf("being deleted: %+v, %v", list, err)
	}
	k.must(k.DropSource(k.Context(), list[0]))
	k.must(k.DropSource(k.Context(), list[0]))
	_, err = k.Source(k.Context(), k.tenant, sourceBank, src.ID)
	k.is("after the deletion", err, store.ErrNotFound)
	documents, err := k.Documents(k.Context(), k.tenant, sourceBank, []string{"staff"}, "", 9)
	if err != nil || len(documents) != 1 || documents[0].ID != kept.ID {
		k.Errorf("left are %+v, %v", documents, err)
	}
}

func (k *bankSources) counts() {
	p := k.begins(k.source(0), 1)
	for _, name := range []string{"a", "b", "c"} {
		_, err := k.put(p, name, name)
		k.must(err)
	}
	d, err := k.put(p, "a", "new")
	k.must(err)
	k.must(k.FailIngestion(k.Context(), store.Pending{Tenant: k.tenant, Version: d.LatestVersion}, "no"))
	got, err := k.Counts(k.Context(), k.tenant, sourceBank)
	if want := map[store.State]int64{store.Queued: 2, store.Failed: 1}; err != nil || !reflect.DeepEqual(got, want) {
		k.Errorf("counts %v, %v; want %v", got, err, want)
	}
}
