package syncs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/services/knowledge/source"
	"github.com/windlass-dev/windlass/services/knowledge/store"
	"github.com/windlass-dev/windlass/services/knowledge/syncs"
)

// onBoth runs a test on both engines.
func onBoth(t *testing.T, f func(*kit)) {
	t.Helper()
	for name, url := range map[string]func(testing.TB) string{"sqlite": tables.SQLite, "postgres": tables.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(newKit(t, url(t)))
		})
	}
}

func TestABankFollowsItsSource(t *testing.T) {
	t.Parallel()
	onBoth(t, func(k *kit) {
		k.site.set(map[string]string{"a": "one", "b": "two", "c": "#board law\nthree"})
		k.sync(syncs.Synced, store.Progress{Added: 3, Total: 3})
		k.has(map[string]string{"a": "one staff", "b": "two staff", "c": "#board law\nthree board,law,staff"})
		if k.queued != 3 {
			k.Errorf("%d documents were queued", k.queued)
		}
		k.site.set(map[string]string{"a": "one", "b": "other", "d": "four"})
		k.queue(k.source)
		k.sync(syncs.Synced, store.Progress{Added: 1, Updated: 1, Unchanged: 1, Removed: 1, Total: 3})
		k.has(map[string]string{"a": "one staff", "b": "other staff", "d": "four staff"})
		k.site.set(nil)
		k.queue(k.source)
		k.sync(syncs.Synced, store.Progress{Removed: 3})
		k.has(map[string]string{})
	})
}

// TestAnUnchangedSyncWritesNothing: not with validators, and not when all is read again.
func TestAnUnchangedSyncWritesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(k *kit) {
		texts := map[string]string{"a": "one", "b": "#law\ntwo"}
		k.site.set(texts)
		k.sync(syncs.Synced, store.Progress{Added: 2, Total: 2})
		before := k.dump()
		k.records.writes, k.queued = 0, 0
		k.queue(k.source)
		k.sync(syncs.Synced, store.Progress{Unchanged: 2, Total: 2})
		if after := k.dump(); k.site.reads != 2 || k.records.writes != 0 || k.queued != 0 || after != before {
			k.Errorf("%d read, %d writes, %d queued\nbefore %s\nafter %s", k.site.reads, k.records.writes, k.queued, before, after)
		}
		other := k.create(store.SourceSpec{Kind: "site"})
		for key, item := range k.site.items {
			item.Validator, item.Name = "", "other/"+key
			k.site.items[key] = item
		}
		k.source = other
		k.sync(syncs.Synced, store.Progress{Added: 2, Total: 2})
		before = k.dump()
		k.records.writes, k.queued, k.site.reads = 0, 0, 0
		k.queue(k.source)
		k.sync(syncs.Synced, store.Progress{Unchanged: 2, Total: 2})
		if after := k.dump(); k.records.writes != 0 || k.queued != 0 || k.site.reads != 2 || after != before {
			k.Errorf("%d writes, %d queued, %d read\nbefore %s\nafter %s", k.records.writes, k.queued, k.site.reads, before, after)
		}
	})
}

// dump returns the rows of documents and items, with all that says when they were written.
func (k *kit) dump() string {
	k.Helper()
	text := func(row sqldb.Scanner) (string, error) {
		var a, b, c, d string
		var at int64
		err := row.Scan(&a, &b, &c, &d, &at)
		return fmt.Sprint(a, b, c, d, at), err
	}
	documents, err := sqldb.All(k.Context(), k.db.Reader(), text, `SELECT id, sha256, state, latest_version, update_us
		FROM documents ORDER BY id`)
	k.must(err)
	items, err := sqldb.All(k.Context(), k.db.Reader(), text, `SELECT item, document, validator, sha256, 0
		FROM source_items ORDER BY item, document`)
	k.must(err)
	return strings.Join(append(documents, items...), "\n")
}

