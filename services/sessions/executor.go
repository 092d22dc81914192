package sessions

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
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
		Tenant: t.Tenant, SessionID: t.SessionID, Hash: a.GetExecutorHash(), ExecutorSessionID: a.GetExecutorSessionId(), UpdateUs: tx.NowUs,
	})
}

// executorSession is what the agent's executor calls the session of a turn, "" for an agent without one, and until it has reported one.
func (s *Service) executorSession(ctx context.Context, t store.Turn, a *sessionsv1.Agent) (string, error) {
	if !contract.Hosted(a) {
		return "", nil
	}
	kept, err := s.store.Executor(ctx, t.Tenant, t.SessionID)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && kept.Hash != contract.ExecutorHash(a.GetExecutor()):
		return "", nil
	case err != nil:
		return "", err
	}
	return kept.ExecutorSessionID, nil
}
