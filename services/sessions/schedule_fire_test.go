package sessions_test

import (
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/enum"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
)

// fire is the clock.
func (k *kit) fire(id string, due time.Time) *executionv1.FireScheduleResponse {
	k.t.Helper()
	got, err := k.asWorker().FireSchedule(k.t.Context(),
		&executionv1.FireScheduleRequest{Tenant: "default", ScheduleId: id, DueTime: timestamppb.New(due)})
	must(k.t, err)
	return got
}

func (k *kit) fires(id string, due time.Time, want string) *sessionsv1.Turn {
	k.t.Helper()
	got := k.fire(id, due)
	if enum.Name(got.GetOutcome()) != want {
		k.t.Fatalf("fire of %s at %v: %v, want %s (%v)", id, due, got, want, k.scheduled(id))
	}
	if got.GetTurnId() == "" {
		return nil
	}
	return k.read(got.GetTurnId())
}

func (k *kit) read(id string) *sessionsv1.Turn {
	k.t.Helper()
	turn, err := k.turns.GetTurn(k.t.Context(), &sessionsv1.GetTurnRequest{TurnId: id})
	must(k.t, err)
	return turn
}

// ends ends a turn that somebody may have taken.
func (k *kit) ends(turn *sessionsv1.Turn) {
	w := k.worker(turn)
	w.begin()
	w.finish(turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end")
}

// hours counts from a time that does not come while the test runs, so that none of them is missed.
func hours() func(n int) time.Time {
	first := time.Now().Add(2 * time.Hour).Truncate(time.Hour)
	return func(n int) time.Time { return first.Add(time.Duration(n) * time.Hour) }
}

// eachSecond are options with which schedules may fire that often.
func eachSecond(o options) options {
	o.cfg.Schedules.MinInterval = time.Second
	return o
}

func TestAFireIsOneTurn(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		hour := hours()
		k.agent("assistant")
		k.schedule(&sessionsv1.Schedule{Id: "one", DisplayName: "News", Input: "say hello"})
		at := hour(0)
		turn := k.fires("one", at, "started")
		if again := k.fires("one", at, "started"); again.GetId() != turn.GetId() {
			t.Errorf("fired again: %s, not %s", again.GetId(), turn.GetId())
		}
		if turn.GetScheduleId() != "one" || turn.GetSubject() != "local" || turn.GetInput() != "say hello" || turn.GetAgentId() != "assistant" {
			t.Errorf("turn %v", turn)
		}
		ses, err := k.sessions.GetSession(t.Context(), &sessionsv1.GetSessionRequest{SessionId: turn.GetSessionId()})
		must(t, err)
		if ses.GetLabels()["schedule"] != "one" || ses.GetTitle() != "News" {
			t.Errorf("session %v", ses)
		}
		k.ends(turn)
		next := k.fires("one", hour(1), "started")
		if next.GetSessionId() == turn.GetSessionId() {
			t.Error("the next fire is in the same session")
		}
		v := k.scheduled("one")
		if v.GetLastTurnId() != next.GetId() || v.GetLastFireTime() == nil || len(v.GetRecent()) != 2 ||
			v.GetRecent()[0].GetTurnId() != next.GetId() {
			t.Errorf("schedule %v", v)
		}
		turns, err := k.turns.ListTurns(t.Context(), &sessionsv1.ListTurnsRequest{})
		must(t, err)
		if len(turns.GetTurns()) != 2 || turns.GetTurns()[0].GetScheduleId() != "one" {
			t.Errorf("turns %v", turns)
		}
		if got := k.fire("none", at); enum.Name(got.GetOutcome()) != "gone" {
			t.Errorf("a schedule that is not there: %v", got)
		}
		_, err = k.schedules().PauseSchedule(t.Context(), &sessionsv1.PauseScheduleRequest{ScheduleId: "one"})
		must(t, err)
		if got := k.fire("one", hour(2)); enum.Name(got.GetOutcome()) != "gone" {
			t.Errorf("a schedule that is paused: %v", got)
		}
	})
}

// TestAFireAtNoTimeOfTheScheduleIsRefused: who can start workflows in Temporal, or trigger its schedules, starts no turn.
func TestAFireAtNoTimeOfTheScheduleIsRefused(t *testing.T) {
	k := newKit(t, options{})
	hour := hours()
	k.agent("assistant")
	k.schedule(&sessionsv1.Schedule{Id: "one"})
	for _, at := range []time.Time{time.Now(), hour(0).Add(time.Second), hour(0).Add(-time.Microsecond)} {
		if got := k.fire("one", at); enum.Name(got.GetOutcome()) != "gone" || got.GetTurnId() != "" {
			t.Errorf("at %v: %v", at, got)
		}
	}
	if v := k.scheduled("one"); len(v.GetRecent()) != 0 || v.GetLastFireTime() != nil {
		t.Errorf("schedule %v", v)
	}
	k.fires("one", hour(0), "started")
}

