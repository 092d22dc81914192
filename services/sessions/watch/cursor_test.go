package watch

import (
	"testing"

	"pgregory.net/rapid"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func TestCursorsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Position{Seq: rapid.Uint32Min(1).Draw(t, "seq"), N: rapid.Uint32().Draw(t, "n")}
		if got, err := Parse(p.String()); err != nil || got != p {
			t.Fatalf("%s read back as %+v, %v", p, got, err)
		}
	})
}

func TestOnlyCanonicalCursorsAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[0-9]{0,11}(\.[0-9]{0,3})?`)).Draw(t, "text")
		if p, err := Parse(text); err == nil && p.String() != text {
			t.Fatalf("%q was read as %s", text, p)
		}
	})
}

func TestPositionCountsDeltasOfTheOpenMessage(t *testing.T) {
	var p Position
	step := func(want string, e *turnv1.Event) {
		t.Helper()
		if e.GetDelta() > 0 {
			p.TakeDelta(e)
		} else {
			p.Take(e)
		}
		if p.String() != want {
			t.Fatalf("cursor %s, want %s", p, want)
		}
	}
	queued := &turnv1.Event_TurnQueued{TurnQueued: &turnv1.TurnQueued{}}
	step("1", &turnv1.Event{Seq: 1, Data: queued})
	step("1", &turnv1.Event{Seq: 1, Delta: 1}) // no message is open
	step("2", &turnv1.Event{Seq: 2, Data: &turnv1.Event_MessageStarted{}})
	step("2.1", &turnv1.Event{Seq: 2, Delta: 1})
	step("2.1", &turnv1.Event{Seq: 2, Delta: 1}) // seen
	step("2.2", &turnv1.Event{Seq: 2, Delta: 2})
	step("3.2", &turnv1.Event{Seq: 3, Data: queued}) // another turn's event in mid-message
	step("3.3", &turnv1.Event{Seq: 2, Delta: 3})
	step("4", &turnv1.Event{Seq: 4, TurnId: "trn_1", Data: &turnv1.Event_MessageReset{}})
	step("4", &turnv1.Event{Seq: 2, Delta: 4}) // of the attempt before
	step("4.1", &turnv1.Event{Seq: 4, Delta: 1})
	step("5.1", &turnv1.Event{Seq: 5, TurnId: "trn_2", Data: &turnv1.Event_TurnEnded{}}) // a queued one
	step("5.2", &turnv1.Event{Seq: 4, Delta: 2})
	step("6", &turnv1.Event{Seq: 6, TurnId: "trn_1", Data: &turnv1.Event_TurnEnded{}})
	step("7", &turnv1.Event{Seq: 7, TurnId: "trn_3", Data: &turnv1.Event_MessageStarted{}})
	step("7.1", &turnv1.Event{Seq: 7, Delta: 1})
	step("8", &turnv1.Event{Seq: 8, TurnId: "trn_3", Data: &turnv1.Event_MessageCompleted{}})
}
