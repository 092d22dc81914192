package serve

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpg"
)

// daemon runs windlassd with a database.
func daemon(t *testing.T, url string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	a := &app.App{Out: &o, Err: &e, Environ: []string{"WINDLASS_DATABASE_URL=" + url}}
	code = a.Execute(t.Context(), Daemon(a), args)
	return code, o.String(), e.String()
}

// TestMigrate migrates the tables of one role, then of all, then finds nothing to do, on both engines.
func TestMigrate(t *testing.T) {
	t.Parallel()
	for engine, url := range map[string]string{sqldb.SQLite: "sqlite:" + t.TempDir(), sqldb.Postgres: testpg.URL(t)} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			code, out, errs := daemon(t, url, "migrate", "policy")
			if code != 0 || !strings.HasPrefix(out, "policy     from 0 to ") || !strings.Contains(out, ": applied 20 21") ||
				strings.Count(out, "\n") != 1 {
				t.Errorf("of one role: %d %q %s", code, out, errs)
			}
			code, out, errs = daemon(t, url, "migrate", "-o", "json")
			var got struct{ Schemas []sqldb.Migrated }
			if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || len(got.Schemas) != 5 || len(got.Schemas[0].Applied) != 0 ||
				len(got.Schemas[1].Applied) == 0 {
				t.Errorf("of all roles: %d %q %s, %v", code, out, errs, err)
			}
			code, out, errs = daemon(t, url, "migrate")
			if code != 0 || strings.Count(out, "up to date at ") != 5 || errs != "" {
				t.Errorf("again: %d %q %s", code, out, errs)
			}
		})
	}
}

// TestMigrateAtOnce: a Job that is started twice, or beside services that migrate by themselves, applies each migration once.
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := testpg.URL(t)
	outs := make(chan string, 2)
	for range cap(outs) {
		go func() {
			_, out, errs := daemon(t, url, "migrate", "registry")
			outs <- out + errs
		}()
	}
	one, two := <-outs, <-outs
	if strings.Count(one+two, "from 0 to ") != 1 || strings.Count(one+two, "up to date at ") != 1 {
		t.Errorf("they printed %q and %q", one, two)
	}
}

func TestMigrateRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		args []string
		err  string
	}{
		{"a role without tables", []string{"worker"}, `there is no role "worker" with tables; those are policy, inference, knowledge, registry, sessions`},
		{"a format", []string{"-o", "yaml"}, "-o json"},
		{"grants to no role", []string{"--print-grants", ""}, "want a name"},
	} {
		if code, out, errs := daemon(t, "sqlite:"+t.TempDir(), append([]string{"migrate"}, tc.args...)...); code != 2 || out != "" ||
			!strings.Contains(errs, tc.err) {
			t.Errorf("%s: %d %q %q, want 2 and %q", tc.name, code, out, errs, tc.err)
		}
	}
	code, out, errs := daemon(t, "sqlite:/nowhere/at/all", "migrate", "--print-grants", "app", "sessions")
	if code != 0 || !strings.Contains(out, `ON ALL TABLES IN SCHEMA "sessions" TO "app";`) || strings.Contains(out, "policy") {
		t.Errorf("grants of one role: %d %q %q", code, out, errs)
	}
}
