package e2e

import (
	"fmt"
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestAKillLosesOnlyTheLastRecordsOfReads kills a mesh right after it answered calls that only read, whose records follow the answer (ADR
// 38). Whatever was read before the kill is on record; of the calls after it, those that are lost are the last ones. Nothing of a call is
// left half done: the trail is whole, and the same calls can be made again.
func TestAKillLosesOnlyTheLastRecordsOfReads(t *testing.T) {
	t.Parallel()
	server := harness.Start(t, "calculator", nil, harness.Bin(t, "examples/calculator"), "--http", "127.0.0.1:0")
	dir := t.TempDir()
	up := harness.Up(t, dir, nil)
	source := up.Client.Must("POST", "/v1/sources", harness.JSON{"name": "calc", "kind": "mcp", "url": server.Ready["url"]})
	up.Client.Must("POST", "/v1/sources/"+source.Str("id")+":sync", harness.JSON{})

	var called []string // the ids of the executions, in their order
	read := func(n int) {
		for range n {
			got := invoke(up.Client, "calc__evaluate", harness.JSON{"expression": fmt.Sprint(len(called), " + 1")})
			called = append(called, got.Str("execution_id"))
		}
	}
	recorded := func() (ids []string) {
		found, _ := up.Client.Must("GET", "/v1/executions?tool=calc__evaluate&page_size=1000", nil)["executions"].([]any)
		for _, e := range found { // newest first
			e := harness.JSON(e.(map[string]any))
			if e.Str("state") != "done" {
				t.Errorf("execution %v", e)
			}
			ids = append(ids, e.Str("id"))
		}
		slices.Reverse(ids)
		return ids
	}
	read(20)
	if got := recorded(); !slices.Equal(got, called) { // a reader of the same process waits for the records
		t.Fatalf("%d calls are on record, want all 20", len(got))
	}
	read(20)
	up.Kill()

	up = harness.Up(t, dir, nil)
	got := recorded()
	if len(got) < 20 || len(got) > len(called) || !slices.Equal(got, called[:len(got)]) {
		t.Errorf("on record are\n%v\nof the calls\n%v", got, called)
	}
	t.Logf("%d of %d calls are on record after the kill; 20 were read before", len(got), len(called))
	if v := up.Client.Must("GET", "/v1/audit:verify", nil); v["intact"] != true {
		t.Errorf("audit trail: %v", v)
	}
	called = got
	read(5)
	if again := recorded(); !slices.Equal(again, called) {
		t.Errorf("after the restart on record are\n%v\nof the calls\n%v", again, called)
	}
}