// TestASyncMayBeKilledAnywhere fails each call of the store, before and after it was done, and then repeats the sync as the workflow does.
func TestASyncMayBeKilledAnywhere(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			k := newKit(t, tables.SQLite(t))
			k.site.set(map[string]string{"a": "one", "b": "two", "c": "three"})
			k.sync(syncs.Synced, store.Progress{Added: 3, Total: 3})
			k.site.set(map[string]string{"a": "one", "b": "changed", "d": "four"})
			k.queue(k.source)
			k.records.calls, k.records.failAt, k.records.after = 0, at, after
			sync := k.read(k.source).Sync
			_, err := k.Sync(t.Context(), tenant, sync)
			whole := k.records.calls < at // no call was left to fail
			if !whole && !errors.Is(err, errKilled) && err != nil {
				t.Fatalf("call %d, after %v: %v", at, after, err)
			}
			if err != nil {
				k.Sync(t.Context(), tenant, sync) //nolint:errcheck // checked by what is stored
			}
			src := k.read(k.source)
			want := store.Progress{Added: 1, Updated: 1, Unchanged: 1, Removed: 1, Total: 3}
			if src.State != store.Synced || src.Progress != want {
				t.Errorf("killed at call %d, after %v: %s with %+v, want %+v", at, after, src.State, src.Progress, want)
			}
			k.has(map[string]string{"a": "one staff", "b": "changed staff", "d": "four staff"})
			if whole {
				break
			}
		}
	}
}

func TestWhatCannotBeReadIsSaid(t *testing.T) {
	t.Parallel()
	onBoth(t, func(k *kit) {
		k.site.set(map[string]string{"a": "one", "b": "two"})
		k.sync(syncs.Synced, store.Progress{Added: 2, Total: 2})
		k.site.set(map[string]string{
			"a": "binary now", "c": "#NOT-A-LABEL\nsecret", "d": "", "e": strings.Repeat("x", 1001), "f\n": "odd", strings.Repeat("n", 600): "long",
		})
		k.site.fails = map[string]string{"b": "it is away\nnow\x00"}
		k.queue(k.source)
		k.sync(syncs.Synced, store.Progress{Failed: 7, Total: 7})
		k.has(map[string]string{"a": "one staff", "b": "two staff"}) // as they were
		problems := fmt.Sprint(k.read(k.source).Problems)
		for _, want := range []string{
			"the document cannot be read", "NOT-A-LABEL", "it is empty", "more than 1000 bytes", "not printable", "it is away",
		} {
			if !strings.Contains(problems, want) {
				k.Errorf("problems %q do not say %q", problems, want)
			}
		}
		if strings.ContainsAny(problems, "\n\x00") {
			k.Errorf("problems %q are no lines", problems)
		}
	})
}

// TestASourceThatEndsEarlyLosesNothing: only a source that was read to its end says what has vanished.
func TestASourceThatEndsEarlyLosesNothing(t *testing.T) {
	t.Parallel()
	k := newKit(t, tables.SQLite(t))
	k.site.set(map[string]string{"a": "one", "b": "two"})
	k.sync(syncs.Synced, store.Progress{Added: 2, Total: 2})
	for _, row := range []struct {
		name    string
		err     error
		problem string
	}{
		{"a reason", source.Unreadable("The server is away."), "The server is away."},
		{"an error that is none for users", errors.New("secret of /var/x"), "log of the knowledge service"},
	} {
		k.site.set(map[string]string{"c": "three"})
		k.site.err = row.err
		k.queue(k.source)
		sync := k.read(k.source).Sync
		if got, err := k.Sync(t.Context(), tenant, sync); got != syncs.Failed || err != nil {
			t.Errorf("%s: %q, %v", row.name, got, err)
		}
		src := k.read(k.source)
		if src.State != store.SyncFailed || !strings.Contains(src.Problem, row.problem) || strings.Contains(src.Problem, "secret") {
			t.Errorf("%s: %s, %q", row.name, src.State, src.Problem)
		}
		k.has(map[string]string{"a": "one staff", "b": "two staff", "c": "three staff"})
	}
}

func TestLimitsOfSources(t *testing.T) {
	t.Parallel()
	for _, tolerant := range []bool{false, true} {
		k := newKit(t, tables.SQLite(t))
		k.site.tolerant = tolerant
		k.limits()
	}
}

