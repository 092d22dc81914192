package testmain

import (
	"hash/fnv"
	"io"
	"os"
	"strconv"
	"time"
)

// WholeEnv, set to "1", has tests try all that they otherwise try a share of by the day. `make nightly` sets it.
const WholeEnv = "WINDLASS_TEST_WHOLE"

// Whole reports whether everything is to be tried.
func Whole() bool { return os.Getenv(WholeEnv) == "1" }

// Share returns which one of n shares of something is tried today; ok is false if all of them are: with Whole, and without a day.
func Share(name string, n int) (share int, ok bool) {
	if Whole() {
		return 0, false
	}
	return Draw(name, n)
}

// Draw returns a number below n that depends on a name and, if ok, on the day: the next one on the next day, so that each is drawn once
// in n days. The day is the seed (ShuffleEnv), written as 20060102; any other number is one as well.
func Draw(name string, n int) (drawn int, ok bool) {
	seed := os.Getenv(ShuffleEnv)
	day, err := strconv.Atoi(seed)
	if err != nil {
		return 0, false
	}
	if date, err := time.Parse("20060102", seed); err == nil {
		day = int(date.Unix() / (24 * 60 * 60))
	}
	h := fnv.New32a()
	_, _ = io.WriteString(h, name) // never fails
	return int((uint64(day) + uint64(h.Sum32())) % uint64(n)), true
}
