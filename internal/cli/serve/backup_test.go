package serve

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/assembly"
	"github.com/windlass-dev/windlass/internal/backup"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/services/registry"
)

// What a recovery did before it failed is printed: it is committed, and the next one reports none of it.
func TestAFailedRecoveryReportsWhatItDid(t *testing.T) {
	done := assembly.Recovered{Calls: []registry.RecoveredCall{{ID: "exe_1", Tool: "bank__pay", Once: true}}}
	for _, tc := range []struct {
		name, format string
		done         assembly.Recovered
		failed       bool
		want         string
	}{
		{"a part", "table", done, true, "done before it failed"},
		{"a part as JSON", "json", done, true, `"id":"exe_1"`},
		{"nothing", "table", assembly.Recovered{}, true, ""},
		{"all", "table", done, false, "  exe_1  bank__pay, once\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := report(&out, tc.format, tc.done, tc.failed); err != nil || !strings.Contains(out.String(), tc.want) ||
				(tc.want == "") != (out.Len() == 0) {
				t.Errorf("%v, printed %q", err, out.String())
			}
		})
	}
}

// A recovery whose second database cannot be opened ends with that error.
func TestRecoverReturnsTheError(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "sessions.db"), []byte(strings.Repeat("no database", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	a := &app.App{Out: &out, Err: &errs, Environ: []string{"WINDLASS_DATABASE_URL=sqlite:" + dir}}
	root := &cobra.Command{Use: "windlassd"}
	root.AddCommand(recoverCommand(a))
	if code := a.Execute(t.Context(), root, []string{"recover", "--confirm"}); code != 1 || out.Len() > 0 {
		t.Errorf("code %d, printed %q %q", code, out.String(), errs.String())
	}
}

func TestRestoreNamesTheOldPath(t *testing.T) {
	r := restored{Backup: backup.Manifest{CreateTime: time.Unix(0, 0), DataDir: "/srv/old"}}
	const want = "it was /srv/old: settings that name that path still do"
	if got := r.text("b.tar.gz", "/srv/new"); !strings.Contains(got, want) {
		t.Errorf("printed %q", got)
	}
	if got := r.text("b.tar.gz", "/srv/old"); strings.Contains(got, want) {
		t.Errorf("printed %q", got)
	}
}
