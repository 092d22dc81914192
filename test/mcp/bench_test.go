package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// BenchmarkCall makes calls of one tool directly and through the mesh, one after the other and 64 at once, and reports the medians and what
// the mesh adds. Run it with -benchtime 2000x.
func BenchmarkCall(b *testing.B) {
	up := harness.Up(b, b.TempDir(), nil)
	server := harness.Start(b, "conformance", nil, harness.Bin(b, "examples/conformance"), "--legacy", "--http", "127.0.0.1:0")
	direct, _ := server.Ready["url"].(string)
	up.Client.Must("POST", "/v1/sources", harness.JSON{"name": legacy, "kind": "mcp", "url": direct})
	for _, row := range []struct {
		name    string
		callers int
	}{{"one", 1}, {"64 at once", 64}} {
		b.Run(row.name, func(b *testing.B) {
			floor, floorRate := calls(b, direct, "test_simple_text", row.callers)
			through, rate := calls(b, up.Client.Base+"/mcp", legacy+"__test_simple_text", row.callers)
			b.ReportMetric(float64(floor.Microseconds()), "direct-p50-us")
			b.ReportMetric(float64(through.Microseconds()), "mcp-p50-us")
			b.ReportMetric(float64((through - floor).Microseconds()), "added-us")
			b.ReportMetric(rate/floorRate, "rate/direct")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// calls returns the median of b.N calls and how many there were in a second.
func calls(b *testing.B, url, tool string, callers int) (time.Duration, float64) {
	b.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: callers}
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport}
	post := func(session string, m harness.JSON) string {
		body, err := json.Marshal(m)
		harness.Must(b, err)
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, bytes.NewReader(body))
		harness.Must(b, err)
		req.Header = http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {session},
		}
		res, err := c.Do(req)
		harness.Must(b, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		harness.Must(b, err)
		if m["method"] == "tools/call" && !bytes.Contains(text, []byte("simple text response")) {
			b.Fatalf("%s: %s", res.Status, text)
		}
		return res.Header.Get("Mcp-Session-Id")
	}
	session := post("", harness.JSON{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": harness.JSON{
		"protocolVersion": oldest, "capabilities": harness.JSON{}, "clientInfo": harness.JSON{"name": "bench", "version": "1"},
	}})
	post(session, harness.JSON{"jsonrpc": "2.0", "method": "notifications/initialized"})
	var (
		mu   sync.Mutex
		took []time.Duration
		all  sync.WaitGroup
	)
	work := make(chan int)
	begin := time.Now()
	for range callers {
		all.Go(func() {
			for id := range work {
				start := time.Now()
				post(session, harness.JSON{
					"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": harness.JSON{"name": tool, "arguments": harness.JSON{}},
				})
				mu.Lock()
				took = append(took, time.Since(start))
				mu.Unlock()
			}
		})
	}
	for id := range b.N {
		work <- id + 1
	}
	close(work)
	all.Wait()
	rate := float64(b.N) / time.Since(begin).Seconds()
	slices.Sort(took)
	return took[len(took)/2], rate
}
