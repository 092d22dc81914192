package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/services/sessions/store"
)

func addSchedule(t *testing.T, s *store.Store, v store.Schedule) store.Schedule {
	t.Helper()
	v.Tenant, v.Revision, v.Data, v.Principal, v.CreateUs = tenant, 1, []byte("d"), []byte("p"), 5
	write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.AddSchedule(ctx, v) })
	return v
}

func schedules(t *testing.T, s *store.Store) {
	a := addSchedule(t, s, store.Schedule{ID: "a", Subject: "ann", CheckUs: 10})
	b := addSchedule(t, s, store.Schedule{ID: "b", Subject: "bob", CheckUs: 20, Paused: true})
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
	due, err := s.DueSchedules(t.Context(), 15, 9)
	must(t, err)
	if len(due) != 1 || due[0].ID != "a" {
		t.Errorf("due %+v", due)
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		first, err := tx.TakeSchedule(ctx, a, 100)
		if err != nil {
			return err
		}
		second, err := tx.TakeSchedule(ctx, a, 100)
		if !first || second {
			t.Errorf("taken %v, and again %v", first, second)
		}
		if err != nil {
			return err
		}
		if err := tx.SetUnsynced(ctx, a, 30); err != nil {
			return err
		}
		now, err := tx.LockSchedule(ctx, tenant, "a")
		if now.Attempts != 1 || now.CheckUs != 30 {
			t.Errorf("not told: %+v", now)
		}
		now.Revision, now.CheckUs, now.Deleted = 2, 0, true
		if err := errors.Join(err, tx.SaveSchedule(ctx, now)); err != nil {
			return err
		}
		if err := errors.Join(tx.SetSynced(ctx, a, 900), tx.ForgetSchedule(ctx, a)); err != nil { // of the revision before
			return err
		}
		now, err = tx.LockSchedule(ctx, tenant, "a")
		if now.Synced != 1 || now.CheckUs != 0 || now.Attempts != 0 {
			t.Errorf("told of what is old: %+v", now)
		}
		return errors.Join(err, tx.ForgetSchedule(ctx, now))
	})
	if _, err := s.Schedule(t.Context(), tenant, "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("forgotten: %v", err)
	}
}

func fires(t *testing.T, s *store.Store) {
	addSession(t, s, "ses_1", "trn_1")
	addSchedule(t, s, store.Schedule{ID: "a"})
	put := func(n int64, outcome, turn string, pending bool) store.Fire {
		f := store.Fire{
			Tenant: tenant, ScheduleID: "a", Key: fmt.Sprint("k", n), DueUs: n, CreateUs: 100 + n, Outcome: outcome, Pending: pending, LookUs: 200 - n, TurnID: turn,
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.PutFire(ctx, f) })
		return f
	}
	first := put(1, "starting", "", true)
	first.Outcome, first.Pending, first.TurnID, first.SessionID, first.Error = "started", false, "trn_1", "ses_1", "e"
	put(2, "queued", "", true)
	put(3, "missed", "", false)
	put(4, "failed", "trn_gone", false)
	last := put(5, "skipped", "", false)
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
		pending, err := tx.PendingFiresOf(ctx, tenant, "a")
		if err != nil || len(pending) != 1 || pending[0].Key != "k2" {
			t.Errorf("pending %+v, %v", pending, err)
		}
		for us, want := range map[int64]bool{104: true, 105: false} { // k5 itself does not count, nor what was missed
			if fired, err := tx.FiredSince(ctx, tenant, "a", last.Key, us); err != nil || fired != want {
				t.Errorf("fired since %d: %v, %v", us, fired, err)
			}
		}
		return tx.TrimFires(ctx, tenant, "a", 1)
	})
	due, err := s.PendingFires(t.Context(), 198, 9)
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
