package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/examples/faulty/fault"
	"github.com/windlass-dev/windlass/examples/internal/toolservertest"
)

func TestMain(m *testing.M) { toolservertest.Main(m, main) }

// overEach runs a test over both transports.
func overEach(t *testing.T, test func(t *testing.T, connect func(args ...string) *client.Client)) {
	t.Run("stdio", func(t *testing.T) {
		test(t, func(args ...string) *client.Client { return toolservertest.Stdio(t, args...) })
	})
	t.Run("http", func(t *testing.T) {
		test(t, func(args ...string) *client.Client { return toolservertest.Dial(t, toolservertest.HTTP(t, args...)) })
	})
}

// awaitLedger waits until the ledger has n entries.
func awaitLedger(t *testing.T, path string, n int) []fault.Entry {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		entries, err := fault.ReadLedger(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) >= n {
			return entries
		}
		<-tick.C
	}
}

func TestSlowOnceRecordsOnArrivalAndWaitsForTheFile(t *testing.T) {
	overEach(t, func(t *testing.T, connect func(...string) *client.Client) {
		dir := t.TempDir()
		ledger, release := filepath.Join(dir, "ledger"), filepath.Join(dir, "release")
		c := connect("--ledger", ledger)
		request := toolservertest.Request("slow_once",
			map[string]any{"call_id": "c1", "argument": "two words\nand a line", "release_file": release},
			map[string]any{fault.IdempotencyKey: "key-1", "tenant": "t1"})
		returned := make(chan string, 1)
		go func() {
			result, err := c.CallTool(t.Context(), request)
			if err != nil || result.IsError {
				t.Errorf("slow_once: %v %v", result, err)
			}
			returned <- toolservertest.Structured[fault.Entry](t, result).Argument
		}()

		entry := awaitLedger(t, ledger, 1)[0]
		if entry.CallID != "c1" || entry.Argument != "two words\nand a line" || entry.Tool != "slow_once" ||
			entry.IdempotencyKey != "key-1" || entry.Meta["tenant"] != "t1" {
			t.Errorf("ledger: %+v", entry)
		}
		select {
		case <-returned:
			t.Error("returned before it was released")
		default:
		}
		if err := os.WriteFile(release, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := toolservertest.Await(t, returned, "result"); got != "two words\nand a line" {
			t.Errorf("result %q", got)
		}
	})
}

func TestSlowOnceEndsByTime(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "ledger")
	c := toolservertest.Stdio(t, "--ledger", ledger)
	toolservertest.Call[fault.Entry](t, c, "slow_once", map[string]any{"call_id": "c1", "ms": 20})
	if n := len(awaitLedger(t, ledger, 1)); n != 1 {
		t.Errorf("%d ledger lines, want 1", n)
	}
}

func TestRepeatedCallsShowInTheLedger(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "ledger")
	c := toolservertest.Stdio(t, "--ledger", ledger)
	for range 2 {
		request := toolservertest.Request("idempotent", map[string]any{}, map[string]any{fault.IdempotencyKey: "key-1"})
		if result, err := c.CallTool(t.Context(), request); err != nil || result.IsError {
			t.Fatalf("idempotent: %v %v", result, err)
		}
	}
	entries := awaitLedger(t, ledger, 2)
	if len(entries) != 2 || entries[0].CallID != "key-1" || entries[1].IdempotencyKey != "key-1" {
		t.Errorf("ledger: %+v", entries)
	}
}

func TestCrashRecordsThenDies(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "ledger")
	c := toolservertest.Stdio(t, "--ledger", ledger)
	if _, err := c.CallTool(t.Context(), toolservertest.Request("crash", map[string]any{"call_id": "c1"}, nil)); err == nil {
		t.Error("a call of crash returned")
	}
	if entries := awaitLedger(t, ledger, 1); entries[0].Tool != "crash" {
		t.Errorf("ledger: %+v", entries)
	}
	// The ledger outlives its process.
	c = toolservertest.Stdio(t, "--ledger", ledger)
	toolservertest.Call[fault.Entry](t, c, "idempotent", map[string]any{"call_id": "c2"})
	entries := awaitLedger(t, ledger, 2)
	if entries[0].PID == entries[1].PID {
		t.Error("both calls were served by one process")
	}
}

