package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// saves checks that SaveTurn writes all that changes, whether columns of indexes are among it or not.
func saves(t *testing.T, s *store.Store) {
	addSession(t, s, "ses_1", "trn_1", "trn_2")
	for _, row := range []struct {
		name   string
		change func(turn *store.Turn)
		got    func(turn store.Turn) any
		want   any
	}{
		{"place in the journal", func(x *store.Turn) { x.LastSeq = 7 }, func(x store.Turn) any { return x.LastSeq }, uint32(7)},
		{"cancel", func(x *store.Turn) { x.CancelRequested = true }, func(x store.Turn) any { return x.CancelRequested }, true},
		{"model", func(x *store.Turn) { x.Model = "m" }, func(x store.Turn) any { return x.Model }, "m"},
		{
			"status", func(x *store.Turn) { x.Status = turnv1.TurnStatus_TURN_STATUS_RUNNING },
			func(x store.Turn) any { return x.Status }, turnv1.TurnStatus_TURN_STATUS_RUNNING,
		},
		{"start", func(x *store.Turn) { x.StartTime = sqldb.Time(3) }, func(x store.Turn) any { return x.StartTime }, sqldb.Time(3)},
		{"waits", func(x *store.Turn) { x.OpenWaits = 2 }, func(x store.Turn) any { return x.OpenWaits }, int64(2)},
		{"waits for people", func(x *store.Turn) { x.PeopleWaits = 1 }, func(x store.Turn) any { return x.PeopleWaits }, int64(1)},
		{"pause", func(x *store.Turn) { x.PausedSince = sqldb.Time(4) }, func(x store.Turn) any { return x.PausedSince }, sqldb.Time(4)},
		{"pause over", func(x *store.Turn) { x.PausedSince = time.Time{} }, func(x store.Turn) any { return x.PausedSince.IsZero() }, true},
		{"inputs", func(x *store.Turn) { x.Inputs = 5 }, func(x store.Turn) any { return x.Inputs }, uint32(5)},
		{"end", func(x *store.Turn) { x.EndTime = sqldb.Time(9) }, func(x store.Turn) any { return x.EndTime }, sqldb.Time(9)},
		{"after the end", func(x *store.Turn) { x.LastSeq = 8 }, func(x store.Turn) any { return x.LastSeq }, uint32(8)},
	} {
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			_, turn, err := tx.LockTurn(ctx, tenant, "trn_1")
			if err != nil {
				return err
			}
			row.change(&turn)
			return tx.SaveTurn(ctx, turn)
		})
		turn, err := s.Turn(t.Context(), tenant, "trn_1")
		must(t, err)
		if got := row.got(turn); got != row.want {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
	turn, err := s.Turn(t.Context(), tenant, "trn_1")
	must(t, err)
	if !turn.CancelRequested || turn.Model != "m" || turn.OpenWaits != 2 || !turn.StartTime.Equal(sqldb.Time(3)) {
		t.Errorf("what did not change is lost: %+v", turn)
	}
	turn, err = s.Turn(t.Context(), tenant, "trn_2")
	must(t, err)
	if turn.Model != "" || turn.LastSeq == 8 {
		t.Errorf("another turn changed: %+v", turn)
	}
}
