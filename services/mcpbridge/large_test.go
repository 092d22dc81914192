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
