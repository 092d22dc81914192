package sessions_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testwant"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/services/sessions/turn"
)

// TestASteeredTurnIsNoFurtherOne: when the mesh takes on no further turns, input for one that runs is accepted.
func TestASteeredTurnIsNoFurtherOne(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{Load: turn.LoadConfig{MaxQueuedTurns: 1}}})
	k.agent("assistant")
	ses := k.session()
	running := k.turn(ses.GetId(), "hello")
	k.worker(running).begin()
	_, err := k.turns.CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{SessionId: k.session().GetId(), Input: "me too"})
	testwant.Equal(t, "a further turn", fault.CodeOf(err), "unavailable")
	got, err := k.turns.CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{SessionId: ses.GetId(), Input: "and hurry", Mode: "steer"})
	if err != nil || got.GetId() != running.GetId() {
		t.Errorf("steered: %v, %v", got, err)
	}
}
