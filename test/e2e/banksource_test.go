package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestASyncSurvivesItsWorker stops the worker and the knowledge service while a bank follows a folder. In the end the bank has exactly what
// the folder has.
func TestASyncSurvivesItsWorker(t *testing.T) {
	t.Parallel()
	const files = 30
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range files {
		write(fmt.Sprintf("page-%d.md", i), chapters(i))
	}
	m := harness.Split(t, harness.SplitOptions{Env: []string{
		"WINDLASS_KNOWLEDGE_SWEEP_INTERVAL=500ms", "WINDLASS_KNOWLEDGE_FOLDERS=" + dir,
	}})
	c := m.Client
	c.Must("POST", "/v1/banks", harness.JSON{"id": "followed"})
	const all = "/v1/banks/followed/sources"
	path := all + "/" + c.Must("POST", all, harness.JSON{"kind": "folder", "folder": dir}).Str("id")
	m.Restart(m.Members("worker")[0])
	m.Restart(m.Members("knowledge")[0])
	synced := func() (source harness.JSON) {
		until(t, "the source is synced", func() bool {
			source = c.Must("GET", path, nil)
			return source.Str("state") == "synced"
		})
		return source
	}
	if p := fmt.Sprint(synced()["progress"]); p != fmt.Sprint(counted(files, 0, 0, 0)) {
		t.Errorf("the first sync: %s", p)
	}
	until(t, "all is ingested", func() bool {
		return fmt.Sprint(c.Must("GET", "/v1/banks/followed", nil)["documents"]) == fmt.Sprint(files)
	})
	write("page-0.md", "# Changed\n\nOther words.\n")
	if err := os.Remove(filepath.Join(dir, "page-1.md")); err != nil {
		t.Fatal(err)
	}
	c.Must("POST", path+":sync", nil)
	m.Restart(m.Members("worker")[0])
	if p := fmt.Sprint(synced()["progress"]); p != fmt.Sprint(counted(0, 1, files-2, 1)) {
		t.Errorf("the second sync: %s", p)
	}
	until(t, "the change is ingested", func() bool {
		bank := c.Must("GET", "/v1/banks/followed", nil)
		counts, _ := bank["counts"].(map[string]any)
		return fmt.Sprint(bank["documents"]) == fmt.Sprint(files-1) && fmt.Sprint(counts["ready"]) == fmt.Sprint(files-1)
	})
	c.Must("DELETE", path, nil)
	if n := c.Must("GET", "/v1/banks/followed", nil)["documents"]; fmt.Sprint(n) != "0" {
		t.Errorf("%v documents are left of a deleted source", n)
	}
}

// counted is the progress of a sync as REST has it.
func counted(added, updated, unchanged, removed int) map[string]any {
	return map[string]any{
		"added": added, "updated": updated, "unchanged": unchanged, "removed": removed, "failed": 0, "total": added + updated + unchanged,
	}
}
