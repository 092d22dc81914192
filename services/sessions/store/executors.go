package store

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// Executor is what an executor calls a session of ours.
type Executor struct {
	// Tenant and SessionID name the session.
	Tenant, SessionID string
	// Hash stands for the executor: its id of the session means nothing to another one.
	Hash string
	// ExecutorSessionID is the executor's own id of the session.
	ExecutorSessionID string
	// UpdateTime is when it reported it.
	UpdateTime time.Time
}

func scanExecutor(s sqldb.Scanner) (e Executor, err error) {
	err = s.Scan(&e.Tenant, &e.SessionID, &e.Hash, &e.ExecutorSessionID, sqldb.TimeColumn(&e.UpdateTime))
	return e, err
}

// Executor reads what a session's executor calls it. ErrNotFound when none has reported.
func (s *sessionReader) Executor(ctx context.Context, tenant, session string) (Executor, error) {
	return rows.One(ctx, s.DB.Reader(), scanExecutor, `SELECT tenant, session_id, executor_hash, executor_session_id, update_us
		FROM session_executors WHERE tenant = $1 AND session_id = $2`, tenant, session)
}

var insertSessionExecutors = sqldb.Insert("session_executors", "tenant, session_id, executor_hash, executor_session_id, update_us") + `
		ON CONFLICT (tenant, session_id) DO UPDATE SET executor_hash = excluded.executor_hash,
		executor_session_id = excluded.executor_session_id, update_us = excluded.update_us`

// PutExecutor keeps what a locked session's executor calls it, in place of what was there.
func (tx *sessionTx) PutExecutor(ctx context.Context, e Executor) error {
	_, err := sqldb.Exec(ctx, tx, insertSessionExecutors,
		e.Tenant, e.SessionID, e.Hash, e.ExecutorSessionID, sqldb.Micros(e.UpdateTime))
	return err
}