// limits reaches the limits of documents and of items.
func (k *kit) limits() {
	texts := map[string]string{}
	for i := range 60 {
		texts[fmt.Sprint("item", i)] = "text"
	}
	k.site.set(texts)
	if got, err := k.Sync(k.Context(), tenant, k.source.Sync); got != syncs.Failed || err != nil {
		k.Errorf("too many documents: %q, %v", got, err)
	}
	if src := k.read(k.source); !strings.Contains(src.Problem, "40 documents") || src.Progress.Added != 40 {
		k.Errorf("too many documents: %+v", src)
	}
	k.site.fails = map[string]string{}
	k.site.set(nil)
	for i := range 60 {
		k.site.fails[fmt.Sprint("item", i)] = "away"
	}
	k.queue(k.source)
	if got, err := k.Sync(k.Context(), tenant, k.read(k.source).Sync); got != syncs.Failed || err != nil {
		k.Errorf("too many items: %q, %v", got, err)
	}
	if src := k.read(k.source); !strings.Contains(src.Problem, "more than 50 items") || len(src.Problems) != 20 {
		k.Errorf("too many items: %q with %d problems", src.Problem, len(src.Problems))
	}
}

// TestDocumentsAreGivenBackTheirContent: what a user deletes or replaces comes back, and labels cannot be taken off by an upload.
func TestDocumentsAreGivenBackTheirContent(t *testing.T) {
	t.Parallel()
	k := newKit(t, tables.SQLite(t))
	k.site.set(map[string]string{"a": "one", "b": "two", "c": "three"})
	k.sync(syncs.Synced, store.Progress{Added: 3, Total: 3})
	list, err := k.records.Documents(t.Context(), tenant, bank, []string{"staff"}, "", 9)
	k.must(err)
	for _, d := range list {
		switch d.Name {
		case "a":
			k.must(k.records.DeleteDocument(t.Context(), tenant, bank, d.ID))
		case "b", "c":
			d.Labels, d.LatestVersion = nil, "ver_upload_"+d.Name
			data := []byte("two")
			if d.Name == "c" {
				d.SHA256, data = strings.Repeat("0", 64), []byte("mine")
			}
			_, err := k.records.PutDocument(t.Context(), store.Put{
				Document: d, Data: data, Limit: 9, Visible: func(store.Document) bool { return true },
			})
			k.must(err)
		}
	}
	k.queue(k.source)
	k.sync(syncs.Synced, store.Progress{Added: 1, Updated: 2, Total: 3})
	k.has(map[string]string{"a": "one staff", "b": "two staff", "c": "three staff"})
}

// TestLabelsStayUntilTheTextThatHasThemIsReplaced: and until then a sync with nothing new finds the item unchanged.
func TestLabelsStayUntilTheTextThatHasThemIsReplaced(t *testing.T) {
	t.Parallel()
	onBoth(t, func(k *kit) {
		ingest := func() {
			k.Helper()
			list, err := k.records.Documents(k.Context(), tenant, bank, []string{"staff", "law"}, "", 9)
			k.must(err)
			for _, d := range list {
				_, err := k.records.FinishIngestion(k.Context(), store.Pending{Tenant: tenant, Version: d.LatestVersion}, store.Ingested{})
				k.must(err)
			}
		}
		k.site.set(map[string]string{"a": "#law\none"})
		k.sync(syncs.Synced, store.Progress{Added: 1, Total: 1})
		ingest()
		k.site.set(map[string]string{"a": "two"})
		k.queue(k.source)
		k.sync(syncs.Synced, store.Progress{Updated: 1, Total: 1})
		k.has(map[string]string{"a": "two law,staff"})
		k.queue(k.source)
		k.sync(syncs.Synced, store.Progress{Unchanged: 1, Total: 1})
		ingest()
		k.has(map[string]string{"a": "two staff"})
		k.queue(k.source)
		k.sync(syncs.Synced, store.Progress{Unchanged: 1, Total: 1})
	})
}

// TestNamesOfOthersAreLeftAlone: neither an upload nor the document of another source is replaced.
func TestNamesOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	k := newKit(t, tables.SQLite(t))
	k.site.set(map[string]string{"a": "one"})
	k.sync(syncs.Synced, store.Progress{Added: 1, Total: 1})
	k.source = k.create(store.SourceSpec{Kind: "site"})
	k.site.set(map[string]string{"a": "other", "b": "two"})
	k.sync(syncs.Synced, store.Progress{Added: 1, Failed: 1, Total: 2})
	k.has(map[string]string{"a": "one staff", "b": "two "})
}

