package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/test/harness"
)

// TestAChangedAuditRecordShows: somebody who can write to the database changes who did something. 'windlass audit verify' says where.
func TestAChangedAuditRecordShows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	up := harness.Up(t, dir, nil)
	for i := range 3 {
		up.Client.Must("POST", "/v1/secrets", harness.JSON{"name": fmt.Sprintf("S%d", i), "value": "x"})
	}
	verify := func(code int, args ...string) (stdout, stderr string) {
		t.Helper()
		return run(t, code, "", harness.Bin(t, "windlass"), append([]string{"audit", "verify", "--server", up.Client.Base}, args...)...)
	}
	out, _ := verify(0)
	if !strings.HasPrefix(out, "the audit trail is intact: ") {
		t.Errorf("before: %s", out)
	}
	hash, _ := verify(0, "-o", "name")
	up.Kill()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: "sqlite:" + filepath.Join(dir, "policy.db"), Schema: "policy", MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	var seq int64
	err = db.Write(t.Context(), func(tx sqldb.Tx) error {
		var err error
		seq, err = sqldb.One(t.Context(), tx, sqldb.Column[int64],
			`UPDATE audit_records SET subject = 'mallory' WHERE seq = 2 RETURNING seq`)
		return err
	})
	if err != nil || db.Close() != nil || seq == 0 {
		t.Fatalf("record %d: %v", seq, err)
	}
	up = harness.Up(t, dir, nil)
	if out, errs := verify(1); out != "" || !strings.Contains(errs, fmt.Sprintf("the audit trail is broken at record %d: ", seq)) {
		t.Errorf("after: %s%s", out, errs)
	}
	_, errs := verify(1, "--seq", "1", "--hash", strings.TrimSpace(hash))
	if !strings.Contains(errs, "the audit trail is broken at record 1: ") {
		t.Errorf("with a hash of another record: %s", errs)
	}
}
