package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/scheduledb"
)

// at is a time of so many microseconds.
func at(us int64) time.Time { return time.UnixMicro(us).UTC() }

// everything is a spec with all fields set, though no schedule has all of them.
func everything(t *testing.T) scheduledb.ScheduleSpec {
	t.Helper()
	params, err := structpb.NewStruct(map[string]any{"city": "Oslo"})
	must(t, err)
	return scheduledb.ScheduleSpec{
		DisplayName: "A", Description: "first", AgentID: "agent", SessionID: "ses_1", Input: "hello", Params: params,
		Banks: []string{"hr", "it"}, Cron: "@hourly", TimeZone: "UTC", Interval: "1h", Overlap: scheduledb.OverlapQueue, Paused: true,
	}
}

func addSchedule(t *testing.T, s *store.Store, v scheduledb.Schedule) scheduledb.Schedule {
	t.Helper()
	v.Tenant, v.Revision, v.Principal, v.CreateTime = tenant, 1, []byte("p"), at(5)
	write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.AddSchedule(ctx, v) })
	return v
}

func schedules(t *testing.T, s *store.Store) {
	a := addSchedule(t, s, scheduledb.Schedule{ID: "a", Subject: "ann", NextSync: at(10), Spec: everything(t)})
	b := addSchedule(t, s, scheduledb.Schedule{
		ID: "b", Subject: "bob", NextSync: at(20),
		Spec: scheduledb.ScheduleSpec{Cron: "@daily", TimeZone: "Europe/Berlin", Paused: true},
	})
	list := func(subject, after string) string {
		t.Helper()
		rows, err := s.Schedules(t.Context(), tenant, subject, after, 9)
		must(t, err)
		var ids strings.Builder
		for _, row := range rows {
			ids.WriteString(row.ID)
		}
		return ids.String()
	}
	if got := list("", "") + "|" + list("bob", "") + "|" + list("", "a"); got != "ab|b|b" {
		t.Errorf("lists %q", got)
	}
	if got, err := s.Schedule(t.Context(), tenant, "b"); err != nil || fmt.Sprint(got) != fmt.Sprint(b) {
		t.Errorf("read %+v, %v, want %+v", got, err, b)
	}
	if got, err := s.Schedule(t.Context(), tenant, "a"); err != nil || !got.Spec.Equal(a.Spec) {
		t.Errorf("read %+v, %v, want %+v", got.Spec, err, a.Spec)
	}
	due, err := s.DueSchedules(t.Context(), at(15), 9)
	must(t, err)
	if len(due) != 1 || due[0].ID != "a" {
		t.Errorf("due %+v", due)
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		first, err := tx.ClaimSchedule(ctx, a, at(100))
		if err != nil {
			return err
		}
		second, err := tx.ClaimSchedule(ctx, a, at(100))
		if !first || second {
			t.Errorf("claimed %v, and again %v", first, second)
		}
		if err != nil {
			return err
		}
		if err := tx.SetUnsynced(ctx, a, at(30)); err != nil {
			return err
		}
		now, err := tx.LockSchedule(ctx, tenant, "a")
		if now.Attempts != 1 || !now.NextSync.Equal(at(30)) {
			t.Errorf("not synced: %+v", now)
		}
		now.Revision, now.NextSync, now.Deleted = 2, time.Time{}, true
		if err := errors.Join(err, tx.SaveSchedule(ctx, now)); err != nil {
			return err
		}
		if err := errors.Join(tx.SetSynced(ctx, a, at(900)), tx.RemoveSchedule(ctx, a)); err != nil { // of the revision before
			return err
		}
		now, err = tx.LockSchedule(ctx, tenant, "a")
		if now.Synced != 1 || !now.NextSync.IsZero() || now.Attempts != 0 {
			t.Errorf("synced at an old revision: %+v", now)
		}
		return errors.Join(err, tx.RemoveSchedule(ctx, now))
	})
	if _, err := s.Schedule(t.Context(), tenant, "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("removed: %v", err)
	}
}

func fires(t *testing.T, s *store.Store) {
	addSession(t, s, "ses_1", "trn_1")
	addSchedule(t, s, scheduledb.Schedule{ID: "a"})
	put := func(n int64, outcome scheduledb.FireOutcome, turn string) scheduledb.Fire {
		f := scheduledb.Fire{
			Tenant: tenant, ScheduleID: "a", Key: fmt.Sprint("k", n), Due: at(n), CreateTime: at(100 + n), Outcome: outcome,
			NextAttempt: at(200 - n), TurnID: turn,
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.PutFire(ctx, f) })
		return f
	}
	first := put(1, scheduledb.FireStarting, "")
	wantPending(t, s.ToFire, 1, 101)
	first.Outcome, first.TurnID, first.SessionID, first.Error = scheduledb.FireStarted, "trn_1", "ses_1", "e"
	put(2, scheduledb.FireQueued, "")
	put(3, scheduledb.FireMissed, "")
	put(4, scheduledb.FireFailed, "trn_gone")
	last := put(5, scheduledb.FireSkipped, "")
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.PutFire(ctx, first); err != nil {
			return err
		}
		got, err := tx.Fire(ctx, tenant, "a", "k1")
		if err != nil || got != first {
			t.Errorf("fire %+v, %v, want %+v", got, err, first)
		}
		running, err := tx.RunningFires(ctx, tenant, "a")
		if err != nil || running != 1 {
			t.Errorf("%d run, %v", running, err)
		}
		pending, err := tx.PendingFires(ctx, tenant, "a")
		if err != nil || len(pending) != 1 || pending[0].Key != "k2" {
			t.Errorf("pending %+v, %v", pending, err)
		}
		for us, want := range map[int64]bool{104: true, 105: false} { // k5 itself does not count, nor what was missed
			if fired, err := tx.FiredSince(ctx, tenant, "a", last.Key, at(us)); err != nil || fired != want {
				t.Errorf("fired since %d: %v, %v", us, fired, err)
			}
		}
		return tx.TrimFires(ctx, tenant, "a", 1)
	})
	wantPending(t, s.ToFire, 0, 0) // what is queued waits by choice
	due, err := s.DueFires(t.Context(), at(198), 9)
	must(t, err)
	if len(due) != 1 || due[0].Key != "k2" {
		t.Errorf("due %+v", due)
	}
	row, left, err := s.ScheduleWithFires(t.Context(), tenant, "a", 9)
	must(t, err)
	if row.ID != "a" {
		t.Errorf("schedule %+v", row)
	}
	var keys strings.Builder
	for _, f := range left {
		keys.WriteString(f.Key)
	}
	if keys.String() != "k5k2k1" { // the newest, what is pending, what still runs
		t.Errorf("left are %s", keys.String())
	}
}
