package e2e

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestASourceThatIsGoneFailsFast: after calls in vain for longer than a restart takes, nobody waits for it any more, until it is back.
func TestASourceThatIsGoneFailsFast(t *testing.T) {
	t.Parallel()
	c := client(t)
	server := harness.Start(t, "faulty", nil, harness.Bin(t, "examples/faulty"), "--http", "127.0.0.1:0")
	where, err := url.Parse(server.Ready["url"].(string))
	if err != nil {
		t.Fatal(err)
	}
	c.Must("POST", "/v1/sources", harness.JSON{"name": "away", "kind": "mcp", "url": where.String()})
	breaker := func() string { return c.Must("GET", "/v1/sources/away", nil).Str("breaker") }
	call := func() (int, string) {
		status, out, err := c.Do(t.Context(), "POST", "/v1/tools/away__echo:invoke", harness.JSON{
			"arguments": harness.JSON{"message": "hello"}, "fresh": true,
		})
		if err != nil {
			t.Fatal(err)
		}
		return status, out.Str("detail")
	}
	if status, text := call(); status != 200 || breaker() != "closed" {
		t.Fatalf("while it is there: %d %s", status, text)
	}
	server.Kill()
	if !harness.Eventually(time.Minute, func() bool {
		status, text := call()
		return status == 503 && strings.Contains(text, "could not be reached 6 times in a row")
	}) || breaker() == "closed" {
		t.Fatalf("after calls in vain the breaker is %s", breaker())
	}
	harness.Start(t, "faulty again", nil, harness.Bin(t, "examples/faulty"), "--http", where.Host)
	if !harness.Eventually(time.Minute, func() bool { status, _ := call(); return status == 200 }) {
		_, text := call()
		t.Errorf("it is back, and the breaker is %s: %s", breaker(), text)
	}
	if got := breaker(); got != "closed" {
		t.Errorf("it is back, and the breaker is %s", got)
	}
}
