package storetest

import (
	"context"
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/totalsdb"
)

func totals(t *testing.T, s *store.Store) {
	addSession(t, s, "ses_1", "trn_1", "trn_2")
	addSession(t, s, "ses_2", "trn_3")
	b, err := s.Backlog(t.Context(), sqldb.Time(100))
	must(t, err)
	var open int64
	for _, n := range b.Turns {
		open += n
	}
	if open != 3 || len(b.Waits) != 0 {
		t.Errorf("3 open turns and no wait are counted as %+v", b)
	}
	end := func(id string, status turnv1.TurnStatus, reason string, cost int64) {
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			_, turn, err := tx.LockTurn(ctx, tenant, id)
			if err != nil {
				return err
			}
			turn.EndTime, turn.Status, turn.Model = sqldb.Time(9), status, "house/small"
			turn.End, turn.Usage = &turnv1.TurnEnded{Status: status, StopReason: reason}, &turnv1.Usage{CostMicros: cost}
			if _, err := tx.EndTurn(ctx, turn); err != nil {
				return err
			}
			return totalsdb.CountEnded(ctx, tx, totalsdb.Ended{
				SessionID: turn.SessionID, Status: status, StopReason: reason, Model: turn.Model, CostMicros: cost,
			})
		})
	}
	end("trn_1", turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end", 1_500_000)
	end("trn_3", turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end", 250_000)
	end("trn_2", turnv1.TurnStatus_TURN_STATUS_FAILED, "error", 0)
	got, err := s.Totals(t.Context())
	must(t, err)
	want := []totalsdb.Total{
		{Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, StopReason: "end", Turns: 2},
		{Status: turnv1.TurnStatus_TURN_STATUS_FAILED, StopReason: "error", Turns: 1},
	}
	if !slices.Equal(got, want) {
		t.Errorf("the totals are %+v, want %+v", got, want)
	}
	costs, err := s.Costs(t.Context())
	must(t, err)
	if want := []totalsdb.Cost{{Model: "house/small", Micros: 1_750_000}}; !slices.Equal(costs, want) {
		t.Errorf("the costs are %+v, want %+v", costs, want)
	}
	if b, err = s.Backlog(t.Context(), sqldb.Time(100)); err != nil || len(b.Turns) != 0 || !b.Queued.IsZero() {
		t.Errorf("what waits after all have ended: %+v, %v", b, err)
	}
}
