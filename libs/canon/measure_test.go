package canon_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/canon"
)

func TestMeasure(t *testing.T) {
	for text, want := range map[string][2]int{
		``: {1, 0}, `7`: {1, 0}, `[]`: {2, 1}, `[1,2]`: {3, 1}, `{"a":{"b":[0]}}`: {4, 3}, `"[{,\"["`: {1, 0}, `["a\\",[]]`: {4, 2},
		`]]][`: {2, 0}, `"\`: {1, 0},
	} {
		if values, depth := canon.Measure([]byte(text)); values != want[0] || depth != want[1] {
			t.Errorf("%s: %d values, %d deep, want %v", text, values, depth, want)
		}
	}
}
