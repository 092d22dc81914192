package crash

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/faultpoint/armed"
	"github.com/windlass-dev/windlass/test/harness"
)

// moment is a point in a turn at which it can be held while a process is killed.
type moment struct {
	name string
	// holdAt is after how many words the model waits, -1 for not at all; toolWaits has the ONCE tool wait.
	holdAt    int
	toolWaits bool
	// hold starts the turn, and returns when it has reached the moment.
	hold func(r *trial)
	// letGo releases it.
	letGo func(r *trial)
	// agent of the turn, "a" if empty.
	agent string
	// nobody means that no worker holds a step, so that all workers are killed.
	nobody bool
	// over means that the turn has ended, so that it cannot be cancelled.
	over bool
	// without lists the roles whose death has no effect at this moment, and why.
	without map[string]string
	// point is the fault point where a process is held, if any.
	point faultpoint.Point
	// doubt lists the roles whose death leaves the outcome of a ONCE call unknown.
	doubt []string
}

const uninvolved = "the turn does not come to it any more"

// victims are the roles that are killed at each moment.
var victims = []string{"gateway", "sessions", "worker", "inference", "policy", "registry", "mcpbridge"}

var moments = []moment{
	at("accepted", faultpoint.Journaled, func(m *moment) {
		m.nobody = true
		m.hold = func(r *trial) {
			r.Arm(faultpoint.Journaled, "stall")
			r.post()
			r.stalled(faultpoint.Journaled)
		}
	}),
	at("started", faultpoint.Started, func(m *moment) { m.nobody = true }),
	{
		name: "model sent", holdAt: 0,
		hold:  func(r *trial) { r.start(); <-r.play.gate.reached },
		letGo: func(r *trial) { close(r.play.gate.open) },
	},
	{
		name: "model half-streamed", holdAt: 4, hold: holdWords,
		letGo: func(r *trial) { close(r.play.gate.open) },
	},
	at("model done not reported", faultpoint.ModelDone, nil),
	at("policy asked", faultpoint.PolicyDecided, nil),
	{
		name: "approval waiting", holdAt: -1, agent: careful, nobody: true,
		hold:  func(r *trial) { r.start(); r.watcher.UntilType("approval.requested") },
		letGo: func(r *trial) { go r.approve() },
	},
	{
		name: "parked", holdAt: -1, agent: careful, nobody: true,
		hold: func(r *trial) {
			r.start()
			if !harness.Eventually(patience, func() bool { return r.h.Parked(r.turn) }) {
				r.t.Fatalf("the turn is not parked:\n%s", r.story())
			}
		},
		letGo: func(r *trial) { go r.approve() },
	},
	{
		name: "tool sent", holdAt: -1, toolWaits: true,
		hold:  holdTool,
		letGo: func(r *trial) { r.play.letToolReturn(r.t) },
		doubt: []string{"registry", "mcpbridge"},
	},
	at("tool done not reported", faultpoint.BridgeToolDone, func(m *moment) { m.doubt = []string{"registry", "mcpbridge"} }),
	at("idempotent tool done not reported", faultpoint.BridgeToolDone, func(m *moment) {
		m.hold = func(r *trial) {
			r.Arm(faultpoint.BridgeToolDone, "stall:2")
			r.start()
			r.stalled(faultpoint.BridgeToolDone)
		}
	}),
	at("journal written not published", faultpoint.Journaled, func(m *moment) {
		m.holdAt = 4
		m.hold = func(r *trial) {
			holdWords(r)
			r.Arm(faultpoint.Journaled, "stall")
			close(r.play.gate.open)
			r.stalled(faultpoint.Journaled)
		}
	}),
	at("terminal written not acknowledged", faultpoint.TurnEnded, func(m *moment) {
		m.nobody, m.over = true, true
		m.without = map[string]string{"inference": uninvolved, "registry": uninvolved, "mcpbridge": uninvolved, "policy": uninvolved}
	}),
}

// at is a moment at which a process stalls at a fault point.
func at(name string, p faultpoint.Point, more func(*moment)) moment {
	m := moment{
		name: name, holdAt: -1, point: p,
		hold:  func(r *trial) { r.Arm(p, "stall"); r.start(); r.stalled(p) },
		letGo: func(r *trial) { r.Disarm(p) },
	}
	if more != nil {
		more(&m)
	}
	return m
}

func holdWords(r *trial) {
	r.start()
	<-r.play.gate.reached
	r.watcher.Until("the fourth word", func(e harness.Event) bool { return strings.Contains(e.Data.Str("text"), thoughts[3]) })
}

func holdTool(r *trial) {
	r.start()
	if !harness.Eventually(patience, func() bool { return len(r.h.calls(r.play.id+"-once")) > 0 }) {
		r.t.Fatalf("the tool server gets no call; there were:\n%s", r.story())
	}
}

// line is a point at which the process that hits it kills itself. The moments cover the other points.
type line struct {
	point faultpoint.Point
	nth   string
	doubt bool
}

var lines = []line{
	{point: faultpoint.GatewayAnswered},
	{point: faultpoint.Journaled},
	{point: faultpoint.Journaled, nth: ":2"},
	{point: faultpoint.Started},
	{point: faultpoint.ModelAsked},
	{point: faultpoint.ModelSaid, nth: ":3"},
	{point: faultpoint.ModelDone, nth: ":2"},
	{point: faultpoint.InferOpened},
	{point: faultpoint.InferOpened, nth: ":2"},
	{point: faultpoint.InferDone},
	{point: faultpoint.InferDone, nth: ":3"},
	{point: faultpoint.PolicyDecided, nth: ":2"},
	{point: faultpoint.PolicyRecording},
	{point: faultpoint.ToolOpened, doubt: true},
	{point: faultpoint.ToolOpened, nth: ":2"},
	{point: faultpoint.ToolDone, doubt: true},
	{point: faultpoint.ToolDone, nth: ":2"},
	{point: faultpoint.ToolClosed},
	{point: faultpoint.CallDone},
	{point: faultpoint.CallDone, nth: ":2"},
	{point: faultpoint.TurnEnded},
}

// TestEveryPointIsInTheMatrix checks that the tables are complete: a new point needs a row.
func TestEveryPointIsInTheMatrix(t *testing.T) {
	used := map[faultpoint.Point]bool{
		faultpoint.BridgeToolDone: true, // a moment's, with all roles
		faultpoint.CompactDone:    true, // of a longer conversation: see TestWorkerKilledWhileItCompacts
	}
	for _, l := range lines {
		used[l.point] = true
	}
	for _, p := range faultpoint.Points() {
		if !used[p] {
			t.Errorf("no process is killed at %s", armed.Name(p))
		}
	}
}
