package crash

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/faultpoint/armed"
	"github.com/windlass-dev/windlass/test/harness"
)

// chaosEnv makes the tests run all cells, and sets for how long processes are killed at random. `make chaos` sets it.
const chaosEnv = "WINDLASS_CHAOS"

const (
	// maxRecovery bounds how long a turn may take to its end once all is back; the plays themselves take less than a second. Temporal may have
	// to notice that a workflow task was lost, which takes up to ten; the rest is for slow machines.
	maxRecovery = 30 * time.Second
	// promised is what is not remarkable; what takes longer is printed.
	promised = 10 * time.Second
)

// cell is one death.
type cell struct {
	name string
	run  func(t *testing.T, h *theatre, id string) (turn string, recovery time.Duration)
}

// short are the cells of `make test`: one for each kind of recovery.
var short = []string{
	"accepted/gateway", "accepted/sessions", "started/worker", "model sent/inference", "model done not reported/worker",
	"policy asked/policy", "policy asked/registry", "approval waiting/sessions", "parked/worker", "tool done not reported/mcpbridge",
	"idempotent tool done not reported/registry",
	"journal written not published/sessions", "terminal written not acknowledged/worker", "terminal written not acknowledged/sessions",
	"before the first step/worker without Temporal", "between two steps/worker without Temporal",
	"line registry.tool-closed", "line worker.call-done",
}

// shortLarge are those on PostgreSQL with two processes of each role: what is other there.
var shortLarge = []string{
	"accepted/sessions", "model half-streamed/worker", "policy asked/policy", "approval waiting/gateway",
	"idempotent tool done not reported/registry",
	"tool done not reported/mcpbridge", "journal written not published/database restarted", "database away",
	"before the first step/worker without Temporal", "between two steps/worker without Temporal",
	"model half-streamed/stall worker->inference", "model done not reported/half down worker->sessions", "tool sent/cut registry->mcpbridge",
}

// cells are what can happen to a mesh of this kind.
func cells(on harness.Topology) []cell {
	var all []cell
	if on.Proxied {
		all = append(all, brokenLinks()...)
	}
	if on.Postgres {
		all = append(all, brokenDatabase()...)
	}
	for _, m := range moments {
		for _, victim := range victims {
			if m.without[victim] == "" {
				all = append(all, cell{m.name + "/" + victim, func(t *testing.T, h *theatre, id string) (string, time.Duration) {
					return killAt(t, h, id, m, victim)
				}})
			}
		}
	}
	all = append(all, temporalAway()...)
	for _, l := range lines {
		all = append(all, cell{"line " + string(l.point) + l.nth, func(t *testing.T, h *theatre, id string) (string, time.Duration) {
			return dieAt(t, h, id, l)
		}})
	}
	return all
}

// TestMatrix injects each fault at each moment of a turn, one after the other in one mesh.
func TestMatrix(t *testing.T) {
	if os.Getenv("WINDLASS_CHAOS_CELLS") == "0" {
		t.Skip("WINDLASS_CHAOS_CELLS=0 leaves the points out")
	}
	eachTopology(t, matrix)
}

func matrix(t *testing.T, on topology) {
	whole, only := os.Getenv(chaosEnv) != "", os.Getenv("WINDLASS_CHAOS_CELLS")
	slot(t)
	h := newTheatre(t, on)
	var turns, report []string
	for i, c := range cells(on.Topology) {
		if !whole && !slices.Contains(on.short, c.name) || only != "" && !strings.Contains(c.name, only) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			turn, recovery := c.run(t, h, fmt.Sprintf("play-%d", i))
			turns = append(turns, turn)
			report = append(report, fmt.Sprintf("%-60s ended %8v after recovery%s", c.name, recovery, slow(recovery)))
			if recovery > maxRecovery {
				t.Errorf("the turn took %v to its end after all was back", recovery)
			}
		})
		h.restore()
	}
	t.Logf("%d cells:\n%s", len(report), strings.Join(report, "\n"))
	h.count("cells", len(report))
	h.Replay(t, turns...)
	h.count("histories replayed", len(turns))
}

func slow(d time.Duration) string {
	if d > promised {
		return "  SLOW"
	}
	return ""
}

// killAt holds a turn at a moment, kills a role, lets the turn continue without it, and restarts the role.
func killAt(t *testing.T, h *theatre, id string, m moment, victim string) (string, time.Duration) {
	r := h.trial(t, h.play(t, id, m.holdAt, m.toolWaits), m.agent)
	m.hold(r)
	dead := r.processes(m, victim)
	for _, name := range dead {
		r.Kill(name)
		h.count("kills", 1)
	}
	m.letGo(r)
	for _, name := range dead {
		r.Launch(name)
	}
	for _, name := range dead {
		r.Process(name).Await()
	}
	if r.watcher == nil {
		r.watch()
	}
	recovery := r.end()
	r.verify(leeway{inDoubt: slices.Contains(m.doubt, victim)})
	return r.turn, recovery
}

// processes are those that are killed for a role: the one that is held or has the turn, or all if nobody knows which one that is.
func (r *trial) processes(m moment, victim string) []string {
	r.t.Helper()
	if victim == "worker" {
		if owner, held := r.holder(m); held {
			return []string{owner}
		}
		return r.Members(victim)
	}
	if name, taken := r.TakenBy(m.point); taken && harness.RoleOf(name) == victim {
		return []string{name}
	}
	return r.Members(victim)
}

func (r *trial) holder(m moment) (string, bool) {
	if m.nobody {
		return "", false
	}
	return r.TryHolder(r.turn)
}

// dieAt makes the process that hits a line kill itself, and restarts it.
func dieAt(t *testing.T, h *theatre, id string, l line) (string, time.Duration) {
	r := h.trial(t, h.play(t, id, -1, false), "")
	r.Arm(l.point, "kill"+l.nth)
	r.post()
	role, _, _ := strings.Cut(string(l.point), ".")
	var dead string
	died := harness.Eventually(patience, func() bool {
		for _, name := range r.Members(role) {
			if r.Process(name).Gone() {
				dead = name
			}
		}
		return dead != ""
	})
	if !died {
		t.Fatalf("nobody dies at %s", armed.Name(l.point))
	}
	h.count("kills", 1)
	r.Start(dead)
	r.watch()
	recovery := r.end()
	r.verify(leeway{inDoubt: l.doubt})
	return r.turn, recovery
}

// restore repairs what a failed cell left behind, so that the next one is independent.
func (h *theatre) restore() {
	h.heal(h.AllLinks())
	for _, p := range faultpoint.Points() {
		h.Disarm(p)
	}
	for _, name := range h.Names() {
		if h.Process(name).Gone() {
			h.Start(name)
		}
	}
}
