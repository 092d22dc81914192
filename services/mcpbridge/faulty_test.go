package mcpbridge_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge/watch"
)

// TestFaultyExample runs the tool server of our crash tests, whose ledger records how often a call arrived.
func TestFaultyExample(t *testing.T) {
	programs := os.Getenv("WINDLASS_TEST_BIN")
	if programs == "" {
		t.Skip("WINDLASS_TEST_BIN is not set: no example to test with (make test sets it)")
	}
	program, ledger := filepath.Join(programs, "examples", "faulty"), filepath.Join(t.TempDir(), "ledger")
	s := &mcpbridgev1.Server{Id: "src_faulty", Command: []string{program, "--ledger", ledger}}
	b := newBridge(t)
	next := b.watch(t)
	b.discover(t, s)
	if e := next(); e.GetChange() != watch.Connected {
		t.Fatalf("got %v", e)
	}

	if progress, _, err := b.call(t.Context(), s, "progress", `{"count":200}`); err != nil || len(progress) < 190 {
		t.Errorf("progress: got %d of 200, %v", len(progress), err)
	}
	if res := b.must(t, s, "big", `{"bytes":20971520}`); !res.GetIsError() || !strings.Contains(text(res), "TOO_LARGE") {
		t.Errorf("big: got %.100v", res)
	}
	if res := b.must(t, s, "fail", `{"message":"no"}`); !res.GetIsError() {
		t.Errorf("fail: got %v", res)
	}
	b.must(t, s, "add_tool", `{"name":"late"}`)
	if e := next(); e.GetChange() != watch.ToolsChanged {
		t.Errorf("got %v", e)
	}

	_, _, err := b.call(t.Context(), s, "crash", `{"call_id":"only once"}`)
	if !fault.Is(err, faultv1.Reason_REASON_OUTCOME_UNKNOWN) {
		t.Errorf("crash: got %v", err)
	}
	if res := b.must(t, s, "idempotent", `{"call_id":"after"}`); res.GetIsError() {
		t.Errorf("after the crash: got %v", res)
	}
	lines, err := os.ReadFile(ledger)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(lines, []byte("only once")); n != 1 {
		t.Errorf("the crashing call arrived %d times: %s", n, lines)
	}
}
