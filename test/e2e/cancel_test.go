package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// maxReach is how long a cancel may take to the model's and the tool's server.
const maxReach = 2 * time.Second

// TestCancelReachesTheModel: the connection to the model is closed, its partial output and usage are kept, and nothing leaks.
func TestCancelReachesTheModel(t *testing.T) {
	t.Parallel()
	gone := make(chan time.Time, 64)
	model := harness.NewModel(t, func(int, []any) harness.Answer {
		return harness.Answer{Words: []string{"so ", "far ", "never"}, Stop: func(sent int, left <-chan struct{}) {
			if sent == 2 {
				<-left
				gone <- time.Now()
			}
		}}
	})
	up := harness.Up(t, t.TempDir(), model.Env())
	c := up.Client
	c.Must("POST", "/v1/agents", harness.JSON{"id": "a"})
	limit := budget(c, harness.JSON{"scope": "tenant", "max_tokens": 1_000_000})
	var before int
	var tokens float64
	for i := range 20 { // the first ones open connections and pools that stay
		if i == 10 {
			before = goroutines(t, c)
		}
		turn := c.Turn(c.Session("a"), "tell a story")
		w := c.Watch("/v1/turns/" + turn + "/events")
		w.Until("the second word", func(e harness.Event) bool { return strings.Contains(e.Data.Str("text"), "far") })
		from := time.Now()
		c.Must("POST", "/v1/turns/"+turn+":cancel", harness.JSON{"reason": "enough"})
		end := c.Wait(turn)
		if took := (<-gone).Sub(from); took > maxReach {
			t.Errorf("the model was let go after %v", took)
		}
		usage, _ := end["usage"].(map[string]any)
		if end.Str("status") != "cancelled" || end.Str("output") != "so far " || usage["model_calls"] != 1.0 {
			t.Errorf("turn = %v", end)
		}
		input, _ := usage["input_tokens"].(float64)
		output, _ := usage["output_tokens"].(float64)
		if input == 0 || output == 0 {
			t.Errorf("usage = %v", usage)
		}
		tokens += input + output
		harness.CheckStream(t, w.End())
	}
	// What each call used until then is counted in its turn, and once in the budget.
	if b := c.Must("GET", "/v1/budgets/"+limit, nil); fieldOf(b, "used_tokens") != fmt.Sprint(tokens) || fieldOf(b, "reserved_tokens") != "0" {
		t.Errorf("the turns used %v tokens, the budget has %v", tokens, b)
	}
	if !harness.Eventually(time.Minute, func() bool { return goroutines(t, c) <= before+10 }) {
		t.Errorf("%d goroutines after the cancels, %d before", goroutines(t, c), before)
	}
}

var goroutineCount = regexp.MustCompile(`(?m)^go_goroutines(?:\{[^}]*\})? (\d+)`)

func goroutines(t *testing.T, c *harness.Client) int {
	t.Helper()
	resp, err := c.HTTP.Get(c.Base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("metrics: %d %v", resp.StatusCode, err)
	}
	found := goroutineCount.FindSubmatch(raw)
	if found == nil {
		t.Fatal("the metrics do not count goroutines")
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCancelReachesTheTool: a tool server is notified of a cancel over each transport, even if the tool may have had side effects.
func TestCancelReachesTheTool(t *testing.T) {
	t.Parallel()
	c := client(t)
	dir := t.TempDir()
	overStdio, overHTTP := filepath.Join(dir, "stdio"), filepath.Join(dir, "http")
	server := harness.Start(t, "faulty", nil, harness.Bin(t, "examples/faulty"), "--http", "127.0.0.1:0", "--ledger", overHTTP)
	for ledger, source := range map[string]harness.JSON{
		overStdio: {"name": "cancel-stdio", "command": []string{harness.Bin(t, "examples/faulty"), "--ledger", overStdio}},
		overHTTP:  {"name": "cancel-http", "url": server.Ready["url"]},
	} {
		name := source.Str("name")
		t.Run(name, func(t *testing.T) {
			source["kind"] = "mcp"
			c.Must("POST", "/v1/sources", source)
			c.Must("POST", "/v1/agents", harness.JSON{"id": name, "model": "builtin/scripted", "tools": []string{name + "__*"}})
			turn := c.Turn(c.Session(name), fmt.Sprintf(`call:%s__slow_once {"call_id":"c"}`, name))
			if !harness.Eventually(time.Minute, func() bool { return lines(t, ledger, false) == 1 }) {
				t.Fatal("the tool server gets no call")
			}
			from := time.Now()
			c.Must("POST", "/v1/turns/"+turn+":cancel", harness.JSON{})
			end := c.Wait(turn)
			told := harness.Eventually(max(maxReach-time.Since(from), time.Millisecond), func() bool { return lines(t, ledger, true) == 1 })
			if end.Str("status") != "cancelled" || !told {
				t.Errorf("the turn is %s after %v, the tool server was told: %t", end.Str("status"), time.Since(from), told)
			}
			rows := func() harness.JSON {
				list, _ := c.Must("GET", "/v1/executions?turn_id="+turn, nil)["executions"].([]any)
				row, _ := list[0].(map[string]any)
				return row
			}
			if !harness.Eventually(time.Minute, func() bool { return rows().Str("state") == "unresolved" }) {
				t.Errorf("the ledger has %v, want it unresolved", rows())
			}
		})
	}
}

// lines counts what a tool server wrote down: calls, or cancels.
func lines(t *testing.T, ledger string, cancels bool) int {
	t.Helper()
	file, err := os.Open(ledger)
	if err != nil {
		return 0
	}
	defer file.Close()
	n := 0
	for sc := bufio.NewScanner(file); sc.Scan(); {
		var line harness.JSON
		if json.Unmarshal(sc.Bytes(), &line) == nil && (line["cancelled"] == true) == cancels {
			n++
		}
	}
	return n
}
