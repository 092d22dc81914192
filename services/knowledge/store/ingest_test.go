package store_test

import (
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/services/knowledge/store/storetest"
)

func TestIngestionsSQLite(t *testing.T) {
	storetest.RunIngestions(t, "sqlite:"+filepath.Join(t.TempDir(), "knowledge.db"))
}

func TestIngestionsPostgres(t *testing.T) { storetest.RunIngestions(t, testpg.URL(t)) }
