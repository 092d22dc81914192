package harness

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
)

// Drawn skips a test, with all its parts, on all days but one of n (testmain.Share): for what takes long and changes seldom.
func Drawn(t testing.TB, n int) {
	t.Helper()
	if share, ok := testmain.Share(whole(t), n); ok && share != 0 {
		t.Skipf("runs on one day of %d, and in make nightly", n)
	}
}

// whole is the name of the test that t is part of.
func whole(t testing.TB) string {
	test, _, _ := strings.Cut(t.Name(), "/")
	return test
}
