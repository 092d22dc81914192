package property

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/test/harness"
)

const (
	// usually is how many sequences are tried on SQLite unless RAPID_CHECKS or -rapid.checks says otherwise (`make chaos` tries 1,000): half
	// a minute's worth with the race detector. usuallyShared is that on PostgreSQL.
	usually       = 8
	usuallyShared = 3
	// atOnce is how many sequences share one mesh.
	atOnce = 100
)

// TestSessionsAndTurns drives random commands against the services and a model of sessions and turns. Time is that of a bubble, and workers
// make as many calls as they are told to, so that a sequence that fails can be tried again and made shorter.
func TestSessionsAndTurns(t *testing.T) {
	sequences(t, usually, func(t *testing.T) engine {
		dir := t.TempDir()
		return engine{name: "sqlite", replicas: 1, url: func(service string) string { return "sqlite:" + filepath.Join(dir, service+".db") }}
	})
}

// TestSessionsAndTurnsOfReplicas does the same with two replicas of each service on one PostgreSQL database. Each call goes to any of them.
// Each replica has one connection: a statement beside an open transaction would wait for itself.
func TestSessionsAndTurnsOfReplicas(t *testing.T) {
	sequences(t, usuallyShared, func(t *testing.T) engine {
		url := testpg.URL(t)
		return engine{name: "postgres", replicas: 2, url: func(string) string { return url }, maxConns: 1}
	})
}

// sequences tries as many sequences as it is told to, or a number that is usual.
func sequences(t *testing.T, usual int, open func(*testing.T) engine) {
	checks := flag.Lookup("rapid.checks").Value
	before := checks.String()
	defer func() { harness.Must(t, checks.Set(before)) }()
	left, err := strconv.Atoi(before)
	harness.Must(t, err)
	if os.Getenv("RAPID_CHECKS") == "" && !given("rapid.checks") {
		left = usual
	}
	if !given("rapid.shrinktime") {
		harness.Must(t, flag.Set("rapid.shrinktime", "1h")) // of a bubble's time: a sequence takes half a minute of it
	}
	keepClock(t)
	happened := map[string]int{}
	for left > 0 {
		now := min(left, atOnce)
		left -= now
		harness.Must(t, checks.Set(strconv.Itoa(now)))
		e := open(t)
		synctest.Test(t, func(t *testing.T) { drive(t, e, happened) })
	}
	t.Log(happened)
}

// drive tries sequences on a mesh of their own.
func drive(t *testing.T, e engine, happened map[string]int) {
	m := newMesh(t, e)
	m.happened = happened
	m.makeAgents()
	rapid.Check(struct{ rapid.TB }{t}, func(t *rapid.T) {
		m.sequence++
		m.dice.reset(rapid.Uint64().Draw(t, "replicas"))
		m.align()
		w := &world{mesh: m, T: t, client: map[string]bool{}}
		defer w.end()
		w.create()
		t.Repeat(w.actions())
		w.T = t
		w.finish()
		w.verify()
	})
}

// given reports whether a flag was given.
func given(name string) (found bool) {
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}
