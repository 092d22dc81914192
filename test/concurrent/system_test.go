package concurrent

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
	"github.com/windlass-dev/windlass/test/harness/netfault"
)

// freezeTime is longer than a lease.
const freezeTime = 4 * time.Second

// maxPause bounds how long a link stays broken or the database unavailable.
const maxPause = 5

// system is what clients use, and the faults that it supports.
type system struct {
	client func(testing.TB) *harness.Client
	// disturb injects a fault, returns when it is repaired, and names it.
	disturb func(dice *rand.Rand) string
}

// up is `windlass up` on SQLite. It is killed as a whole.
func up(t testing.TB, model *harness.Model) *system {
	dir := t.TempDir()
	env := append(model.Env(), fmt.Sprintf("WINDLASS_SESSIONS_MAX_QUEUED_TURNS=%d", maxQueued))
	process := harness.Up(t, dir, env)
	base := process.Client.Base
	return &system{
		client: func(t testing.TB) *harness.Client { return harness.NewClient(t, base) },
		disturb: func(*rand.Rand) string {
			process.Kill()
			process = harness.Up(t, dir, env, "--http-addr", strings.TrimPrefix(base, "http://"))
			return "killed windlass up"
		},
	}
}

// split is separate processes on SQLite, with two workers.
func split(t testing.TB, model *harness.Model) *system { return processes(t, model, harness.Small) }

// replicas is two processes of each role on PostgreSQL, with a bus of three nodes and links that can be broken.
func replicas(t testing.TB, model *harness.Model) *system { return processes(t, model, harness.Large) }

func processes(t testing.TB, model *harness.Model, on harness.Topology) *system {
	mesh := harness.Split(t, harness.SplitOptions{Topology: on, Model: model, Workers: 2, Config: harness.JSON{
		"sessions": harness.JSON{"max_queued_turns": maxQueued}, "temporal": harness.JSON{"park_after": "500ms"},
	}})
	return &system{client: mesh.NewClient, disturb: func(dice *rand.Rand) string { return disturb(t, mesh, dice) }}
}

// disturb kills or freezes a process, breaks the links between two roles, or stops the database for some time.
func disturb(t testing.TB, mesh *harness.Mesh, dice *rand.Rand) string {
	names, links, db := mesh.Names(), mesh.AllLinks(), mesh.Database()
	name, pause := names[dice.IntN(len(names))], time.Duration(1+dice.IntN(maxPause))*time.Second
	switch kind := dice.IntN(20); {
	case kind < 3:
		mesh.Process(name).Signal(syscall.SIGSTOP)
		<-time.After(freezeTime)
		mesh.Process(name).Signal(syscall.SIGCONT)
		return "froze " + name
	case kind < 8 && len(links) > 0:
		one := links[dice.IntN(len(links))]
		from, to := harness.RoleOf(one.From), harness.RoleOf(one.To)
		mode := netfault.Faults()[dice.IntN(len(netfault.Faults()))]
		set(t, mesh.Links(from, to), mode)
		<-time.After(pause)
		set(t, mesh.Links(from, to), netfault.Open)
		return fmt.Sprintf("%s %s->%s", mode, from, to)
	case kind == 8 && db != nil:
		db.Stop()
		<-time.After(pause)
		db.Start()
		return "stopped the database"
	case kind == 9 && db != nil:
		db.Freeze()
		<-time.After(pause)
		db.Thaw()
		return "froze the database"
	}
	mesh.Restart(name)
	return "killed " + name
}

func set(t testing.TB, links []*netfault.Link, mode netfault.Mode) {
	t.Helper()
	for _, l := range links {
		if err := l.Set(mode); err != nil {
			t.Fatal(err)
		}
	}
}
