package testmain_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
)

// TestEachShareHasItsDay: days that follow each other have all shares, also over the end of a month.
func TestEachShareHasItsDay(t *testing.T) {
	t.Setenv(testmain.WholeEnv, "")
	seen := map[int]bool{}
	for _, day := range []string{"20261129", "20261130", "20261201"} {
		t.Setenv(testmain.ShuffleEnv, day)
		share, ok := testmain.Share("a test", 3)
		if !ok || share < 0 || share > 2 {
			t.Errorf("%s: %d, %v", day, share, ok)
		}
		seen[share] = true
	}
	if len(seen) != 3 {
		t.Errorf("three days have the shares %v", seen)
	}
	for _, row := range []struct{ seed, whole string }{{"", ""}, {"off", ""}, {"20261129", "1"}} {
		t.Setenv(testmain.ShuffleEnv, row.seed)
		t.Setenv(testmain.WholeEnv, row.whole)
		if share, ok := testmain.Share("a test", 3); ok {
			t.Errorf("seed %q, whole %q: only share %d is tried", row.seed, row.whole, share)
		}
	}
}
