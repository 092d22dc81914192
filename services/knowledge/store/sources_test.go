package store_test

import (
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/services/knowledge/store/storetest"
)

func TestSourcesSQLite(t *testing.T) {
	storetest.RunSources(t, "sqlite:"+filepath.Join(t.TempDir(), "knowledge.db"))
}

func TestSourcesPostgres(t *testing.T) { storetest.RunSources(t, testpg.URL(t)) }
