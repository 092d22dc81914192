package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testnpm"
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

// TestABankFollowsResourcesOfTheReferenceServer: the documents that it serves are found in a search.
func TestABankFollowsResourcesOfTheReferenceServer(t *testing.T) {
	t.Parallel()
	c := client(t)
	c.Must("POST", "/v1/sources", harness.JSON{
		"name": "reference", "kind": "mcp", "command": append(testnpm.Program(t, "server-everything"), "stdio"),
	})
	c.Must("POST", "/v1/banks", harness.JSON{"id": "resources"})
	const all = "/v1/banks/resources/sources"
	path := all + "/" + c.Must("POST", all, harness.JSON{
		"kind": "mcp", "mcp_source": "reference", "uri": "demo://resource/static/document/{name}.md",
	}).Str("id")
	var synced harness.JSON
	until(t, "the resources are synced", func() bool {
		synced = c.Must("GET", path, nil)
		return synced.Str("state") == "synced" || synced.Str("state") == "failed"
	})
	progress, _ := synced["progress"].(map[string]any)
	if added, _ := progress["added"].(float64); added < 3 || progress["failed"] != 0.0 {
		t.Fatalf("the source is %v", synced)
	}
	until(t, "they are found", func() bool {
		found := c.Must("POST", "/v1/banks/resources:search", harness.JSON{"query": "architecture of the server"})
		return strings.Contains(fmt.Sprint(found["results"]), "reference/demo://resource/static/document/architecture.md")
	})
	c.Must("POST", path+":sync", nil)
	until(t, "they are synced again", func() bool {
		synced = c.Must("GET", path, nil)
		return synced.Str("state") == "synced"
	})
	if again, _ := synced["progress"].(map[string]any); again["unchanged"] != progress["added"] {
		t.Errorf("the second sync: %v after %v", synced, progress)
	}
}

// counted is the progress of a sync as REST has it.
func counted(added, updated, unchanged, removed int) map[string]any {
	return map[string]any{
		"added": added, "updated": updated, "unchanged": unchanged, "removed": removed, "failed": 0, "total": added + updated + unchanged,
	}
}