func TestOverlap(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres, cfg: sessions.Config{SweepInterval: 20 * time.Millisecond}})
		hour := hours()
		k.agent("assistant")
		for _, policy := range []string{"skip", "queue", "allow"} {
			k.schedule(&sessionsv1.Schedule{Id: policy, Overlap: policy})
		}
		one := k.fires("skip", hour(0), "started")
		k.fires("skip", hour(1), "skipped")
		if why := k.scheduled("skip").GetRecent()[0]; why.GetError() != "a turn of the schedule has not ended yet" || why.GetTurnId() != "" {
			t.Errorf("skipped %v", why)
		}
		k.ends(one)
		k.fires("skip", hour(2), "started")

		k.fires("allow", hour(0), "started")
		k.fires("allow", hour(1), "started")

		first := k.fires("queue", hour(0), "started")
		k.fires("queue", hour(1), "queued")
		k.fires("queue", hour(2), "queued")
		k.ends(first)
		v := k.becomes("queue", func(v *sessionsv1.Schedule) bool {
			return v.GetRecent()[1].GetOutcome() == sessionsv1.FireOutcome_FIRE_OUTCOME_STARTED
		})
		if v.GetRecent()[0].GetOutcome() != sessionsv1.FireOutcome_FIRE_OUTCOME_QUEUED {
			t.Errorf("both began: %v", v)
		}
		k.ends(k.read(v.GetLastTurnId()))
		k.becomes("queue", func(v *sessionsv1.Schedule) bool {
			return v.GetRecent()[0].GetOutcome() == sessionsv1.FireOutcome_FIRE_OUTCOME_STARTED
		})
		for n := 3; n < 13; n++ {
			k.fires("queue", hour(n), "queued")
		}
		k.fires("queue", hour(13), "skipped")
	})
}

func TestAScheduleOfASession(t *testing.T) {
	k := newKit(t, options{})
	hour := hours()
	k.agent("assistant")
	ses := k.session().GetId()
	busy := k.turn(ses, "hello")
	k.schedule(&sessionsv1.Schedule{Id: "one", SessionId: ses})
	turn := k.fires("one", hour(0), "started")
	if turn.GetSessionId() != ses || turn.GetStatus() != turnv1.TurnStatus_TURN_STATUS_QUEUED {
		t.Errorf("turn %v", turn)
	}
	k.fires("one", hour(1), "skipped") // its own turn waits
	k.ends(busy)
	k.ends(turn)
	k.fires("one", hour(2), "started")
}

func TestAFireThatBeginsNothingSaysWhy(t *testing.T) {
	k := newKit(t, options{})
	hour := hours()
	k.agent("assistant")
	k.schedule(&sessionsv1.Schedule{Id: "one"})
	k.policy.deny("sessions.turns.create")
	k.fires("one", hour(0), "failed")
	want := `"local", for whom the schedule runs, does not hold the permission sessions.turns.create any more`
	if v := k.scheduled("one"); v.GetLastError() != want || v.GetRecent()[0].GetError() != want {
		t.Errorf("schedule %v", v)
	}
	_, err := k.schedules().RunSchedule(t.Context(), &sessionsv1.RunScheduleRequest{ScheduleId: "one"})
	wantFault(t, err, "permission_denied")
	k.policy.deny()
	k.fires("one", hour(0), "failed") // it stays so
	turn := k.fires("one", hour(1), "started")
	if v := k.scheduled("one"); v.GetLastError() != "" {
		t.Errorf("after a good one: %v", v)
	}
	k.ends(turn)
	_, err = k.agents.DeleteAgent(t.Context(), &sessionsv1.DeleteAgentRequest{AgentId: "assistant"})
	must(t, err)
	k.fires("one", hour(2), "failed")
	if v := k.scheduled("one"); v.GetLastError() == "" {
		t.Errorf("without its agent: %v", v)
	}
}

func TestAFireGoesOnAfterTrouble(t *testing.T) {
	k := newKit(t, options{cfg: sessions.Config{SweepInterval: 20 * time.Millisecond}})
	hour := hours()
	k.agent("assistant")
	k.schedule(&sessionsv1.Schedule{Id: "one"})
	k.policy.away(true)
	if got := k.fire("one", hour(0)); enum.Name(got.GetOutcome()) != "starting" {
		t.Fatalf("fired while policy is away: %v", got)
	}
	if v := k.scheduled("one"); v.GetLastError() == "" {
		t.Errorf("schedule %v", v)
	}
	k.policy.away(false)
	v := k.becomes("one", func(v *sessionsv1.Schedule) bool { return v.GetLastTurnId() != "" })
	if v.GetRecent()[0].GetOutcome() != sessionsv1.FireOutcome_FIRE_OUTCOME_STARTED || v.GetLastError() != "" {
		t.Errorf("schedule %v", v)
	}
}

