package step

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/libs/fault"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// maxExecutorSession bounds an executor's own id of a session, in bytes.
const maxExecutorSession = 512

// attach keeps what an executor.attached event tells. Other events pass.
func attach(tx *journal.Tx, t store.Turn, e *turnv1.Event) error {
	a := e.GetExecutorAttached()
	if a == nil {
		return nil
	}
	if id := a.GetExecutorSessionId(); id == "" || len(id) > maxExecutorSession || !access.Storable(id) {
		return fault.Invalid("events", "executor_session_id must have 1 to %d bytes, and no NUL", maxExecutorSession)
	}
	return tx.PutExecutor(tx.Context(), store.Executor{
		Tenant: t.Tenant, SessionID: t.SessionID, Hash: a.GetExecutorHash(), ExecutorSessionID: a.GetExecutorSessionId(), UpdateTime: tx.Now(),
	})
}

// ExecutorSession returns the ID that an executor has for the session of a turn, "" until it has reported one. hash is that of
// the executor.
func (s *Service) ExecutorSession(ctx context.Context, t store.Turn, hash string) (string, error) {
	kept, err := s.deps.Store.Executor(ctx, t.Tenant, t.SessionID)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && kept.Hash != hash:
		return "", nil
	case err != nil:
		return "", err
	}
	return kept.ExecutorSessionID, nil
}
