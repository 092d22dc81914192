package turn_test

import (
	"errors"
	"testing"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/outbox"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
)

func TestALostWorkflowIsStartedAgainAndTheTurnFailsInTheEnd(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{MaxRestarts: 2})
	own := k.Begun("hello")
	k.Dispatch()
	for restarts := range uint32(2) {
		k.Clock.Advance(sessionstest.LostAfter)
		k.Must(k.Turns.SweepLost(k.Worker()))
		if now := k.Read(own.ID); now.Ended() || now.Restarts != restarts+1 {
			t.Fatalf("after the sweep the turn is %+v", now)
		}
		k.Dispatch()
		k.Must(k.Turns.SweepLost(k.Worker())) // it is not due
	}
	k.Clock.Advance(sessionstest.LostAfter)
	k.Must(k.Turns.SweepLost(k.Worker()))
	if now := k.Read(own.ID); now.Status != turnv1.TurnStatus_TURN_STATUS_FAILED || now.End.GetError().GetCode() != "internal" {
		t.Errorf("in the end the turn is %+v", now)
	}
}

func TestALostTurnThatWasToBeCancelledIsCancelled(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{MaxRestarts: 1})
	own := k.Begun("hello")
	k.Dispatch()
	k.Must(k.Turns.Cancel(k.Ctx(), own, ""))
	for range 2 {
		k.Clock.Advance(sessionstest.LostAfter)
		k.Must(k.Turns.SweepLost(k.Worker()))
		k.Dispatch()
	}
	if got := k.Read(own.ID).Status; got != turnv1.TurnStatus_TURN_STATUS_CANCELLED {
		t.Errorf("the turn is %s", got)
	}
}

func TestATurnWhoseWorkflowRunsIsNotLost(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	own := k.Begun("hello")
	k.Dispatch()
	k.Engine.Set(own.ID, outbox.WorkflowOpen)
	k.Clock.Advance(sessionstest.LostAfter)
	k.Must(k.Turns.SweepLost(k.Worker()))
	if now := k.Read(own.ID); now.Restarts != 0 || !now.CheckTime.Equal(k.Store.Now().Add(sessionstest.LostAfter)) {
		t.Errorf("the turn is %+v", now)
	}
}

func TestAnEngineThatIsAwayIsAskedAgain(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	own := k.Begun("hello")
	k.Dispatch()
	k.Engine.Fail(errors.New("the engine is away"))
	k.Clock.Advance(sessionstest.LostAfter)
	k.Must(k.Turns.SweepLost(k.Worker()))
	if now := k.Read(own.ID); now.Restarts != 0 || !now.CheckTime.Equal(k.Store.Now().Add(5*time.Second)) {
		t.Fatalf("the turn is %+v", now)
	}
	k.Engine.Fail(nil)
	k.Clock.Advance(5 * time.Second)
	k.Must(k.Turns.SweepLost(k.Worker()))
	if now := k.Read(own.ID); now.Restarts != 1 {
		t.Errorf("the turn is %+v", now)
	}
}

func TestARestartThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	own := k.Begun("hello")
	k.Dispatch()
	k.Clock.Advance(sessionstest.LostAfter)
	heal := k.FailWrites("INSERT", "turn_outbox")
	k.Must(k.Turns.SweepLost(k.Worker()))
	heal()
	if now := k.Read(own.ID); now.Restarts != 0 {
		t.Fatalf("the turn is %+v", now)
	}
	k.Clock.Advance(5 * time.Second)
	k.Must(k.Turns.SweepLost(k.Worker()))
	if now := k.Read(own.ID); now.Restarts != 1 {
		t.Errorf("the turn is %+v", now)
	}
}
