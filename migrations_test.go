package windlass_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// takes matches what would break processes of the version before, which go on while the next one is rolled out.
	takes = regexp.MustCompile(`(?i)\b(DROP\s+(TABLE\s+\w+|COLUMN|SCHEMA|VIEW)|RENAME|ALTER\s+COLUMN|ADD\s+CONSTRAINT|SET\s+NOT\s+NULL)\b`)
	// column matches a column that is added, up to the end of its statement.
	column = regexp.MustCompile(`(?i)ADD\s+COLUMN[^;]*`)
)

// TestMigrationsOnlyAdd: a migration takes nothing away that programs of the version before read or write, and asks nothing of their rows. What is no
// longer used goes with a later version.
func TestMigrationsOnlyAdd(t *testing.T) {
	files, err := filepath.Glob("services/*/store/migrations/*.sql")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d migrations, %v", len(files), err)
	}
	for _, file := range files {
		up, _, _ := strings.Cut(string(read(t, file)), "-- +goose Down")
		for _, found := range takes.FindAllString(up, -1) {
			// A table that is filled from others may be made again in the same transaction, for another key.
			if name, table := strings.CutPrefix(found, "DROP TABLE "); !table || !strings.Contains(up, "CREATE TABLE "+name+" (") {
				t.Errorf("%s: %s", file, found)
			}
		}
		for _, added := range column.FindAllString(up, -1) {
			if upper := strings.ToUpper(added); strings.Contains(upper, "NOT NULL") && !strings.Contains(upper, "DEFAULT") {
				t.Errorf("%s: %s, which the version before does not write, needs a default", file, strings.TrimSpace(added))
			}
		}
	}
}
