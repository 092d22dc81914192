package syncs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testdb"
	"github.com/windlass-dev/windlass/services/knowledge/source"
	"github.com/windlass-dev/windlass/services/knowledge/store"
	"github.com/windlass-dev/windlass/services/knowledge/syncs"
)

const (
	tenant = "acme"
	bank   = "handbook"
)

var tables = testdb.New("knowledge", func(ctx context.Context, db *sqldb.DB) error {
	_, err := store.Open(ctx, db)
	return err
})

// site is a kind whose items are a map. It reports the validators of items that have one, as a server with entity tags does.
type site struct {
	items map[string]source.Item
	// fails has items that cannot be read, err ends the reading after the items, and reads counts contents.
	fails map[string]string
	err   error
	reads int
	// tolerant sites report an item as failed that is not taken, as a sitemap does with a page that cannot be read.
	tolerant bool
	// before is called before each item.
	before func(key string)
}

// Check implements source.Kind.
func (*site) Check(store.SourceSpec) error { return nil }

// Read implements source.Kind.
func (s *site) Read(ctx context.Context, _ store.SourceSpec, v source.Visitor) error {
	v.Total(len(s.items) + len(s.fails))
	for _, key := range slices.Sorted(maps.Keys(s.items)) {
		if s.before != nil {
			s.before(key)
		}
		item := s.items[key]
		if item.Validator != "" && v.Validator(key) == item.Validator {
			if err := v.Same(ctx, key); err != nil {
				return err
			}
			continue
		}
		s.reads++
		err := v.Found(ctx, item)
		if s.tolerant && err != nil {
			err = v.Failed(ctx, key, err.Error())
		}
		if err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.fails)) {
		if err := v.Failed(ctx, key, s.fails[key]); err != nil {
			return err
		}
	}
	return s.err
}

// set sets the texts of items; each text is its own validator.
func (s *site) set(texts map[string]string) {
	s.items = map[string]source.Item{}
	for name, text := range texts {
		s.items[name] = source.Item{Key: name, Name: name, Validator: "v:" + text, Data: []byte(text)}
	}
}

// errKilled is how the store ends a sync that is killed.
var errKilled = errors.New("killed")

// records is a store that fails at one of its calls, before or after it has done what it is asked for.
type records struct {
	*store.Store
	calls, failAt int
	after         bool
	writes        int
}

// call does a call, or fails.
func (r *records) call(f func() error) error {
	r.calls++
	if r.calls == r.failAt && !r.after {
		return errKilled
	}
	if err := f(); err != nil {
		return err
	}
	if r.calls == r.failAt {
		return errKilled
	}
	return nil
}

func (r *records) BeginSync(ctx context.Context, p store.PendingSync) (src store.Source, n int, err error) {
	err = r.call(func() (err error) {
		src, n, err = r.Store.BeginSync(ctx, p)
		return err
	})
	return src, n, err
}

func (r *records) Items(ctx context.Context, src store.Source) (out []store.Item, err error) {
	err = r.call(func() (err error) {
		out, err = r.Store.Items(ctx, src)
		return err
	})
	return out, err
}

func (r *records) PutItem(ctx context.Context, p store.PendingSync, bank string, put store.Put, item store.Item, at store.Progress,
) (d store.Document, err error) {
	r.writes++
	err = r.call(func() (err error) {
		d, err = r.Store.PutItem(ctx, p, bank, put, item, at)
		return err
	})
	return d, err
}

func (r *records) DropItem(ctx context.Context, p store.PendingSync, bank string, item store.Item, at store.Progress) error {
	r.writes++
	return r.call(func() error { return r.Store.DropItem(ctx, p, bank, item, at) })
}

func (r *records) FinishSync(ctx context.Context, p store.PendingSync, result store.SyncResult) error {
	return r.call(func() error { return r.Store.FinishSync(ctx, p, result) })
}

func (r *records) Purge(ctx context.Context) error {
	return r.call(func() error { return r.Store.Purge(ctx) })
}

// engine records the syncs whose workflows are started.
type engine struct {
	mu      sync.Mutex
	started []string
}

// StartSync implements syncs.Engine.
func (e *engine) StartSync(_ context.Context, _, sync string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.started = append(e.started, sync)
	return nil
}

func (e *engine) has(sync string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Contains(e.started, sync)
}

