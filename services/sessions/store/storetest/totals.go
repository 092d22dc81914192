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
	addSession(t, s, "ses_2", "trn_3", "trn_4")
	b, err := s.Backlog(t.Context(), sqldb.Time(100))
	must(t, err)
	var open int64
	for _, n := range b.Turns {
		open += n
	}
	if open != 4 || len(b.Waits) != 0 {
		t.Errorf("4 open turns and no wait are counted as %+v", b)
	}
	queued := b.Turns[turnv1.TurnStatus_TURN_STATUS_QUEUED]
	for _, most := range []int64{100, 1} {
		got, err := s.Load(t.Context(), sqldb.Time(100), int(most))
		if want := (totalsdb.Load{Queued: min(queued, most), Sent: b.Sent}); err != nil || got != want {
			t.Errorf("of at most %d, the load is %+v, %v; want %+v", most, got, err, want)
		}
	}
	end := func(id, model string, status turnv1.TurnStatus, reason string, at, cost int64) {
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			_, turn, err := tx.LockTurn(ctx, tenant, id)
			if err != nil {
				return err
			}
			turn.EndTime, turn.Status, turn.Model = sqldb.Time(at), status, model
			turn.End, turn.Usage = &turnv1.TurnEnded{Status: status, StopReason: reason}, &turnv1.Usage{
				CostMicros: cost, ModelCalls: 2, ToolCalls: 1, InputTokens: 10, OutputTokens: 5,
			}
			if _, err := tx.EndTurn(ctx, turn); err != nil {
				return err
			}
			return totalsdb.CountEnded(ctx, tx, totalsdb.Ended{
				SessionID: turn.SessionID, Status: status, StopReason: reason, Tenant: turn.Tenant, Agent: turn.AgentID, Model: turn.Model,
				EndTime: turn.EndTime, Usage: turn.Usage,
			})
		})
	}
	end("trn_1", "house/end", turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end", 9, 1_500_000)
	end("trn_3", "house/end", turnv1.TurnStatus_TURN_STATUS_COMPLETED, "end", 8, 250_000)
	end("trn_2", "house/error", turnv1.TurnStatus_TURN_STATUS_FAILED, "error", 9, 0)
	end("trn_4", "house/end", turnv1.TurnStatus_TURN_STATUS_FAILED, "error", 10, 7)
	sums, err := s.Sums(t.Context())
	must(t, err)
	want := []totalsdb.Total{
		{Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, StopReason: "end", Turns: 2},
		{Status: turnv1.TurnStatus_TURN_STATUS_FAILED, StopReason: "error", Turns: 2},
	}
	if got := sums.Totals(); !slices.Equal(got, want) {
		t.Errorf("the totals are %+v, want %+v", got, want)
	}
	if costs, want := sums.Costs(), []totalsdb.Cost{{Model: "house/end", Micros: 1_750_007}}; !slices.Equal(costs, want) {
		t.Errorf("the costs are %+v, want %+v", costs, want)
	}
	agent := "a"
	named := []totalsdb.Use{
		{Tenant: tenant, Agent: agent, Model: "house/end", Turns: 3, ModelCalls: 6, ToolCalls: 3, Input: 30, Output: 15, CostMicros: 1_750_007},
		{Tenant: tenant, Agent: agent, Model: "house/error", Turns: 1, ModelCalls: 2, ToolCalls: 1, Input: 10, Output: 5},
	}
	others := slices.Clone(named[1:])
	others[0].Tenant, others[0].Agent, others[0].Model = "", "", ""
	for most, want := range map[int][]totalsdb.Use{2: named, 1: {others[0], named[0]}} {
		if got := sums.Uses(most); !slices.Equal(got, want) {
			t.Errorf("with %d names, what was used is %+v, want %+v", most, got, want)
		}
	}
	for what, read := range map[string]func(context.Context) (totalsdb.Pending, error){"deliveries": s.ToDeliver, "fires": s.ToFire} {
		if p, err := read(t.Context()); err != nil || p != (totalsdb.Pending{}) {
			t.Errorf("pending %s: %+v, %v", what, p, err)
		}
	}
	if b, err = s.Backlog(t.Context(), sqldb.Time(100)); err != nil || len(b.Turns) != 0 || !b.Queued.IsZero() {
		t.Errorf("what waits after all have ended: %+v, %v", b, err)
	}
}
