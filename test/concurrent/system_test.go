package concurrent

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/test/harness"
)

// freezeTime is longer than a lease.
const freezeTime = 4 * time.Second

// system is what clients use, and what can happen to it.
type system struct {
	base string
	// disturb has something happen, returns when it is repaired, and names it.
	disturb func(dice *rand.Rand) string
}

// up is `windlass up` on SQLite. It is killed as a whole.
func up(t testing.TB, model *harness.Model) *system {
	dir := t.TempDir()
	env := append(model.Env(), fmt.Sprintf("WINDLASS_SESSIONS_MAX_QUEUED_TURNS=%d", maxQueued))
	process := harness.Up(t, dir, env)
	s := &system{base: process.Client.Base}
	s.disturb = func(*rand.Rand) string {
		process.Kill()
		process = harness.Up(t, dir, env, "--http-addr", strings.TrimPrefix(s.base, "http://"))
		return "killed windlass up"
	}
	return s
}

// split is separate processes on SQLite, with two workers. One is killed or frozen at a time.
func split(t testing.TB, model *harness.Model) *system { return processes(t, model, nil) }

// postgres is the same on PostgreSQL.
func postgres(t testing.TB, model *harness.Model) *system {
	return processes(t, model, harness.JSON{"database": harness.JSON{"url": testpg.URL(t)}})
}

func processes(t testing.TB, model *harness.Model, more harness.JSON) *system {
	config := harness.JSON{"sessions": harness.JSON{"max_queued_turns": maxQueued}, "temporal": harness.JSON{"park_after": "500ms"}}
	maps.Copy(config, more)
	mesh := harness.Split(t, harness.SplitOptions{Model: model, Workers: 2, Config: config})
	return &system{base: mesh.Client.Base, disturb: func(dice *rand.Rand) string {
		names := mesh.Names()
		name := names[dice.IntN(len(names))]
		if strings.HasPrefix(name, "temporal") || dice.IntN(3) > 0 {
			mesh.Restart(name)
			return "killed " + name
		}
		mesh.Process(name).Signal(syscall.SIGSTOP)
		<-time.After(freezeTime)
		mesh.Process(name).Signal(syscall.SIGCONT)
		return "froze " + name
	}}
}
