package storetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

func unowned(t *testing.T, s *store.Store) {
	fillOutbox(t, s, 7)
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for i := range 7 {
			ses, turn, err := tx.LockTurn(ctx, tenant, fmt.Sprintf("trn_%03d", i))
			if err != nil {
				return err
			}
			ses.ActiveTurnID, ses.UpdateTime = turn.ID, sqldb.Time(50)
			switch i {
			case 2: // somebody has it
				err = tx.SaveStep(ctx, store.Step{
					Tenant: tenant, TurnID: turn.ID, Key: "k", Owner: "w", Fence: 1, Attempt: 1,
					LeaseExpires: sqldb.Time(10),
				})
			case 3:
				turn.OpenWaits = 1
			case 4:
				turn.EndTime = sqldb.Time(9)
			case 5:
				ses.ActiveTurnID = "another"
			case 6: // something has happened just now
				ses.UpdateTime = sqldb.Time(90)
			}
			if err != nil {
				return err
			}
			if err := tx.SaveTurn(ctx, turn); err != nil {
				return err
			}
			if err := tx.SaveSession(ctx, ses); err != nil {
				return err
			}
		}
		return nil
	})
	ids := func(after store.TurnPoint, limit int) (all string, last store.TurnPoint) {
		turns, err := s.Unowned(t.Context(), sqldb.Time(60), after, limit)
		must(t, err)
		for _, turn := range turns {
			all += turn.ID + " "
			last = store.TurnPoint{CreateTime: turn.CreateTime, ID: turn.ID}
		}
		return all, last
	}
	if got, _ := ids(store.TurnPoint{}, 9); got != "trn_000 trn_001 " {
		t.Errorf("unowned turns: %s", got)
	}
	first, last := ids(store.TurnPoint{}, 1)
	if rest, _ := ids(last, 9); first != "trn_000 " || rest != "trn_001 " {
		t.Errorf("in two pages: %s, then %s", first, rest)
	}
}

func requesters(t *testing.T, s *store.Store) {
	fillOutbox(t, s, 2)
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for _, who := range []string{"bob", "ann", "bob"} {
			if err := tx.AddRequester(ctx, tenant, "trn_000", who); err != nil {
				return err
			}
		}
		for _, from := range []string{"trn_000", "trn_gone"} {
			if err := tx.InheritRequesters(ctx, tenant, "trn_001", from); err != nil {
				return err
			}
		}
		got, err := tx.Requesters(ctx, tenant, "trn_001")
		if fmt.Sprint(got) != "[ann bob local]" {
			t.Errorf("requesters %v", got)
		}
		return err
	})
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.LockSession(ctx, tenant, "ses_001"); err != nil {
			return err
		}
		return tx.DeleteSession(ctx, tenant, "ses_001")
	})
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		if got, err := tx.Requesters(ctx, tenant, "trn_001"); err != nil || len(got) > 0 {
			t.Errorf("a deleted turn has the requesters %v: %v", got, err)
		}
		return nil
	})
}
