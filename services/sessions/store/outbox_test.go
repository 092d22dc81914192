package store_test

import (
	"context"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// A turn ends while its row in the outbox is being taken. Who takes locks the row, then the turn; who ends the turn has locked
// the turn, and must not wait for the row: PostgreSQL would find the deadlock only after a second, and the turn's watchers with
// it.
func TestATurnEndsWhileItIsTaken(t *testing.T) {
	s := open(t, tables.Postgres(t))
	write := func(f func(ctx context.Context, tx *store.Tx) error) {
		t.Helper()
		if err := s.Write(t.Context(), func(tx *store.Tx) error { return f(t.Context(), tx) }); err != nil {
			t.Fatal(err)
		}
	}
	const tenant, session, turn = "default", "ses_1", "trn_1"
	write(func(ctx context.Context, tx *store.Tx) error {
		if err := tx.AddSession(ctx, store.Session{Tenant: tenant, ID: session, AgentID: "a"}); err != nil {
			return err
		}
		if err := tx.AddTurn(ctx, store.Turn{Tenant: tenant, ID: turn, SessionID: session, AgentID: "a"}); err != nil {
			return err
		}
		return tx.AddOutgoing(ctx, store.Outgoing{Tenant: tenant, TurnID: turn, SessionID: session, AgentID: "a"})
	})
	locked, taken, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	runs := 0
	go func() {
		ended <- s.Write(t.Context(), func(tx *store.Tx) error {
			if runs++; runs > 1 {
				t.Error("the end was undone and made again")
			}
			_, row, err := tx.LockTurn(t.Context(), tenant, turn)
			if err != nil {
				return err
			}
			row.EndTime = sqldb.Time(5)
			if err := tx.SaveTurn(t.Context(), row); err != nil {
				return err
			}
			close(locked)
			<-taken
			return tx.OutgoingOver(t.Context(), tenant, turn)
		})
	}()
	<-locked
	write(func(ctx context.Context, tx *store.Tx) error {
		var id string
		if err := tx.QueryRowContext(ctx, "SELECT turn_id FROM turn_outbox WHERE turn_id = $1 FOR UPDATE", turn).Scan(&id); err != nil {
			return err
		}
		close(taken)
		got, err := tx.TakeOutgoing(ctx, sqldb.Time(10), sqldb.Time(20), 1, 0)
		if len(got) != 1 {
			t.Errorf("taken: %v", got)
		}
		return err
	})
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