func TestPausedSyncsWait(t *testing.T) {
	t.Parallel()
	k := newKit(t, tables.SQLite(t))
	k.site.set(map[string]string{"a": "one", "b": "two"})
	k.site.before = func(key string) {
		if key == "b" {
			_, err := k.records.PauseSource(t.Context(), tenant, bank, k.source.ID, true)
			k.must(err)
		}
	}
	k.sync(syncs.Paused, store.Progress{Added: 1, Total: 2})
	k.has(map[string]string{"a": "one staff"})
	k.sync(syncs.Paused, store.Progress{Added: 1, Total: 2})
	k.site.before = nil
	_, err := k.records.PauseSource(t.Context(), tenant, bank, k.source.ID, false)
	k.must(err)
	k.sync(syncs.Synced, store.Progress{Added: 2, Total: 2})
	k.sync(syncs.Superseded, store.Progress{Added: 2, Total: 2})
}

func TestASourceThatIsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	k := newKit(t, tables.SQLite(t))
	k.site.set(map[string]string{"a": "one", "b": "two"})
	k.site.before = func(key string) {
		if key == "b" {
			k.must(k.records.DeleteBank(t.Context(), tenant, bank))
		}
	}
	if got, err := k.Sync(t.Context(), tenant, k.source.Sync); got != syncs.Superseded || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestASyncIsGivenUpAfterSeveralAttempts(t *testing.T) {
	t.Parallel()
	k := newKit(t, tables.SQLite(t))
	k.site.set(map[string]string{"a": "one"})
	for range 8 {
		_, _, err := k.records.BeginSync(t.Context(), store.PendingSync{Tenant: tenant, Sync: k.source.Sync})
		k.must(err)
	}
	k.sync(syncs.Failed, store.Progress{})
	if src := k.read(k.source); !strings.Contains(src.Problem, "interrupted") {
		t.Errorf("problem %q", src.Problem)
	}
}

// TestACancelledCallIsNoAttempt: workers that stop do not use the attempts up.
func TestACancelledCallIsNoAttempt(t *testing.T) {
	t.Parallel()
	k := newKit(t, tables.SQLite(t))
	k.site.set(map[string]string{"a": "one"})
	for range 9 {
		ctx, cancel := context.WithCancel(t.Context())
		k.site.before = func(string) { cancel() }
		if got, err := k.Sync(ctx, tenant, k.source.Sync); !errors.Is(err, context.Canceled) {
			t.Fatalf("%q, %v", got, err)
		}
	}
	k.site.before = nil
	k.sync(syncs.Synced, store.Progress{Added: 1, Total: 1})
}

func TestRunStartsSyncs(t *testing.T) {
	t.Parallel()
	k := newKit(t, tables.SQLite(t))
	timed := k.create(store.SourceSpec{Kind: "site", Interval: time.Minute})
	k.sync(syncs.Synced, store.Progress{})
	if got, err := k.Sync(t.Context(), tenant, timed.Sync); got != syncs.Synced || err != nil {
		t.Fatalf("%q, %v", got, err)
	}
	doomed := k.create(store.SourceSpec{Kind: "site"})
	_, err := k.records.MarkDeleting(t.Context(), tenant, bank, doomed.ID)
	k.must(err)
	waiting := k.create(store.SourceSpec{Kind: "site"})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.Service.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	testpoll.Until(t, "a queued sync is started", func() bool { return k.engine.has(waiting.Sync) })
	testpoll.Until(t, "a deletion is finished", func() bool {
		_, err := k.records.Source(t.Context(), tenant, bank, doomed.ID)
		return errors.Is(err, store.ErrNotFound)
	})
	if k.read(timed).State != store.Synced {
		t.Error("a sync began before its time")
	}
	k.advance(time.Minute)
	k.Trigger()
	testpoll.Until(t, "a sync is started when it is due", func() bool { return k.engine.has(k.read(timed).Sync) })
}
