package turn_test

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/idempotency"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/step"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

func TestOnlyARunningTurnIsSteered(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{MaxInputs: 2})
	ses := k.Session()
	own, waiting := k.Turn(ses, "one"), k.Turn(ses, "two")
	steer := func(ctx context.Context, id string) error {
		_, err := k.Turns.Steer(ctx, id, "more", nil, store.Once{})
		return err
	}
	k.WantFault(steer(k.Ctx(), waiting.ID), faultv1.Reason_REASON_FAILED_PRECONDITION)
	k.WantFault(steer(k.As("eve"), own.ID), faultv1.Reason_REASON_NOT_FOUND)
	k.Must(steer(k.Ctx(), own.ID))
	k.Must(steer(k.Ctx(), own.ID))
	k.WantFault(steer(k.Ctx(), own.ID), faultv1.Reason_REASON_RATE_LIMITED)
	k.Begin(own, &turnv1.Surface{})
	k.Must(k.Turns.Cancel(k.Ctx(), own, ""))
	k.WantFault(steer(k.Ctx(), own.ID), faultv1.Reason_REASON_TURN_ENDED)
	k.Finish(k.Read(own.ID))
	k.WantFault(steer(k.Ctx(), own.ID), faultv1.Reason_REASON_TURN_ENDED)
}

func TestTheSameInputIsGivenOnce(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	own := k.Begun("hello")
	once, err := idempotency.Of(k.Ctx(), "steer", "key", wrapperspb.String("more"))
	k.Must(err)
	first, err := k.Turns.Steer(k.Ctx(), own.ID, "more", nil, once)
	k.Must(err)
	second, err := k.Turns.Steer(k.Ctx(), own.ID, "more", nil, once)
	k.Must(err)
	if first != second || first.Seq == 0 || k.Read(own.ID).Inputs != 1 {
		t.Errorf("the requests gave %+v and %+v", first, second)
	}
}

func TestInputThatAModelDidNotReadStandsBehindItsAnswer(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	own := k.Begun("hello")
	l := k.Lease(own, "infer-1")
	_, err := k.Turns.Steer(k.Ctx(), own.ID, "wait", nil, store.Once{})
	k.Must(err)
	_, err = k.Steps.Commit(k.Worker(), step.Commit{
		TurnID: own.ID, Fence: l.Fence, Outcome: &turnv1.StepOutcome{Key: "infer-1"},
		Messages: []*turnv1.Message{{Role: turnv1.Role_ROLE_ASSISTANT, Content: executiontest.Text("hi")}},
	})
	k.Must(err)
	w, err := k.Conversations.Window(k.Ctx(), k.Read(own.ID), k.ReadSession(own.SessionID), 0)
	k.Must(err)
	var said []string
	for _, m := range w.Messages {
		said = append(said, m.GetContent()[0].GetText())
	}
	if !slices.Equal(said, []string{"hello", "hi", "wait"}) || w.Inputs != 1 {
		t.Errorf("the next step reads %q with %d inputs", said, w.Inputs)
	}
}
