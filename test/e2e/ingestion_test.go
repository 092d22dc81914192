package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestIngestionSurvivesItsWorker kills the worker and the knowledge service at random while documents are ingested. In the end each
// document is ready, and each of its chunks exists once.
func TestIngestionSurvivesItsWorker(t *testing.T) {
	t.Parallel()
	const documents, kills = 20, 4
	m := harness.Split(t, harness.SplitOptions{Env: []string{"WINDLASS_KNOWLEDGE_SWEEP_INTERVAL=500ms"}})
	c := m.Client
	c.Must("POST", "/v1/banks", harness.JSON{"id": "handbook"})
	var ids []string
	for i := range documents {
		ids = append(ids, c.Must("POST", "/v1/banks/handbook/documents", harness.JSON{
			"name": fmt.Sprintf("page-%d.md", i), "text": chapters(i),
		}).Str("id"))
		if i%(documents/kills) == documents/kills-1 { // some are under way
			role := []string{"worker", "knowledge"}[rand.IntN(2)]
			t.Logf("restart %s", role)
			m.Restart(m.Members(role)[0])
		}
	}
	var chunks float64
	for _, id := range ids {
		var d harness.JSON
		until(t, "document "+id+" is ready", func() bool {
			d = c.Must("GET", "/v1/banks/handbook/documents/"+id, nil)
			return d.Str("state") == "ready"
		})
		n, _ := d["chunks"].(float64)
		chunks += n
		if n == 0 || d.Str("version") != d.Str("latest_version") {
			t.Errorf("document %v", d)
		}
	}
	bank := c.Must("GET", "/v1/banks/handbook", nil)
	if fmt.Sprint(bank["documents"]) != fmt.Sprint(documents) || fmt.Sprint(bank["chunks"]) != fmt.Sprint(int(chunks)) {
		t.Errorf("bank %v, want %d documents with %v chunks", bank, documents, chunks)
	}
	m.Replay(t, c.Must("GET", "/v1/banks/handbook/documents/"+ids[0], nil).Str("version"))
}

// chapters is a text of some chapters, different for each i.
func chapters(i int) string {
	var b strings.Builder
	for n := range 10 {
		fmt.Fprintf(&b, "# Chapter %d of %d\n\n%s\n\n", n, i, strings.Repeat(fmt.Sprintf("The wording of page %d is long enough. ", i), 20))
	}
	return b.String()
}
