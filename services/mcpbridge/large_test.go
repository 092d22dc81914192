//go:build !race

package mcpbridge_test

import (
	"fmt"
	"strings"
	"testing"

	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
)

func TestATooLargeResultIsRefused(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *mcpbridgev1.Server, _ *toolServer) {
		b := newBridge(t)
		b.discover(t, s)
		sizes := []int{9 << 20, 17 << 20}
		switch {
		case s.GetName() == "sse", s.GetName() == "stdio legacy":
			sizes = sizes[:1] // over SSE the only stream of responses ends with a response over the limit
		case strings.Contains(s.GetName(), "modern"):
			sizes = []int{60 << 20}
		}
		for _, size := range sizes {
			_, res, err := b.call(t.Context(), s, "big", fmt.Sprintf(`{"bytes":%d}`, size))
			if err != nil || !res.GetIsError() || !strings.Contains(text(res), "TOO_LARGE") {
				t.Errorf("%d bytes: got %v %.100v", size, err, res)
			}
		}
		if got := text(b.must(t, s, "echo", `{"text":"next"}`)); got != "next" {
			t.Errorf("after it: got %q", got)
		}
	})
}

func TestS10ListsAreBounded(t *testing.T) {
	for name, row := range map[string]struct{ list, want string }{
		"the same page again":   {`{"tools":[],"nextCursor":"x"}`, "same page twice"},
		"nameless are left out": {`{"tools":[{"description":"?"},7,{"name":"ok","inputSchema":{"type":"object"}}]}`, ""},
		"no list":               {`7`, "no MCP"},
		"a schema that expands is left out": {`{"tools":[{"name":"bomb","inputSchema":` + bomb(30) +
			`},{"name":"ok","inputSchema":{"type":"object"}}]}`, ""},
		"so is one of what it gives": {`{"tools":[{"name":"bomb","inputSchema":{"type":"object"},"outputSchema":` + bomb(30) +
			`},{"name":"ok","inputSchema":` + bomb(3) + `}]}`, ""},
		"a deep schema is left out": {`{"tools":[{"name":"bomb","inputSchema":` + strings.Repeat(`{"not":`, 3000) + `{}` +
			strings.Repeat("}", 3000) + `},{"name":"ok","inputSchema":{}}]}`, ""},
		"a number without end is left out": {
			`{"tools":[{"name":"bomb","inputSchema":{"maximum":1e400000000}},{"name":"ok","inputSchema":{}}]}`,
			"",
		},
		"what refers to the world is kept": {`{"tools":[{"name":"ok","inputSchema":{"$ref":"http://127.0.0.1:1/s.json"}}]}`, ""},
		"a million of nothing":             {`{"tools":[` + strings.Repeat("{},", 1_000_000) + `{}]}`, "values"},
		"nameless ones count":              {`{"tools":[` + strings.Repeat("{},", 30_000) + `{}]}`, "more than 10000 tools"},
		"one tool again and again": {
			`{"tools":[` + strings.Repeat(`{"name":"x","inputSchema":{}},`, 21_000) + `{}]}`,
			"more than 10000 tools",
		},
		"more bytes than a list may have": {`{"tools":[` +
			strings.Repeat(`{"name":"x","inputSchema":{},"description":"`+strings.Repeat("x", 1<<20)+`"},`, 16) + `{"name":"y"}]}`, "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &mcpbridgev1.Server{Id: "src_x", Url: serve(t, &script{result: map[string]string{"tools/list": row.list}}).URL}
			res, err := newBridge(t).Discover(t.Context(), &mcpbridgev1.DiscoverRequest{Server: s})
			if row.want == "" {
				if err != nil || len(res.GetTools()) != 1 {
					t.Errorf("got %v %v", res, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}
