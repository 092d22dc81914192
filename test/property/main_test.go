// Package property runs random commands against sessions and turns, and compares the results with a model.
package property

import (
	"context"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/test/harness"
)

func TestMain(m *testing.M) { testmain.Verify(testpg.Main{M: m}) }

// keepClock starts what all buses of a process share outside of the bubble: a goroutine of it would hold the bubble's time.
func keepClock(t *testing.T) {
	b, err := bus.Open(t.Context(), bus.Config{URL: bus.Embedded})
	harness.Must(t, err)
	harness.Must(t, b.EnsureKept(t.Context(), bus.KeptConfig{
		Name: "clock", Subjects: []string{"clock"}, MaxAge: time.Hour, MaxBytes: 1 << 20,
	}))
	t.Cleanup(func() { harness.Must(t, b.Close(context.Background())) })
}

// makeAgents makes one agent that parks calls whose outcome is unknown, one that reports them, one that makes one call at a time, and one
// that calls another agent.
func (m *mesh) makeAgents() {
	rule := &policyv1.ApprovalRule{Name: "risky", Tools: []string{"x__risky"}, AllowRequester: true, ExpiresSeconds: uint32(expiry.Seconds())}
	for _, a := range []*sessionsv1.Agent{
		{Id: "parks", OnUnknownOutcome: "park"},
		{Id: kid},
		{Id: "serial", Limits: &sessionsv1.Limits{MaxParallelTools: 1}},
		{Id: "boss", Agents: []string{kid}},
	} {
		a.Tools, a.Approvals = []string{"x__*"}, []*policyv1.ApprovalRule{rule}
		_, err := m.user.agents.CreateAgent(m.t.Context(), &sessionsv1.CreateAgentRequest{Agent: a})
		harness.Must(m.t, err)
	}
}

// abandon ends what a failed sequence has left, so that it disturbs no other.
func (w *world) abandon() {
	for _, s := range w.sessions {
		for _, t := range s.turns {
			if t.end == nil {
				_, _ = w.user.turns.CancelTurn(w.ctx(), &sessionsv1.CancelTurnRequest{TurnId: t.id})
			}
		}
	}
}
