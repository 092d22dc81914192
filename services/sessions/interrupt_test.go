package sessions_test

import (
	"fmt"
	"testing"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

// send creates a turn with a mode.
func (k *kit) send(session, input, mode string) *sessionsv1.Turn {
	k.t.Helper()
	turn, err := k.turns.CreateTurn(k.t.Context(), &sessionsv1.CreateTurnRequest{SessionId: session, Input: input, Mode: mode})
	must(k.t, err)
	return turn
}

// happened lists the session's events after a seq, as "type turn-input".
func (k *kit) happened(session string, after uint32) []string {
	k.t.Helper()
	x, err := k.sessions.ExportSession(k.t.Context(), &sessionsv1.ExportSessionRequest{SessionId: session, IncludeEvents: true})
	must(k.t, err)
	inputs := map[string]string{}
	for _, t := range x.GetTurns() {
		inputs[t.GetId()] = t.GetInput()
	}
	var out []string
	for _, e := range x.GetEvents() {
		if e.GetSeq() > after {
			out = append(out, e.GetType()+" "+inputs[e.GetTurnId()])
		}
	}
	return out
}

func TestAnInterruptRunsNext(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		k.agent("assistant")
		ses := k.session().GetId()
		first := k.turn(ses, "first")
		k.dispatcher.await(t, func(d *dispatcher) bool { return d.started(first.GetId()) })
		w := k.worker(first)
		w.begin()
		waits := k.turn(ses, "waits")
		now, err := k.sessions.GetSession(t.Context(), &sessionsv1.GetSessionRequest{SessionId: ses})
		must(t, err)
		cuts := k.send(ses, "cuts in", "interrupt")
		k.dispatcher.await(t, func(d *dispatcher) bool { return fmt.Sprint(d.cancels) == fmt.Sprint([]string{first.GetId()}) })
		again := k.send(ses, "cuts in again", "interrupt")
		want := "[turn.cancel_requested first turn.queued cuts in turn.queued cuts in again]"
		if got := k.happened(ses, now.GetLastSeq()); fmt.Sprint(got) != want {
			t.Fatalf("events %q", got)
		}
		w.answer("infer-1", w.lease("infer-1"), &turnv1.Message{Content: executiontest.Text("half")}, 0)
		if next := w.finish(turnv1.TurnStatus_TURN_STATUS_CANCELLED, "cancelled").GetNextTurnId(); next != again.GetId() {
			t.Fatalf("next is %s", next)
		}
		if next := k.worker(again).run("answer").GetNextTurnId(); next != cuts.GetId() {
			t.Fatalf("then comes %s", next)
		}
		got, err := k.exec.GetContext(t.Context(), &executionv1.GetContextRequest{TurnId: again.GetId()})
		must(t, err)
		if s := said(got); s != "first|half|cuts in again|calls|3|answer|" {
			t.Errorf("an interrupt reads %s", s)
		}
		if next := k.worker(cuts).run("answer").GetNextTurnId(); next != waits.GetId() {
			t.Fatalf("at last comes %s", next)
		}
		k.worker(waits).begin()
		got, err = k.exec.GetContext(t.Context(), &executionv1.GetContextRequest{TurnId: waits.GetId()})
		must(t, err)
		if s := said(got); s != "first|half|cuts in again|calls|3|answer|cuts in|calls|3|answer|waits|" {
			t.Errorf("who waited reads %s", s)
		}
	})
}

func TestAnInterruptEndsATurnThatNobodyHasTaken(t *testing.T) {
	k := newKit(t, options{idle: true})
	k.agent("assistant")
	ses := k.session().GetId()
	k.turn(ses, "first")
	k.turn(ses, "waits")
	turn := k.send(ses, "cuts in", "interrupt")
	want := "[turn.cancel_requested first turn.queued cuts in turn.cancelled first]"
	if got := k.happened(ses, 2); fmt.Sprint(got) != want {
		t.Errorf("events %q", got)
	}
	now, err := k.sessions.GetSession(t.Context(), &sessionsv1.GetSessionRequest{SessionId: ses})
	must(t, err)
	if now.GetActiveTurnId() != turn.GetId() {
		t.Errorf("active is %s", now.GetActiveTurnId())
	}
}

func TestAnInterruptOfNothingIsATurn(t *testing.T) {
	k := newKit(t, options{idle: true})
	k.agent("assistant")
	ses := k.session().GetId()
	req := &sessionsv1.CreateTurnRequest{SessionId: ses, Input: "hello", Mode: "interrupt", IdempotencyKey: "k"}
	turn, err := k.turns.CreateTurn(t.Context(), req)
	must(t, err)
	again, err := k.turns.CreateTurn(t.Context(), req)
	must(t, err)
	if again.GetId() != turn.GetId() {
		t.Errorf("the same request made %s and %s", turn.GetId(), again.GetId())
	}
	if got := k.happened(ses, 0); fmt.Sprint(got) != "[turn.queued hello]" {
		t.Errorf("events %q", got)
	}
}
