package sessions_test

import (
	"log/slog"
	"testing"
	"time"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
)

func (k *kit) recover() sessions.Recovered {
	k.t.Helper()
	done, err := sessions.Recover(k.t.Context(), sessions.Config{}, k.db, slog.New(slog.DiscardHandler))
	must(k.t, err)
	return done
}

// After a restore each turn in progress has failed with an unknown outcome, whatever it was doing, and none is run again; turns that were
// over stay as they are.
func TestRecoverEndsTheTurnsInProgress(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		killed := newKit(t, options{postgres: postgres, idle: true})
		killed.agent("assistant")
		session := killed.session().GetId()
		waiting, queued := killed.turn(session, "waits"), killed.turn(session, "is behind it")
		w := killed.worker(waiting)
		w.begin()
		w.answer("infer-1", w.lease("infer-1"), &turnv1.Message{ToolCalls: []*turnv1.ToolCall{{
			CallId: "c1", Tool: "bank__pay", ArgumentsJson: "{}",
		}}}, 0)
		w.waits("tool-1.0", approvalOf(nil))
		held := killed.turn(killed.session().GetId(), "has a worker")
		killed.worker(held).lease("begin")
		over := killed.turn(killed.session().GetId(), "is over")
		killed.worker(over).ahead("done")
		want := killed.read(over.GetId())

		done := killed.recover()
		states := map[string]string{}
		for _, turn := range done.Turns {
			states[turn.ID] = turn.Status
		}
		if len(done.Turns) != 3 || states[waiting.GetId()] != "waiting" || states[queued.GetId()] != "queued" || states[held.GetId()] == "" {
			t.Errorf("ended %v", done.Turns)
		}
		for _, turn := range []*sessionsv1.Turn{waiting, queued, held} {
			got := killed.read(turn.GetId())
			if got.GetStatus() != turnv1.TurnStatus_TURN_STATUS_FAILED || got.GetError().GetCode() != "outcome_unknown" {
				t.Errorf("%s: %v", turn.GetInput(), got)
			}
			if n := len(killed.events(turn.GetSessionId(), "turn.failed")); n == 0 {
				t.Errorf("%s: the journal does not say how it ended", turn.GetInput())
			}
		}
		if got := killed.read(over.GetId()); got.GetStatus() != want.GetStatus() || got.GetOutput() != want.GetOutput() {
			t.Errorf("a turn that was over: %v, want %v", got, want)
		}
		if open := killed.events(session, "approval.resolved"); len(open) != 1 {
			t.Errorf("the approval is still asked for: %v", open)
		}
		if again := killed.recover(); len(again.Turns) != 0 {
			t.Errorf("ended again: %v", again.Turns)
		}
		k := newKit(t, options{db: killed.db, cfg: sessions.Config{SweepInterval: 20 * time.Millisecond}})
		next := k.turn(session, "goes on")
		k.worker(next).ahead("fine")
	})
}

// A turn that interrupted another one is newer than what is queued behind it, and no queued turn becomes the next one when it ends.
func TestRecoverEndsWhatAnInterruptLeft(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		killed := newKit(t, options{postgres: postgres, idle: true})
		killed.agent("assistant")
		session := killed.session().GetId()
		killed.turn(session, "first")
		waits := killed.turn(session, "waits")
		active := killed.send(session, "cuts in", "interrupt")
		before, err := killed.sessions.GetSession(t.Context(), &sessionsv1.GetSessionRequest{SessionId: session})
		must(t, err)
		if before.GetActiveTurnId() != active.GetId() {
			t.Fatalf("active is %s", before.GetActiveTurnId())
		}
		done := killed.recover()
		if len(done.Turns) != 2 || done.Turns[0].ID != waits.GetId() || done.Turns[1].ID != active.GetId() {
			t.Errorf("ended %v", done.Turns)
		}
		after, err := killed.sessions.GetSession(t.Context(), &sessionsv1.GetSessionRequest{SessionId: session})
		must(t, err)
		if after.GetActiveTurnId() != "" {
			t.Errorf("%s is to run", after.GetActiveTurnId())
		}
		k := newKit(t, options{db: killed.db})
		next := k.turn(session, "goes on")
		k.worker(next).begin()
		got, err := k.exec.GetContext(t.Context(), &executionv1.GetContextRequest{TurnId: next.GetId()})
		must(t, err)
		if s := said(got); s != "first|cuts in|goes on|" {
			t.Errorf("the next turn reads %s", s)
		}
	})
}

// After a restore no time of a schedule is made up for that passed before it, and the times after it fire.
func TestRecoverGivesUpTimesOfSchedules(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		killed := newKit(t, eachSecond(options{postgres: postgres, idle: true}))
		killed.agent("assistant")
		hour := hours()
		killed.schedule(&sessionsv1.Schedule{Id: "queues", Overlap: "queue", Interval: "1h"})
		killed.schedule(&sessionsv1.Schedule{Id: "quick", Interval: "1s"})
		killed.fires("queues", hour(0), "started")
		killed.fires("queues", hour(1), "queued")
		before := time.Now().Truncate(time.Second)
		if done := killed.recover(); done.Fires != 1 || len(done.Turns) != 1 {
			t.Errorf("recovered %+v", done)
		}
		k := newKit(t, eachSecond(options{db: killed.db}))
		k.fires("quick", before, "missed")
		k.fires("quick", before.Add(time.Hour), "started")
		if recent := k.scheduled("queues").GetRecent(); recent[1].GetError() != "the mesh was restored from a backup" {
			t.Errorf("recent fires %v", recent)
		}
	})
}
