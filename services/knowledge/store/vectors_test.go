package store_test

import (
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/services/knowledge/store/storetest"
)

func TestVectorsSQLite(t *testing.T) {
	storetest.RunVectors(t, "sqlite:"+filepath.Join(t.TempDir(), "knowledge.db"))
}

func TestVectorsPostgres(t *testing.T) { storetest.RunVectors(t, testpg.URL(t)) }
