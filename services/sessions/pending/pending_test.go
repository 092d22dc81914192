package pending_test

import (
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/pending"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
)

func TestWhyATurnDoesNotGoOn(t *testing.T) {
	k := sessionstest.New(t, sessionstest.Config{})
	ses := k.Session()
	first, second := k.Turn(ses, "one"), k.Turn(ses, "two")
	want := func(id string, want pending.Reason) {
		t.Helper()
		got := pending.Of(k.Ctx(), k.Engine, k.Clock.Now(), k.Read(id), k.ReadSession(ses.ID))
		if got.Detail == "" && want.Kind != pending.None {
			t.Error("it is not explained")
		}
		if want.Detail == "" {
			got.Detail = ""
		}
		if got != want {
			t.Errorf("pending %+v, want %+v", got, want)
		}
	}
	lost := fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "no worker runs").Hint("Start one.")
	broken := pending.Reason{Kind: pending.Mesh, Detail: "no worker runs", Action: "Start one."}

	want(first.ID, pending.Reason{Kind: pending.Worker})
	want(second.ID, pending.Reason{Kind: pending.PrecedingTurn, TurnID: first.ID})
	k.Engine.Lose(lost)
	want(first.ID, broken)
	want(second.ID, pending.Reason{Kind: pending.PrecedingTurn, TurnID: first.ID})

	k.Begin(first, &turnv1.Surface{})
	want(first.ID, pending.Reason{}) // something has just happened
	k.Clock.Advance(11 * time.Second)
	want(first.ID, broken)
	k.Engine.Lose(nil)
	want(first.ID, pending.Reason{}) // a model may think for long

	k.Finish(first)
	want(first.ID, pending.Reason{})
}