func TestMissedTimesAreMadeUpForOnce(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, eachSecond(options{postgres: postgres}))
		k.agent("assistant")
		began := time.Now().Truncate(time.Second)
		for _, stop := range []time.Duration{time.Hour / 2, time.Minute, 10 * time.Second, 3 * time.Second} { // with times at its thirds
			id := "s" + stop.String()
			k.schedule(&sessionsv1.Schedule{Id: id, Overlap: "allow", Interval: "1s"})
			k.fires(id, began.Add(-2*time.Hour), "missed")
			k.fires(id, began.Add(-stop), "started")
			k.fires(id, began.Add(-(stop * 2 / 3).Truncate(time.Second)), "missed")
			k.fires(id, began.Add(-(stop / 3).Truncate(time.Second)), "missed")
			k.fires(id, began.Add(time.Hour), "started")
			k.fires(id, began.Add(-stop), "started") // told again: it stays so
		}
	})
}

// TestReplicasMakeUpForOneMissedTime has two replicas told of all missed times at once.
func TestReplicasMakeUpForOneMissedTime(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, eachSecond(options{postgres: postgres}))
		other := newKit(t, eachSecond(options{db: k.db, bus: k.bus}))
		k.agent("assistant")
		k.schedule(&sessionsv1.Schedule{Id: "one", Overlap: "allow", Interval: "1s"})
		began := time.Now().Truncate(time.Second)
		var all sync.WaitGroup
		for i := range 12 {
			all.Go(func() { []*kit{k, other}[i%2].fire("one", began.Add(-time.Duration(1+i/2)*time.Second)) })
		}
		all.Wait()
		count := map[string]int{}
		for _, f := range k.scheduled("one").GetRecent() {
			count[enum.Name(f.GetOutcome())]++
		}
		if count["started"] != 1 || count["missed"] != 5 {
			t.Errorf("six missed times became %v", count)
		}
	})
}

// TestEqualRequestsToRunAScheduleAnswerAlike sends 20 at once with one key, through two replicas.
func TestEqualRequestsToRunAScheduleAnswerAlike(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		other := newKit(t, options{db: k.db, bus: k.bus})
		k.agent("assistant")
		k.schedule(&sessionsv1.Schedule{Id: "one"})
		answers := make([]*sessionsv1.ScheduleFire, 20)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				got, err := []*kit{k, other}[i%2].schedules().RunSchedule(t.Context(),
					&sessionsv1.RunScheduleRequest{ScheduleId: "one", IdempotencyKey: "k"})
				if err != nil {
					t.Error(err)
				}
				answers[i] = got
			})
		}
		all.Wait()
		for _, got := range answers {
			if enum.Name(got.GetOutcome()) != "started" || got.GetTurnId() == "" || got.GetTurnId() != answers[0].GetTurnId() ||
				got.GetSessionId() != answers[0].GetSessionId() {
				t.Errorf("answered %v and %v", got, answers[0])
			}
		}
		list, err := k.turns.ListTurns(t.Context(), &sessionsv1.ListTurnsRequest{})
		must(t, err)
		if len(list.GetTurns()) != 1 {
			t.Errorf("%d turns began", len(list.GetTurns()))
		}
	})
}

func TestRunASchedule(t *testing.T) {
	k := newKit(t, options{})
	k.agent("assistant")
	k.schedule(&sessionsv1.Schedule{Id: "one", Paused: true})
	run := func(key string) *sessionsv1.ScheduleFire {
		t.Helper()
		f, err := k.schedules().RunSchedule(t.Context(), &sessionsv1.RunScheduleRequest{ScheduleId: "one", IdempotencyKey: key})
		must(t, err)
		return f
	}
	f := run("k")
	if enum.Name(f.GetOutcome()) != "started" || !f.GetManual() || k.read(f.GetTurnId()).GetScheduleId() != "one" {
		t.Errorf("fire %v", f)
	}
	if again := run("k"); again.GetTurnId() != f.GetTurnId() {
		t.Errorf("the same request: %v", again)
	}
	if other := run(""); enum.Name(other.GetOutcome()) != "skipped" {
		t.Errorf("while its turn runs: %v", other)
	}
}
