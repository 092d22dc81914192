//go:build race

package sqldb_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// TestAStatementBesideAnOpenTransactionIsRefused: with a pool of one connection it would wait for itself.
func TestAStatementBesideAnOpenTransactionIsRefused(t *testing.T) {
	each(t, func(t *testing.T, db *sqldb.DB) {
		nothing := func(sqldb.Querier) error { return nil }
		beside := map[string]func(){
			"Reader": func() { db.Reader() },
			"Read":   func() { _ = db.Read(t.Context(), nothing) },
			"Write":  func() { _ = db.Write(t.Context(), func(sqldb.Tx) error { return nil }) },
		}
		for name, call := range beside {
			if said := panics(func() { _ = db.Write(t.Context(), func(sqldb.Tx) error { call(); return nil }) }); !strings.Contains(said,
				name+" while") {
				t.Errorf("%s in Write: %q", name, said)
			}
			if said := panics(func() { _ = db.Read(t.Context(), func(sqldb.Querier) error { call(); return nil }) }); !strings.Contains(said,
				name+" while") {
				t.Errorf("%s in Read: %q", name, said)
			}
		}
		if err := insert(t.Context(), db, "after"); err != nil {
			t.Errorf("the next transaction: %v", err)
		}
	})
}

func panics(f func()) (said string) {
	defer func() {
		if p := recover(); p != nil {
			said = p.(string)
		}
	}()
	f()
	return ""
}
