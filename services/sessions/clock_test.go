package sessions_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpoll"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/services/sessions/outbox"
)

// skews are how far the clocks of two replicas are from that of the database.
var skews = map[string][2]time.Duration{
	"an hour apart":       {-30 * time.Minute, 30 * time.Minute},
	"an hour ahead":       {0, time.Hour},
	"three seconds ahead": {0, 3 * time.Second},
	"five seconds ahead":  {0, 5 * time.Second},
	"five seconds behind": {0, -5 * time.Second},
}

// TestReplicasWithWrongClocks: the database's clock judges leases, waits and lost turns, not that of the replica that is asked.
func TestReplicasWithWrongClocks(t *testing.T) {
	for name, skew := range skews {
		t.Run("postgres, "+name, func(t *testing.T) {
			url := tables.Postgres(t)
			wrongClocks(t, openSkewed(t, url, skew[0]), openSkewed(t, url, skew[1]))
		})
	}
	// A SQLite file belongs to one process: its clock is the host's, which need not be that of who calls.
	t.Run("sqlite, two services on a file", func(t *testing.T) {
		db := openSkewed(t, tables.SQLite(t), time.Hour)
		wrongClocks(t, db, db)
	})
}

// openSkewed opens a database from a host whose clock is wrong.
func openSkewed(t *testing.T, url string, skew time.Duration) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{
		URL: url, Schema: "sessions", MaxConns: 2, HostTime: func() time.Time { return time.Now().Add(skew) },
	})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return db
}

func wrongClocks(t *testing.T, first, second *sqldb.DB) {
	cfg := sessions.Config{SweepInterval: 5 * time.Millisecond, LostAfter: time.Minute}
	one, two := newKit(t, options{db: first, cfg: cfg}), newKit(t, options{db: second, cfg: cfg})
	for _, k := range []*kit{one, two} { // a turn that seems lost is started again, and then fails
		k.dispatcher.set(func(d *dispatcher) { d.state = outbox.WorkflowMissing })
	}
	began := first.Now().Add(-time.Second)
	w := one.worker(one.newTurn("hello"))
	w.begin()
	other := two.worker(w.turn)
	other.owner = "w2"
	const ttl, slack = 60_000 * time.Millisecond, time.Second // half a round trip on a loaded machine is less
	for _, pair := range [][2]*worker{{w, other}, {other, w}} {
		key := "infer-1"
		if pair[0] == other {
			key = "infer-2"
		}
		from := first.Now()
		claim := &executionv1.ClaimStepRequest{
			TurnId: w.turn.GetId(), Step: ref(key), Owner: pair[0].owner, Ttl: durationpb.New(ttl),
			Model: "test/model",
		}
		claimed, err := pair[0].exec.ClaimStep(t.Context(), claim)
		must(t, err)
		lease := claimed.GetLease()
		got, err := pair[1].claim(key)
		must(t, err)
		left, passed := got.GetBusy().GetExpiresIn().AsDuration(), first.Now().Sub(from)
		if left > ttl+slack || left < ttl-passed-slack {
			t.Fatalf("the other replica says that the lease of %s holds for %s more, %s after it was given", ttl, left, passed)
		}
		renewed := &executionv1.RenewStepRequest{TurnId: w.turn.GetId(), Step: key, Fence: lease.GetFence(), Ttl: durationpb.New(ttl)}
		if _, err := pair[1].exec.RenewStep(t.Context(), renewed); err != nil {
			t.Fatalf("the other replica does not renew a lease: %v", err)
		}
		calls := []*turnv1.ToolCall{
			{CallId: "c1", Tool: "bank__pay", ArgumentsJson: "{}"},
			{CallId: "c2", Tool: "bank__pay", ArgumentsJson: "{}"},
		}
		pair[1].answer(key, lease, &turnv1.Message{ToolCalls: calls}, 0)
	}
	from := first.Now()
	long := w.waits("tool-2.0", approvalOf(func(r *executionv1.WaitRequest) { r.ExpiresIn = durationpb.New(10 * time.Minute) }))
	if in := time.UnixMicro(long.GetExpireMicros()).Sub(from); in < 600*time.Second-slack || in > 600*time.Second+slack+first.Now().Sub(from) {
		t.Errorf("a wait of 600 s expires in %s", in)
	}
	_, err := two.exec.ExpireWaits(t.Context(), &executionv1.ExpireWaitsRequest{TurnId: w.turn.GetId()})
	must(t, err)
	// The sweeps end the short wait when its time is up. By then they have looked for lost turns too.
	other.waits("tool-2.1", approvalOf(func(r *executionv1.WaitRequest) { r.ExpiresIn, r.CallId = durationpb.New(50*time.Millisecond), "c2" }))
	testpoll.Until(t, "the short wait is over", func() bool { return other.find("wait-2.1") != nil })
	if got := other.find("wait-2.1").GetAnswer().GetVerdict(); got != turnv1.Verdict_VERDICT_EXPIRED {
		t.Errorf("the short wait ended with %s", got)
	}
	if got := w.find("wait-2.0"); got != nil {
		t.Errorf("the wait %s of 600 s is over: %v", long.GetId(), got)
	}
	end := first.Now().Add(time.Second)
	for _, k := range []*kit{one, two} {
		k.dispatcher.set(func(d *dispatcher) {
			for _, s := range d.starts {
				if s.Again {
					t.Error("the turn was taken for lost")
				}
			}
		})
	}
	_, err = two.turns.CancelTurn(t.Context(), &sessionsv1.CancelTurnRequest{TurnId: w.turn.GetId()})
	must(t, err)
	w.finish(turnv1.TurnStatus_TURN_STATUS_CANCELLED, "cancelled")
	for _, r := range one.watchTurn(w.turn, "") {
		e := r.GetEvent()
		if at := e.GetTime().AsTime(); at.Before(began) || e.GetTurnEnded() == nil && at.After(end.Add(time.Minute)) {
			t.Errorf("%s happened at %s, which is not between %s and %s", e.GetType(), at, began, end)
		}
		if e.GetTurnRecovered() != nil || e.GetMessageReset() != nil {
			t.Errorf("a step was taken over: %v", e)
		}
	}
}

// find reads the outcome of a step, nil while there is none.
func (w *worker) find(key string) *turnv1.StepOutcome {
	w.t.Helper()
	got, err := w.exec.GetOutcomes(context.Background(), &executionv1.GetOutcomesRequest{TurnId: w.turn.GetId()})
	must(w.t, err)
	for _, o := range got.GetOutcomes() {
		if o.GetKey() == key {
			return o
		}
	}
	return nil
}
