package store_test

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testpg.Main{M: m}) }

func TestSQLite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *store.Store {
		return open(t, "sqlite:"+filepath.Join(t.TempDir(), "sessions.db"))
	})
}

func TestPostgres(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *store.Store { return open(t, testpg.URL(t)) })
}

func open(t *testing.T, url string) *store.Store {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "sessions"})
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
	return s
}
