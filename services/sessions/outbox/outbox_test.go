package outbox_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/testpoll"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/outbox"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
	"github.com/windlass-dev/windlass/workflows/contract"
)

func newKit(t *testing.T) *sessionstest.Kit { return sessionstest.New(t, sessionstest.Config{}) }

// run runs the outbox until the test ends.
func run(k *sessionstest.Kit) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.Outbox.Run(ctx)
	}()
	k.Cleanup(func() {
		cancel()
		<-done
	})
}

// due reports whether the outbox has a row to take at a time from now.
func due(k *sessionstest.Kit, in time.Duration) bool {
	k.Helper()
	some, err := k.Store.HasOutgoing(k.Context(), k.Store.Now().Add(in))
	k.Must(err)
	return some
}

func TestAWorkflowIsStartedOnce(t *testing.T) {
	k := newKit(t)
	own := k.NewTurn("hello there")
	run(k)
	testpoll.Until(t, "the workflow is started", func() bool { return len(k.Engine.Started()) == 1 })
	got := k.Engine.Started()[0]
	want := outbox.Turn{Tenant: own.Tenant, TurnID: own.ID, SessionID: own.SessionID, AgentID: own.AgentID}
	if got != want {
		t.Errorf("started %+v, want %+v", got, want)
	}
	other := k.NewTurn("more") // its start deletes the row of the first
	k.Outbox.Trigger()
	testpoll.Until(t, "the other workflow is started", func() bool { return len(k.Engine.Started()) == 2 })
	if k.Engine.Started()[1].TurnID != other.ID {
		t.Errorf("started %+v", k.Engine.Started())
	}
}

// TestATurnThatIsOverIsStartedWithItsSteps: its workflow has nothing left to ask.
func TestATurnThatIsOverIsStartedWithItsSteps(t *testing.T) {
	k := newKit(t)
	own := k.NewTurn("hello there")
	k.Begin(own, &turnv1.Surface{})
	k.Answer(own, "infer-1", "hi")
	k.Finish(own)
	lost := k.NewTurn("more") // ended without a finish step
	k.Must(k.Write(lost.ID, func(tx *journal.Tx, now *store.Turn) error {
		_, err := k.Turns.End(tx, now, &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_FAILED})
		return err
	}))
	run(k)
	testpoll.Until(t, "both workflows are started", func() bool { return len(k.Engine.Started()) == 2 })
	for _, got := range k.Engine.Started() {
		switch end := got.Ended; {
		case got.TurnID == lost.ID:
			if end != nil {
				t.Errorf("the journal has no end of it: %+v", end)
			}
		case end == nil || end.TurnResult != (contract.TurnResult{Status: "completed", ModelCalls: 1}):
			t.Errorf("ended as %+v", end)
		default:
			for i, title := range []string{"1. begin → model test/model", "2. infer #1 → ", "3. finish → "} {
				if len(end.Steps) != 3 || !strings.HasPrefix(end.Steps[i], title) {
					t.Errorf("steps %q", end.Steps)
				}
			}
		}
	}
}

func TestAStartThatFailsIsRepeatedAfterALongerAndLongerPause(t *testing.T) {
	k := newKit(t)
	k.Engine.Fail(errors.New("the engine is away"))
	k.NewTurn("hello")
	run(k)
	for _, seconds := range []int{1, 2, 4, 8, 15, 15} {
		pause := time.Duration(seconds) * time.Second
		testpoll.Until(t, "it is to be repeated after "+pause.String(), func() bool {
			return !due(k, pause-time.Microsecond) && due(k, pause) // in this order: between them the row may be taken or returned
		})
		k.Clock.Advance(pause)
		k.Outbox.Trigger()
	}
	k.Engine.Fail(nil)
	k.Clock.Advance(time.Minute)
	k.Outbox.Trigger()
	testpoll.Until(t, "the workflow is started", func() bool { return len(k.Engine.Started()) == 1 })
}

