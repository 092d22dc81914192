package harness

import (
	"cmp"
	"hash/fnv"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
)

// WholeEnv, set to "1", has tests check all that they otherwise draw a part of by the day. `make nightly` sets it.
const WholeEnv = "WINDLASS_TEST_WHOLE"

// Whole reports whether everything is to be tested.
func Whole() bool { return os.Getenv(WholeEnv) == "1" }

// Drawn skips a test on all days but one of n, unless everything is to be tested: for what takes long and changes seldom. Days are the
// seeds of the order of tests (testmain.ShuffleEnv); without a seed nothing is skipped.
func Drawn(t testing.TB, n uint64) {
	t.Helper()
	seed := os.Getenv(testmain.ShuffleEnv)
	if Whole() || cmp.Or(seed, "off") == "off" || draw(seed, t)%n == 0 {
		return
	}
	t.Skipf("runs on one day of %d, and in make nightly", n)
}

// draw returns a number that depends on the day and the test, whose parts have the same.
func draw(seed string, t testing.TB) uint64 {
	test, _, _ := strings.Cut(t.Name(), "/")
	h := fnv.New64a()
	_, _ = io.WriteString(h, seed+" "+test) // never fails
	return h.Sum64()
}
