package property

import (
	"flag"
	"os"
	"strconv"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

const (
	// usually is how many sequences are tried unless RAPID_CHECKS or -rapid.checks says otherwise: a minute's worth with the race detector.
	usually = 40
	// atOnce is how many sequences share one mesh.
	atOnce = 100
)

// TestSessionsAndTurns drives random commands against the services and a model of sessions and turns. Time is that of a bubble, and workers
// make as many calls as they are told to, so that a sequence that fails can be tried again and made shorter.
func TestSessionsAndTurns(t *testing.T) {
	checks := flag.Lookup("rapid.checks").Value
	left, err := strconv.Atoi(checks.String())
	must(t, err)
	if os.Getenv("RAPID_CHECKS") == "" && !given("rapid.checks") {
		left = usually
	}
	if !given("rapid.shrinktime") {
		must(t, flag.Set("rapid.shrinktime", "1h")) // of a bubble's time: a sequence takes half a minute of it
	}
	keepClock(t)
	happened := map[string]int{}
	for left > 0 {
		now := min(left, atOnce)
		left -= now
		must(t, checks.Set(strconv.Itoa(now)))
		synctest.Test(t, func(t *testing.T) { drive(t, happened) })
	}
	t.Log(happened)
}

// drive tries sequences on a mesh of their own.
func drive(t *testing.T, happened map[string]int) {
	m := newMesh(t)
	m.happened = happened
	m.makeAgents()
	rapid.Check(struct{ rapid.TB }{t}, func(t *rapid.T) {
		m.sequence++
		m.align()
		w := &world{mesh: m, T: t}
		defer w.end()
		w.create()
		t.Repeat(w.actions())
		w.T = t
		w.finish()
		w.verify()
	})
}

// given tells whether a flag was given.
func given(name string) (found bool) {
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}