func TestWhatAWakeUpComesTo(t *testing.T) {
	for _, row := range []struct {
		name  string
		state outbox.WorkflowState
		fail  error
		// marked: the turn is to be woken again. lost: a workflow that should exist does not.
		marked, lost bool
	}{
		{"an open workflow is woken", outbox.WorkflowOpen, nil, false, false},
		{"a closed one is lost", outbox.WorkflowClosed, nil, false, true},
		{"an engine that is away is tried again", outbox.WorkflowOpen, errors.New("away"), true, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := newKit(t)
			own := k.Begun("hello")
			k.Dispatch()
			k.Engine.Set(own.ID, row.state)
			k.Engine.Fail(row.fail)
			called := k.Engine.Changed()
			k.Must(k.Write(own.ID, func(tx *journal.Tx, now *store.Turn) error { return k.Outbox.NotifyWorkflow(tx, *now) }))
			run(k)
			<-called
			if row.lost {
				<-k.Outbox.Lost()
			}
			marked := func() bool {
				some, err := k.Store.HasToWake(k.Context(), k.Store.Now().Add(time.Hour))
				k.Must(err)
				return some
			}
			if !row.marked {
				testpoll.Until(t, "the mark is removed", func() bool { return !marked() })
				return
			}
			if !marked() {
				t.Fatal("the mark is removed")
			}
			k.Must(k.Outbox.WakeDue(k.Context()))
			if n := len(k.Engine.Woken()); n != 0 {
				t.Errorf("woken %d times before it is due", n)
			}
			k.Engine.Fail(nil)
			k.Clock.Advance(time.Minute)
			k.Must(k.Outbox.WakeDue(k.Context()))
			testpoll.Until(t, "the workflow is woken and the mark removed", func() bool { return len(k.Engine.Woken()) == 1 && !marked() })
		})
	}
}

func TestACancelReachesTheWorkflow(t *testing.T) {
	k := newKit(t)
	run(k)
	k.Outbox.Cancel("trn_1")
	testpoll.Until(t, "the workflow is cancelled", func() bool { return slices.Contains(k.Engine.Cancelled(), "trn_1") })
}

func TestATurnThatIsCancelledBeforeItsStartHasNoWorkflow(t *testing.T) {
	k := newKit(t)
	own := k.NewTurn("hello")
	k.Must(k.Turns.Cancel(k.Ctx(), own, "enough"))
	if !k.Read(own.ID).Ended() || due(k, time.Hour) {
		t.Error("its workflow is still to be started")
	}
}

func TestWorkersAreToldOfATurn(t *testing.T) {
	k := newKit(t)
	own := store.Turn{Tenant: "default", ID: "trn_1", SessionID: "ses_1", AgentID: "assistant", TraceParent: "00-aa-bb-01"}
	k.Workers.Begin(k.Context(), own)
	k.Workers.Wake(k.Context(), own)
	for _, subject := range []string{contract.EagerRunSubject("default"), contract.WakeSubject("default")} {
		said := k.Bus.Said(subject)
		if len(said) != 1 || !strings.Contains(string(said[0]), "trn_1") || !strings.Contains(string(said[0]), "00-aa-bb-01") {
			t.Errorf("%s: %s", subject, said)
		}
	}
	k.Bus.Fail(errors.New("the bus is away"))
	k.Workers.Wake(k.Context(), own) // it is only a hint
}

// A turn that was queued behind another one is started when that one ends.
func TestTheNextTurnIsStartedAfterTheEnd(t *testing.T) {
	k := newKit(t)
	ses := k.Session()
	first := k.Turn(ses, "one")
	k.Dispatch()
	v, err := k.Turns.Create(k.Ctx(), turn.Create{SessionID: ses.ID, Text: "two"})
	k.Must(err)
	if due(k, time.Hour) {
		t.Fatal("a turn that waits is to be started")
	}
	k.Begin(first, &turnv1.Surface{})
	k.Finish(first)
	run(k)
	testpoll.Until(t, "the next turn is started", func() bool { return len(k.Engine.Started()) == 1 })
	if got := k.Engine.Started()[0].TurnID; got != v.Turn.ID {
		t.Errorf("started %s, want %s", got, v.Turn.ID)
	}
}
