package gateway_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// TestHostileBodiesAreRefused sends bodies within the size limit that are made to be expensive.
func TestHostileBodiesAreRefused(t *testing.T) {
	s := serve(t, nil)
	const size = 1 << 20
	nested := func(n int, open, end string) string { return strings.Repeat(open, n) + strings.Repeat(end, n) }
	members := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, row := range []struct {
		name, path, body string
		headers          []string
		status           int
		detail           string
	}{
		{name: "brackets without end", path: "/v1/agents", body: strings.Repeat("[", size), status: 400, detail: "nested"},
		{name: "braces without end", path: "/v1/agents", body: strings.Repeat(`{"a":`, size/5), status: 400, detail: "nested"},
		{
			name: "deep arguments", path: "/v1/tools/a:invoke", body: `{"arguments":{"a":` + nested(5000, "[", "]") + `}}`, status: 400,
			detail: "nested",
		},
		{
			name: "deep arguments, objects", path: "/v1/tools/a:invoke",
			body: `{"arguments":` + strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5001), status: 400, detail: "nested",
		},
		{name: "an unknown field that is deep", path: "/v1/chat", body: `{"x":` + nested(9000, "[", "]") + `}`, status: 400, detail: "nested"},
		{name: "many unknown fields", path: "/v1/chat", body: `{` + members(60_000, `"f%d":1,`) + `"z":1}`, status: 400},
		{
			name: "one field again and again", path: "/v1/chat", body: `{` + strings.Repeat(`"message":"x",`, 60_000) + `"message":"y"}`,
			status: 400,
		},
		{
			name: "one argument again and again", path: "/v1/tools/a:invoke", body: `{"arguments":{` + strings.Repeat(`"a":1,`, 60_000) + `"a":2}}`,
			status: 400,
		},
		{name: "a large exponent for a whole number", path: "/v1/agents", body: `{"id":"a","limits":{"max_steps":1e400000000}}`, status: 400},
		{name: "a small exponent for a whole number", path: "/v1/agents", body: `{"id":"a","limits":{"max_steps":1e-400000000}}`, status: 400},
		// A tool's numbers are passed on as they are written; the registry refuses those that its schema cannot be checked against.
		{name: "a large exponent in arguments", path: "/v1/tools/a:invoke", body: `{"arguments":{"n":1e400000000}}`, status: 200},
		{name: "many digits", path: "/v1/tools/a:invoke", body: `{"arguments":{"n":` + strings.Repeat("9", size) + `}}`, status: 200},
		{
			name: "many digits for a whole number", path: "/v1/agents", body: `{"id":"a","limits":{"max_steps":` + strings.Repeat("9", size) + `}}`,
			status: 400,
		},
		{
			name: "a list of 500,000 items", path: "/v1/agents", body: `{"id":"a","tools":[` + strings.Repeat(`"",`, size/3) + `""]}`, status: 400,
			detail: "values",
		},
		{
			name: "as many items as there may be", path: "/v1/agents", body: `{"id":"a","tools":[` + strings.Repeat(`"",`, 99_000) + `""]}`,
			status: 400,
		},
		{
			name: "empty objects", path: "/v1/agents", body: `{"id":"a","instruction_rules":[` + strings.Repeat(`{},`, size/3) + `{}]}`, status: 400,
			detail: "values",
		},
		{
			name: "as many empty objects as there may be", path: "/v1/agents",
			body: `{"id":"a","approvals":[` + strings.Repeat(`{},`, 49_000) + `{}]}`, status: 400,
		},
		{
			name: "compressed", path: "/v1/chat", body: "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\x00",
			headers: []string{"Content-Encoding", "gzip"}, status: 400,
		},
		{name: "too large", path: "/v1/chat", body: `{"message":"` + strings.Repeat("x", 3*size) + `"}`, status: 413},
		{
			name: "a long header", path: "/v1/chat", body: `{"message":"x"}`, headers: []string{"X-Long", strings.Repeat("x", 200<<10)},
			status: 431,
		},
		{name: "a long address", path: "/v1/agents?page_token=" + strings.Repeat("x", 200<<10), body: `{}`, status: 431},
	} {
		t.Run(row.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			a := s.do(http.MethodPost, row.path, row.body, row.headers...)
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > 512<<20 { // in total, not at one time; includes the client's share
				t.Errorf("allocated %d MiB", got>>20)
			}
			if a.status != row.status || !strings.Contains(string(a.body), row.detail) {
				t.Errorf("got %d %.300s, want %d", a.status, a.body, row.status)
			}
			if len(a.body) > 64<<10 {
				t.Errorf("the answer has %d bytes", len(a.body))
			}
		})
	}
}

// TestNestingThatIsFine: schemas and arguments may be nested as deep as they need.
func TestNestingThatIsFine(t *testing.T) {
	s := serve(t, nil)
	body := `{"arguments":{"text":"[[[{{{\"","a":` + strings.Repeat("[", 150) + strings.Repeat("]", 150) + `}}`
	if a := s.do(http.MethodPost, "/v1/tools/a:invoke", body); a.status == http.StatusBadRequest {
		t.Errorf("got %d %s", a.status, a.body)
	}
}

// TestABodyThatIsAnnouncedTooLarge is rejected before it is sent.
func TestABodyThatIsAnnouncedTooLarge(t *testing.T) {
	s := serve(t, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/chat HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", conn.RemoteAddr(),
		60<<20)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("got %s", res.Status)
	}
}
