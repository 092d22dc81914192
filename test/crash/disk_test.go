package crash

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/test/harness"
)

// TestDiskFull: on a full disk nothing is accepted but everything can be read, and once there is space a running turn continues. The
// database stays intact.
func TestDiskFull(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		slot(t)
		disk := harness.NewDisk(t, 96)
		diskFull(t, disk, nil)
	})
	t.Run("postgres", func(t *testing.T) {
		if os.Getenv(chaosEnv) == "" {
			t.Skip("`make chaos` runs it")
		}
		slot(t)
		disk := harness.NewDisk(t, 96)
		tables := filepath.Join(disk.Dir, "tables")
		if err := os.Mkdir(disk.Outside("tables"), 0o700); err != nil {
			t.Fatal(err)
		}
		diskFull(t, disk, testpg.OwnOn(t, disk.Within(), tables, disk.Outside("tables")))
	})
}

// diskFull fills the disk with the tables: those of SQLite, or of a server.
func diskFull(t *testing.T, disk *harness.Disk, server *testpg.Server) {
	s := &scene{t: t, prop: newProp(t)}
	env := s.model.Env()
	if server != nil {
		env = append(env, "WINDLASS_DATABASE_URL="+server.URL())
	}
	start := func() *harness.Embedded {
		if server != nil {
			return harness.Up(t, t.TempDir(), env)
		}
		return disk.Up(env)
	}
	up := start()
	s.client = up.Client
	s.client.Must("POST", "/v1/agents", harness.JSON{"id": "a"})
	s.client.Must("POST", "/v1/agents", harness.JSON{"id": "scripted", "model": "builtin/scripted"})
	before := s.client.Turn(s.client.Session("scripted"), "say:hello")
	s.client.Wait(before)
	s.begin("tell a story")
	s.awaitWords()
	disk.Fill()
	refused := 0
	insistFull := func() bool { // the last pages of the write-ahead log may have room yet
		status, out, err := s.client.Do(t.Context(), "POST", "/v1/sessions", harness.JSON{"agent_id": "a"})
		if err != nil || status >= http.StatusMultipleChoices && status != http.StatusServiceUnavailable {
			t.Fatalf("a session without room: %d %v %v", status, out, err)
		}
		if status == http.StatusServiceUnavailable {
			refused++
		}
		return refused >= 3
	}
	if !harness.Eventually(patience, insistFull) {
		t.Fatal("sessions are opened on a full disk")
	}
	s.insistHealth(http.StatusServiceUnavailable, "disk is full")
	if turn := s.client.Must("GET", "/v1/turns/"+before, nil); turn.Str("output") != "hello" {
		t.Errorf("on a full disk a turn reads %v", turn)
	}
	harness.CheckStream(t, s.client.Watch("/v1/turns/"+before+"/events").End())
	close(s.gate.open) // the answer is whole before there is room for it
	disk.Free()
	free := time.Now()
	s.client.Wait(s.turn)
	t.Logf("the turn ended %v after there was room", since(free))
	s.check(promise{modelCalls: [2]float64{1, 2}, lossy: true})
	s.client.Session("a")
	s.insistHealth(http.StatusOK, "")

	if code := up.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, service := range []string{"sessions", "registry", "policy"} {
		if server == nil {
			checkIntegrity(t, disk.Outside("data", service+".db"), service)
		}
	}
	s.client = start().Client
	if turn := s.client.Must("GET", "/v1/turns/"+s.turn, nil); turn.Str("output") != answer {
		t.Errorf("after a restart the turn reads %v", turn)
	}
}

// insistHealth waits until /readyz has a status and names a cause.
func (s *scene) insistHealth(status int, cause string) {
	s.t.Helper()
	var got harness.JSON
	asked := func() bool {
		code, out, err := s.client.Do(s.t.Context(), "GET", "/readyz", nil)
		got = out
		why, _ := got["causes"].(map[string]any)
		database, _ := why["sessions database"].(map[string]any)
		text, _ := database["cause"].(string)
		return err == nil && code == status && strings.Contains(text, cause)
	}
	if !harness.Eventually(patience, asked) {
		s.t.Errorf("/readyz says %v, want %d and %q", got, status, cause)
	}
}

// checkIntegrity looks at a copy: SQLite would not find the file by a path through another process.
func checkIntegrity(t *testing.T, file, schema string) {
	t.Helper()
	dir := t.TempDir()
	for _, end := range []string{"", "-wal"} {
		raw, err := os.ReadFile(file + end)
		if end != "" && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)+end), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: "sqlite:" + filepath.Join(dir, filepath.Base(file)), Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	verdict, err := sqldb.One(t.Context(), db.Reader(), sqldb.Column[string], "PRAGMA integrity_check")
	if err != nil || verdict != "ok" {
		t.Errorf("%s: %s, %v", schema, verdict, err)
	}
}
