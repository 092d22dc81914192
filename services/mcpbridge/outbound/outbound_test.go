package outbound_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/services/mcpbridge/outbound"
)

func TestBodiesAreBounded(t *testing.T) {
	for name, row := range map[string]struct {
		body     string
		events   bool
		tooLarge bool
	}{
		"a body at the limit":               {strings.Repeat("x", 16), false, false},
		"a body over the limit":             {strings.Repeat("x", 17), false, true},
		"a stream of small events":          {strings.Repeat("data:1\n\n", 100), true, false},
		"a stream with CR LF":               {strings.Repeat("data:1\r\n\r\n", 100), true, false},
		"an event over the limit":           {"data:1\n\ndata:2345678901234567\n\n", true, true},
		"an event of many lines over it":    {strings.Repeat("data:1\n", 3), true, true},
		"a body that is no stream of lines": {"data:1\n\ndata:1\n\ndata:1", false, true},
	} {
		noted, done := false, false
		b := &outbound.Body{
			ReadCloser: io.NopCloser(iotest{strings.NewReader(row.body)}), Limit: 16, Events: row.events,
			TooLarge: func() { noted = true }, Done: func() { done = true },
		}
		_, err := io.ReadAll(b)
		if errors.Is(err, egress.ErrTooLarge) != row.tooLarge || noted != row.tooLarge {
			t.Errorf("%s: %v, noted %t", name, err, noted)
		}
		if b.Close(); !done {
			t.Errorf("%s: not done", name)
		}
	}
}

// iotest reads three bytes at a time.
type iotest struct{ io.Reader }

func (r iotest) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(3, len(p))]) }
