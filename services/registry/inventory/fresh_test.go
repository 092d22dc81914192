package inventory_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/registry/inventory"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// server is a source that answers a sync when released, with one more tool after each add.
type server struct {
	syncs atomic.Int32
	tools atomic.Int32
	hold  chan struct{}
}

func (s *server) Discover(context.Context, store.Source) (store.Inventory, error) {
	s.syncs.Add(1)
	var out store.Inventory
	for n := range s.tools.Load() {
		out.Tools = append(out.Tools, store.Found{
			OriginalName: string('a' + n), Raw: []byte("{}"), InputSchema: []byte("{}"), OutputSchema: []byte{},
		})
	}
	<-s.hold
	return out, nil
}

func (*server) Watch(ctx context.Context, _ func(string, mcpbridgev1.ServerChange)) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestManyRequestsShareOneSync: requests during a sync see changes made since it began, and together cost only one more sync.
func TestManyRequestsShareOneSync(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{hold: make(chan struct{})}
		st, src := openStore(t)
		syncer := inventory.New(inventory.Config{Every: time.Hour}, st, s, func(context.Context, int, int) {}, time.Now,
			slog.New(slog.DiscardHandler))
		ended := make(chan error, 6)
		go func() {
			_, err := syncer.Sync(t.Context(), src)
			ended <- err
		}()
		synctest.Wait()
		s.tools.Store(1)
		for range 5 {
			go func() {
				diff, err := syncer.SyncFresh(t.Context(), src)
				if err == nil && diff.Total != 1 {
					t.Errorf("somebody saw %d tools", diff.Total)
				}
				ended <- err
			}()
		}
		synctest.Wait()
		if n := s.syncs.Load(); n != 1 {
			t.Errorf("%d syncs while one is under way", n)
		}
		close(s.hold)
		for range cap(ended) {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if n := s.syncs.Load(); n != 2 {
			t.Errorf("%d syncs, want 2", n)
		}
	})
}

func openStore(t *testing.T) (store.Store, store.Source) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: "sqlite:" + filepath.Join(t.TempDir(), "registry.db"), Schema: "registry"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := store.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	src := store.Source{Tenant: "t", ID: "src_1", Name: "src", Kind: "mcp", State: store.Pending, Revision: 1}
	if err := store.New(db).CreateSource(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	return store.New(db), src
}
