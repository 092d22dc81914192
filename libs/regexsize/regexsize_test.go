package regexsize_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/regexsize"
)

func TestOf(t *testing.T) {
	for text, want := range map[string]struct{ instructions, ranges int }{
		"":               {1, 0},
		"abc":            {4, 0},
		"[a-z]":          {1, 1},
		"[a-z]{1,1000}N": {1000, 1000},
		`(\pL{1,1000})N`: {1000, 100_000},
	} {
		got, err := regexsize.Of(text)
		if err != nil || got.Instructions < want.instructions || got.Ranges < want.ranges ||
			got.Instructions > 4*want.instructions || got.Ranges > 10*want.ranges {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	if _, err := regexsize.Of("("); err == nil {
		t.Error("( is an expression")
	}
}
