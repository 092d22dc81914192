package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

func executors(t *testing.T, s *store.Store) {
	addSession(t, s, "ses_1")
	if _, err := s.Executor(t.Context(), tenant, "ses_1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("before any was told: %v", err)
	}
	for _, id := range []string{"first", "second"} {
		want := store.Executor{Tenant: tenant, SessionID: "ses_1", Hash: "h", ExecutorSessionID: id, UpdateTime: sqldb.Time(7)}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.PutExecutor(ctx, want) })
		if got, err := s.Executor(t.Context(), tenant, "ses_1"); err != nil || got != want {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
	if _, err := s.Executor(t.Context(), "other", "ses_1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another tenant's: %v", err)
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSession(ctx, tenant, "ses_1") })
	if _, err := s.Executor(t.Context(), tenant, "ses_1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("after its session: %v", err)
	}
}
