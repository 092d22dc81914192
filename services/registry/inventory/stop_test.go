package inventory_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/registry/inventory"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// silent is a source that never answers.
type silent struct{ server }

func (*silent) Discover(ctx context.Context, _ store.Source) (store.Inventory, error) {
	<-ctx.Done()
	return store.Inventory{}, ctx.Err()
}

// TestTheEndCancelsSyncs: Run cancels the running syncs when it ends, and further ones are refused.
func TestTheEndCancelsSyncs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, src := openStore(t)
		syncer := inventory.New(inventory.Config{Every: time.Hour}, st, &silent{},
			func(context.Context, int, int) {}, time.Now, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- syncer.Run(ctx) }()
		synced := make(chan error, 1)
		go func() {
			_, err := syncer.Sync(t.Context(), src)
			synced <- err
		}()
		synctest.Wait()
		stop()
		if err := <-synced; fault.CodeOf(err) != "unavailable" {
			t.Errorf("the running sync: %v", err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if _, err := syncer.Sync(t.Context(), src); fault.CodeOf(err) != "unavailable" {
			t.Errorf("a sync after the end: %v", err)
		}
	})
}
