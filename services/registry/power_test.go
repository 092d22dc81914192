package registry_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
)

// disk is what remains of a SQLite database after a power failure: the files as of the last flush.
type disk struct {
	dir  string // of the database
	mu   sync.Mutex
	left string // a folder, empty before the first flush
	made int
}

// flush stands for fsync.
func (d *disk) flush(f *os.File) error {
	if err := f.Sync(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.made++
	left, err := os.MkdirTemp(filepath.Dir(d.dir), "left")
	if err != nil {
		return err
	}
	for _, name := range []string{"registry.db", "registry.db-wal"} {
		if err := copyFile(filepath.Join(left, name), filepath.Join(d.dir, name)); err != nil {
			return err
		}
	}
	d.left = left
	return nil
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it is only read
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}

// TestACallThatMustNotBeRepeatedIsOnDiskBeforeItLeaves cuts the power while the tool server has the call. The next registry gets what is on
// disk at that moment, and must know of the call.
func TestACallThatMustNotBeRepeatedIsOnDiskBeforeItLeaves(t *testing.T) {
	dir := t.TempDir()
	d := &disk{dir: filepath.Join(dir, "data")}
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: "sqlite:" + filepath.Join(d.dir, "registry.db"), Schema: "registry", Flush: d.flush})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	w := newWorldOn(t, "sqlite:"+filepath.Join(dir, "unused.db"))
	r := w.startOn(db, config())
	r.notes()
	if s := r.call(t.Context(), r.request("notes__put", "idempotent")); s.text() != "ok" || d.made != 0 {
		t.Errorf("a call that may be repeated: %+v, %d flushes", s, d.made)
	}
	left := ""
	w.bridge.set(func() {
		w.bridge.call = func(context.Context, *mcpbridgev1.CallToolRequest, func(float64, float64, string)) (*mcpbridgev1.CallToolResult, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			left = d.left
			return answer("paid"), nil
		}
	})
	req := r.request("notes__send", "once")
	if s := r.call(t.Context(), req); s.text() != "paid" {
		t.Fatalf("the call: %+v", s)
	}
	if left == "" {
		t.Fatal("nothing had been flushed when the call left")
	}
	after := newWorldOn(t, "sqlite:"+filepath.Join(left, "registry.db"))
	next := after.start(config())
	s := next.call(t.Context(), req)
	if !s.completed.GetUnresolved() || !strings.Contains(s.text(), "not known") {
		t.Errorf("after the power was cut: %+v", s)
	}
	if n := len(after.bridge.seen()); n != 0 {
		t.Errorf("it was sent again %d times", n)
	}
}
