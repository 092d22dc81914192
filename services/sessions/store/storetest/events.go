package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/libs/eventlog"
	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// domainEvents checks that events stand and fall with their transaction, and are deleted with their session.
func domainEvents(t *testing.T, s *store.Store) {
	addSession(t, s, "ses_1", "trn_1")
	addSession(t, s, "ses_2", "trn_2")
	record := func(session, turn string, result error) {
		err := s.Write(t.Context(), func(tx *store.Tx) error {
			for _, subject := range []string{turn + ".1", turn + ".2"} {
				e, err := eventlog.New(tenant, "dev.windlass.turn.finished.v1", subject, tx.Now(), &eventv1.TurnFinished{TurnId: turn})
				e.EraseWith = session
				if err := tx.RecordEvent(t.Context(), e, err); err != nil {
					return err
				}
			}
			return result
		})
		if !errors.Is(err, result) {
			t.Fatal(err)
		}
	}
	failed := errors.New("failed")
	record("ses_1", "trn_1", nil)
	record("ses_2", "trn_2", failed)
	record("ses_2", "trn_2", nil)
	read := func() (out []string) {
		_, err := s.DomainEvents().Sequence(t.Context())
		must(t, err)
		p, err := s.DomainEvents().Read(t.Context(), eventlog.Query{Tenant: tenant, Limit: 10})
		must(t, err)
		for _, e := range p.Events {
			out = append(out, e.Subject)
		}
		return out
	}
	if got := read(); len(got) != 4 || got[0] >= got[1] || got[2] >= got[3] {
		t.Errorf("recorded: %q", got)
	}
	record("ses_1", "trn_1", nil) // without a number yet
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.LockSession(ctx, tenant, "ses_1"); err != nil {
			return err
		}
		return tx.DeleteSession(ctx, tenant, "ses_1")
	})
	if got := read(); !slices.Equal(got, []string{"trn_2.1", "trn_2.2"}) {
		t.Errorf("after a session was deleted: %q", got)
	}
	bad := s.Write(t.Context(), func(tx *store.Tx) error {
		return tx.RecordEvent(t.Context(), eventlog.Event{}, fmt.Errorf("made: %w", failed))
	})
	if !errors.Is(bad, failed) {
		t.Errorf("an event that was not made: %v", bad)
	}
}
