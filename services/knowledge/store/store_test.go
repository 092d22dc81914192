package store_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testdb"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/services/knowledge/store"
	"github.com/windlass-dev/windlass/services/knowledge/store/storetest"
)

func TestMain(m *testing.M) { testmain.Verify(testpg.Main{M: m}) }

func TestSQLite(t *testing.T) { storetest.Run(t, "sqlite:"+filepath.Join(t.TempDir(), "knowledge.db")) }

// TestPostgres runs as a role that cannot change tables.
func TestPostgres(t *testing.T) {
	storetest.Run(t, testdb.New("knowledge", func(ctx context.Context, db *sqldb.DB) error {
		_, err := store.Open(ctx, db)
		return err
	}).Restricted(t))
}

// TestAnUnchangedDocumentIsNotWritten: a sync stores each document of its source again.
func TestAnUnchangedDocumentIsNotWritten(t *testing.T) {
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: "sqlite:" + filepath.Join(t.TempDir(), "knowledge.db"), Schema: "knowledge"})
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
	if err := s.CreateBank(t.Context(), store.Bank{Tenant: "default", ID: "b"}, 1); err != nil {
		t.Fatal(err)
	}
	put := func(labels ...string) error {
		_, err := s.PutDocument(t.Context(), store.Put{
			Document: store.Document{
				Tenant: "default", ID: "doc_1", Bank: "b", Name: "a", MediaType: "text/plain", SHA256: "00", LatestVersion: "ver_1", Labels: labels,
			},
			Data: []byte("a"), Limit: 1, Visible: func(store.Document) bool { return true },
		})
		return err
	}
	if err := put("hr"); err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), func(tx sqldb.Tx) error {
		_, err := sqldb.Exec(t.Context(), tx, "CREATE TRIGGER frozen BEFORE UPDATE ON documents BEGIN SELECT RAISE(ABORT, 'it is written'); END")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := put("hr"); err != nil {
		t.Errorf("stored again: %v", err)
	}
	if err := put("board"); err == nil {
		t.Error("the trigger does not see writes")
	}
}
