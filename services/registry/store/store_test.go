package store_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testdb"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/services/registry/store"
	"github.com/windlass-dev/windlass/services/registry/store/storetest"
)

func TestMain(m *testing.M) { testmain.Verify(testpg.Main{M: m}) }

func TestSQLite(t *testing.T) { storetest.Run(t, "sqlite:"+filepath.Join(t.TempDir(), "registry.db")) }

// TestPostgres runs as a role that cannot change tables.
func TestPostgres(t *testing.T) {
	storetest.Run(t, testdb.New("registry", store.Migrate).Restricted(t))
}

func TestToolName(t *testing.T) {
	long := strings.Repeat("a", 70)
	for _, row := range []struct{ source, original, want string }{
		{"notes", "add", "notes__add"},
		{"notes", "Add-it_2", "notes__Add-it_2"},
		{"notes", "a.b/c d", "notes__a_b_c_d"},
		{"notes", "日本", "notes____"},
		{"notes", "_x", "notes___x"},
		{"n", strings.Repeat("a", 61), "n__" + strings.Repeat("a", 61)},
	} {
		if got := store.ToolName(row.source, row.original); got != row.want {
			t.Errorf("ToolName(%q, %q) = %q, want %q", row.source, row.original, got, row.want)
		}
	}
	a, b := store.ToolName("notes", long), store.ToolName("notes", long+"b")
	if len(a) != 64 || len(b) != 64 || a == b || !strings.HasPrefix(a, "notes__aaa") {
		t.Errorf("long names: %q, %q", a, b)
	}
	if got := store.ToolName(strings.Repeat("s", 32), strings.Repeat("é", 50)); len(got) != 64 {
		t.Errorf("longest source: %q", got)
	}
}