func TestEchoFailBig(t *testing.T) {
	overEach(t, func(t *testing.T, connect func(...string) *client.Client) {
		c := connect()
		echoed := toolservertest.Call[map[string]any](t, c, "echo", map[string]any{"message": "hi", "n": 1.5})
		if echoed["message"] != "hi" || echoed["n"] != 1.5 {
			t.Errorf("echo: %v", echoed)
		}
		if text := toolservertest.CallError(t, c, "fail", map[string]any{"message": "no luck"}); text != "no luck" {
			t.Errorf("fail: %s", text)
		}
		result, err := c.CallTool(t.Context(), toolservertest.Request("big", map[string]any{"bytes": 1 << 20}, nil))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(toolservertest.Text(t, result)); n != 1<<20 {
			t.Errorf("big: %d bytes", n)
		}
		toolservertest.CallError(t, c, "big", map[string]any{"bytes": -1})
	})
}

func TestProgressArrivesCompleteBeforeTheResult(t *testing.T) {
	overEach(t, func(t *testing.T, connect func(...string) *client.Client) {
		c := connect()
		const count = 250 // more than mcp-go queues
		seen := make(chan int, count)
		c.OnNotification(func(n mcp.JSONRPCNotification) {
			if step, ok := n.Params.AdditionalFields["progress"].(float64); ok && n.Params.AdditionalFields["progressToken"] == "p1" {
				seen <- int(step)
			}
		})
		request := toolservertest.Request("progress", map[string]any{"count": count}, map[string]any{"progressToken": "p1"})
		if result, err := c.CallTool(t.Context(), request); err != nil || result.IsError {
			t.Fatalf("progress: %v %v", result, err)
		}
		steps := make([]int, count)
		for i := range steps {
			steps[i] = toolservertest.Await(t, seen, "progress")
		}
		slices.Sort(steps)
		if steps[0] != 1 || steps[count-1] != count {
			t.Errorf("steps from %d to %d, want 1 to %d", steps[0], steps[count-1], count)
		}
	})
}

func TestChangedToolsAreAnnounced(t *testing.T) {
	overEach(t, func(t *testing.T, connect func(...string) *client.Client) {
		c := connect()
		listening, changed := make(chan struct{}, 1), make(chan struct{}, 16)
		c.OnNotification(func(n mcp.JSONRPCNotification) {
			switch n.Method {
			case mcp.MethodNotificationSubscriptionsAcknowledged:
				listening <- struct{}{}
			case mcp.MethodNotificationToolsListChanged:
				changed <- struct{}{}
			}
		})
		stop, err := c.ListenAsync(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		toolservertest.Await(t, listening, "acknowledgement")
		if _, before := toolservertest.Tools(t, c)["extra"]; before {
			t.Fatal("the tool is there before it was added")
		}
		toolservertest.Call[any](t, c, "add_tool", map[string]any{"name": "extra", "description": "One more."})
		toolservertest.Await(t, changed, "list_changed")
		if got := toolservertest.Tools(t, c)["extra"].Description; got != "One more." {
			t.Errorf("description of the added tool: %q", got)
		}
		if got := toolservertest.Call[map[string]any](t, c, "extra", map[string]any{"message": "x"}); got["message"] != "x" {
			t.Errorf("call of the added tool: %v", got)
		}
		toolservertest.Call[any](t, c, "remove_tool", map[string]any{"name": "extra"})
		toolservertest.Await(t, changed, "list_changed")
		if _, after := toolservertest.Tools(t, c)["extra"]; after {
			t.Error("the tool is there after it was removed")
		}
		toolservertest.CallError(t, c, "add_tool", map[string]any{"name": "no spaces"})
	})
}
