// Package testmain runs the tests of a package as all packages do: in the order that ShuffleEnv draws, and checked for goroutines that are
// left behind.
package testmain

import (
	"flag"
	"fmt"
	"os"

	"go.uber.org/goleak"
)

// ShuffleEnv names the variable with the seed of the order in which a package's tests run; without it they run as they are written.
// The flag -shuffle of `go test` does the same, but keeps results out of Go's test cache.
const ShuffleEnv = "WINDLASS_TEST_SHUFFLE"

// Verify runs tests, and fails them if they leave goroutines. It does not return.
func Verify(m goleak.TestingM) {
	Shuffle()
	goleak.VerifyTestMain(m)
}

// Shuffle sets the order of the tests that run next. It is for a TestMain that cannot use Verify.
func Shuffle() {
	seed := os.Getenv(ShuffleEnv)
	if seed == "" {
		return
	}
	if err := flag.Set("test.shuffle", seed); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", ShuffleEnv, err)
		os.Exit(2)
	}
}
