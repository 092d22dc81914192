package store_test

import (
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/libs/testdb"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/services/inference/store"
	"github.com/windlass-dev/windlass/services/inference/store/storetest"
)

func TestMain(m *testing.M) { testmain.Verify(testpg.Main{M: m}) }

func TestSQLite(t *testing.T) { storetest.Run(t, "sqlite:"+filepath.Join(t.TempDir(), "inference.db")) }

// TestPostgres runs as a role that cannot change tables.
func TestPostgres(t *testing.T) {
	storetest.Run(t, testdb.New("inference", store.Migrate).Restricted(t))
}
