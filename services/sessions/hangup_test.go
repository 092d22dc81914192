package sessions_test

import (
	"context"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpg"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
)

// What is committed although its caller has hung up during the COMMIT is published at once: nothing polls here.
func TestACallerThatHangsUpDuringTheCommitHoldsNothingBack(t *testing.T) {
	url := tables.Postgres(t)
	k := newKit(t, options{db: openURL(t, url, 8), cfg: sessions.Config{PollActive: time.Hour, PollIdle: time.Hour}})
	turn := k.newTurn("hello")
	w := k.worker(turn)
	w.begin()
	stream, err := k.turns.WatchTurn(t.Context(), &sessionsv1.WatchTurnRequest{TurnId: turn.GetId()})
	must(t, err)
	for e := (&turnv1.Event{}); e.GetStepFinished() == nil; { // the watcher is attached when it has read the journal
		r, err := stream.Recv()
		must(t, err)
		e = r.GetEvent()
	}
	inCommit, release := testpg.HoldCommits(t, url, "sessions.turn_journal")
	ctx, hangUp := context.WithCancel(t.Context())
	steered := make(chan error, 1)
	go func() {
		_, err := k.turns.SteerTurn(ctx, &sessionsv1.SteerTurnRequest{TurnId: turn.GetId(), Input: "more"})
		steered <- err
	}()
	inCommit()
	hangUp()
	release()
	if err := <-steered; err != nil { // the caller may be told either
		t.Log(err)
	}
	r, err := stream.Recv()
	must(t, err)
	if r.GetEvent().GetInputAccepted() == nil {
		t.Errorf("the watcher gets %v", r.GetEvent())
	}
}

// Who watches a session learns at once that it is deleted, on any replica.
func TestWatchersOfADeletedSessionAreToldAtOnce(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres, cfg: sessions.Config{PollActive: time.Hour, PollIdle: time.Hour}})
		turn := k.newTurn("hello")
		w := k.worker(turn)
		w.begin()
		w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")
		replica := newKit(t, options{db: k.db, bus: k.bus, idle: true, cfg: sessions.Config{PollActive: time.Hour, PollIdle: time.Hour}})
		stream, err := replica.turns.WatchTurn(t.Context(), &sessionsv1.WatchTurnRequest{SessionId: turn.GetSessionId()})
		must(t, err)
		for e := (&turnv1.Event{}); e.GetTurnEnded() == nil; {
			r, err := stream.Recv()
			must(t, err)
			e = r.GetEvent()
		}
		_, err = k.sessions.DeleteSession(t.Context(), &sessionsv1.DeleteSessionRequest{SessionId: turn.GetSessionId()})
		must(t, err)
		_, err = stream.Recv()
		wantFault(t, err, "not_found")
	})
}

// A commit that the database undoes once because of others, and that runs again, counts the compacted messages once.
func TestARetriedCommitCountsCompactedMessagesOnce(t *testing.T) {
	k := newKit(t, options{postgres: true})
	k.agent("assistant")
	ses := k.session()
	k.worker(k.turn(ses.GetId(), "one")).run("first")
	w := k.worker(k.turn(ses.GetId(), "two"))
	w.begin()
	messages := w.context().GetMessages()
	compact := func(key, id string, to *turnv1.Message) {
		w.commit(key, w.lease(key), func(req *executionv1.CommitStepRequest) {
			req.Events = []*turnv1.Event{{Data: &turnv1.Event_ContextCompacted{ContextCompacted: &turnv1.ContextCompacted{
				FromSeq: 1, ToSeq: to.GetSeq(), ToMessageId: to.GetId(), MessageId: id, Summary: "S", Messages: 2,
			}}}}
		})
	}
	compact("compact-1", "msg_s1", messages[1])
	must(t, k.db.Write(t.Context(), func(tx sqldb.Tx) error {
		for _, statement := range []string{
			"CREATE SEQUENCE tries",
			`CREATE FUNCTION undo_once() RETURNS trigger LANGUAGE plpgsql AS
				'BEGIN IF nextval(''tries'') = 1 THEN RAISE EXCEPTION ''conflict'' USING ERRCODE = ''40001''; END IF; RETURN NEW; END'`,
			"CREATE TRIGGER undo_once BEFORE INSERT ON compactions FOR EACH ROW EXECUTE FUNCTION undo_once()",
		} {
			if _, err := tx.ExecContext(t.Context(), statement); err != nil {
				return err
			}
		}
		return nil
	}))
	compact("compact-2", "msg_s2", messages[3])
	found := k.events(ses.GetId(), "context.compacted")
	if got := found[len(found)-1].GetContextCompacted().GetMessages(); len(found) != 2 || got != 4 {
		t.Errorf("%d compactions, the last of %d messages, want 4", len(found), got)
	}
}
