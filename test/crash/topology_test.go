package crash

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/test/harness"
)

// engineEnv leaves out all topologies but those of one database: sqlite, postgres, or both.
const engineEnv = "WINDLASS_CHAOS_ENGINE"

// topology is a kind of mesh to which everything happens.
type topology struct {
	harness.Topology
	name string
	// short are the cells that `make test` runs.
	short []string
}

func topologies() []topology {
	return []topology{
		{harness.Small, "sqlite", short},
		{harness.Large, "postgres", shortLarge},
	}
}

func eachTopology(t *testing.T, f func(t *testing.T, on topology)) {
	engine := os.Getenv(engineEnv)
	for _, on := range topologies() {
		if engine == "" || engine == "both" || engine == on.name {
			t.Run(on.name, func(t *testing.T) { f(t, on) })
		}
	}
}

// tally counts what was done to meshes and what was compared afterwards, by topology.
var tally struct {
	sync.Mutex
	of map[string]map[string]int
	// seed is that of the random faults, 0 without.
	seed uint64
}

func (h *theatre) count(what string, n int) {
	tally.Lock()
	defer tally.Unlock()
	if tally.of == nil {
		tally.of = map[string]map[string]int{}
	}
	if tally.of[h.on.name] == nil {
		tally.of[h.on.name] = map[string]int{}
	}
	tally.of[h.on.name][what] += n
}

func TestMain(m *testing.M) {
	testmain.Verify(telling{testpg.Main{M: m}})
}

// telling says in the end what was counted.
type telling struct{ testpg.Main }

// Run implements goleak.TestingM.
func (m telling) Run() int {
	code := m.Main.Run()
	if os.Getenv(chaosEnv) == "" {
		return code
	}
	for _, name := range slices.Sorted(maps.Keys(tally.of)) {
		var counts []string
		for _, what := range slices.Sorted(maps.Keys(tally.of[name])) {
			counts = append(counts, fmt.Sprint(what, " ", tally.of[name][what]))
		}
		fmt.Printf("checked on %s (seed %d): %s\n", name, tally.seed, strings.Join(counts, ", "))
	}
	return code
}
