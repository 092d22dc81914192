package concurrent

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/test/harness"
)

const (
	// chaosEnv is the duration of a long run, seedEnv repeats a run, engineEnv selects one engine.
	chaosEnv  = "WINDLASS_CHAOS"
	seedEnv   = "WINDLASS_CHAOS_SEED"
	engineEnv = "WINDLASS_CHAOS_ENGINE"
	// seedFile lists runs that failed once: the system, a seed and a duration per line, and why they are kept.
	seedFile = "testdata/seeds"
)

// systems are what clients can use, by name.
var systems = map[string]func(testing.TB, *harness.Model) *system{"up": up, "split": split, "postgres": replicas}

// short is a run of some seconds.
func short(seed uint64) plan { return plan{seed: seed, clients: 6, acts: 40, every: 60} }

// long is a run of the given duration.
func long(seed uint64, duration time.Duration) plan {
	return plan{seed: seed, clients: 8, duration: duration, every: 25}
}

func TestMain(m *testing.M) { testmain.Verify(m) }

// TestClientsOfUp is the short run: many clients of `windlass up`, which is killed a few times.
func TestClientsOfUp(t *testing.T) {
	play(t, up, short(seedOr(t, 1)))
}

// TestClients is the long run, on each system.
func TestClients(t *testing.T) {
	text := os.Getenv(chaosEnv)
	if text == "" {
		t.Skip("`make chaos` runs it")
	}
	duration, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s: %v", chaosEnv, err)
	}
	for name, start := range systems {
		if only := os.Getenv(engineEnv); only != "" && (only == "postgres") != (name == "postgres") {
			continue
		}
		t.Run(name, func(t *testing.T) { play(t, start, long(seedOr(t, uint64(time.Now().UnixNano())), duration)) })
	}
}

// TestKeptSeeds repeats the runs that failed once.
func TestKeptSeeds(t *testing.T) {
	if os.Getenv(chaosEnv) == "" {
		t.Skip("`make chaos` runs them")
	}
	file, err := os.Open(seedFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for sc := bufio.NewScanner(file); sc.Scan(); {
		line, _, _ := strings.Cut(sc.Text(), "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		var name, text string
		var seed uint64
		if _, err := fmt.Sscan(line, &name, &seed, &text); err != nil || systems[name] == nil {
			t.Fatalf("%s: %q: %v", seedFile, line, err)
		}
		duration, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("%s: %q: %v", seedFile, line, err)
		}
		t.Run(fmt.Sprintf("%s seed %d", name, seed), func(t *testing.T) { play(t, systems[name], long(seed, duration)) })
	}
}

// seedOr is the seed to use.
func seedOr(t *testing.T, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(seedEnv)
	if text == "" {
		return otherwise
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", seedEnv, err)
	}
	return seed
}