// kit is a service with a bank that has a source.
type kit struct {
	*testing.T
	*syncs.Service
	records *records
	db      *sqldb.DB
	site    *site
	engine  *engine
	source  store.Source
	queued  int
	next    int
	mu      sync.Mutex
	now     time.Time
}

// newKit returns a kit on the empty database at url, whose clock stands still.
func newKit(t *testing.T, url string) *kit {
	t.Helper()
	k := &kit{T: t, site: &site{}, engine: &engine{}, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	var err error
	k.db, err = sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "knowledge", Now: k.clock, SecureDelete: true})
	k.must(err)
	t.Cleanup(func() { k.must(k.db.Close()) })
	s, err := store.Open(t.Context(), k.db)
	k.must(err)
	k.records = &records{Store: s}
	k.Service, err = syncs.New(syncs.Config{
		Concurrent: 2, Interval: time.Hour, RestartAfter: time.Minute, MaxItems: 50, MaxBytes: 1000, MaxDocuments: 40,
	}, syncs.Deps{
		Store: k.records, Kinds: map[string]source.Kind{"site": k.site}, Engine: k.engine, MediaType: mediaType, Labels: labels,
		Queued: func() { k.queued++ }, Log: slog.New(slog.DiscardHandler),
	})
	k.must(err)
	k.must(s.CreateBank(t.Context(), store.Bank{Tenant: tenant, ID: bank}, 10))
	k.source = k.create(store.SourceSpec{Kind: "site", Labels: []string{"staff"}})
	return k
}

// mediaType refuses texts that begin with "binary".
func mediaType(_, _ string, data []byte) (string, error) {
	if strings.HasPrefix(string(data), "binary") {
		return "", fault.Invalid("media_type", "the document cannot be read")
	}
	return "text/plain", nil
}

// labels reads the labels behind a # at the beginning.
func labels(_ string, data []byte) ([]string, error) {
	line, _, _ := strings.Cut(string(data), "\n")
	if text, ok := strings.CutPrefix(line, "#"); ok {
		return strings.Fields(text), nil
	}
	return nil, nil
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

// create adds a source.
func (k *kit) create(spec store.SourceSpec) store.Source {
	k.Helper()
	k.next++
	src := store.Source{
		Tenant: tenant, ID: fmt.Sprintf("bsr_%d", k.next), Bank: bank, Subject: "alice", Spec: spec, Sync: fmt.Sprintf("syn_%d", k.next),
		CreateTime: k.clock(),
	}
	k.must(k.records.CreateSource(k.Context(), src, 10))
	return src
}

// queue queues a further sync of a source.
func (k *kit) queue(src store.Source) store.Source {
	k.Helper()
	k.next++
	out, err := k.records.QueueSync(k.Context(), tenant, bank, src.ID, fmt.Sprintf("syn_%d", k.next))
	k.must(err)
	return out
}

func (k *kit) read(src store.Source) store.Source {
	k.Helper()
	out, err := k.records.Source(k.Context(), tenant, bank, src.ID)
	k.must(err)
	return out
}

// sync runs the queued sync of the kit's source, which must end as want says.
func (k *kit) sync(want syncs.Outcome, progress store.Progress) {
	k.Helper()
	now := k.read(k.source)
	got, err := k.Sync(k.Context(), tenant, now.Sync)
	after := k.read(k.source)
	if err != nil || got != want || after.Progress != progress {
		k.Errorf("sync ended as %q, %v, %q, with %+v; want %q with %+v", got, err, after.Problem, after.Progress, want, progress)
	}
}

// documents returns the contents of the bank by name, each with its labels.
func (k *kit) documents() map[string]string {
	k.Helper()
	list, err := k.records.Documents(k.Context(), tenant, bank, []string{"staff", "board", "law"}, "", 100)
	k.must(err)
	out := map[string]string{}
	for _, d := range list {
		data, err := k.records.Content(k.Context(), tenant, d.SHA256)
		k.must(err)
		out[d.Name] = string(data) + " " + strings.Join(d.Labels, ",")
	}
	return out
}

func (k *kit) has(want map[string]string) {
	k.Helper()
	if got := k.documents(); !reflect.DeepEqual(got, want) {
		k.Errorf("the bank has %q, want %q", got, want)
	}
}
