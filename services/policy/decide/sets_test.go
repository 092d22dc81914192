package decide

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/policy/audit/trail"
	"github.com/windlass-dev/windlass/services/policy/store"
)

// TestAChangeInTheSameProcessIsNeverStale: changed and a slow reader of the old revision race.
func TestAChangeInTheSameProcessIsNeverStale(t *testing.T) {
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: "sqlite:" + filepath.Join(t.TempDir(), "policy.db"), Schema: "policy"})
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
	policies := store.New(db, trail.Of(db))
	sets, err := newSets(policies)
	if err != nil {
		t.Fatal(err)
	}
	old, err := sets.current(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	asked := sets.now()
	if _, err := policies.ChangePolicies(t.Context(), "default", func(store.Snapshot) (store.Change, error) {
		return store.Change{Put: &store.Policy{Name: "p", Spec: store.Spec{Effect: store.Allow}}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	sets.changed("default")
	sets.keep("default", old, asked) // by a reader that had read the old revision
	if got, err := sets.recent(t.Context(), "default", time.Minute); err != nil || got.Revision != 1 {
		t.Errorf("revision %v, %v", got, err)
	}
}
