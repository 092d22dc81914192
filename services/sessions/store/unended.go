package store

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
	"github.com/windlass-dev/windlass/services/sessions/store/scheduledb"
)

// Unended lists turns of all tenants that are not over and whose session is not deleted: the active turns of sessions last, so that the
// turns behind each are before it, and else the newest first. Only what names a turn, its status and creation are read.
func (s *turnReader) Unended(ctx context.Context) ([]Turn, error) {
	scan := func(s sqldb.Scanner) (t Turn, err error) {
		err = s.Scan(&t.Tenant, &t.ID, &t.SessionID, &t.AgentID, (*int32)(&t.Status), sqldb.TimeColumn(&t.CreateTime))
		return t, err
	}
	return rows.All(ctx, s.DB.Reader(), scan, `SELECT t.tenant, t.id, t.session_id, t.agent_id, t.status, t.create_us
		FROM turns t JOIN sessions s ON s.tenant = t.tenant AND s.id = t.session_id AND s.delete_us = 0
		WHERE t.end_us = 0 ORDER BY CASE WHEN s.active_turn_id = t.id THEN 1 ELSE 0 END, t.create_us DESC, t.id DESC`)
}

// CloseFires gives up the fires that are pending in all schedules, and records a skipped fire at a time for each schedule that is neither
// paused nor deleted, so that no time before that one is made up for. It returns how many were given up.
func (tx *Tx) CloseFires(ctx context.Context, at time.Time, key, why string) (int64, error) {
	n, err := sqldb.Exec(ctx, tx, `UPDATE schedule_fires SET outcome = $1, pending = 0, error = $2 WHERE pending = 1`,
		string(scheduledb.FireMissed), why)
	if err != nil {
		return 0, err
	}
	_, err = sqldb.Exec(ctx, tx, `INSERT INTO schedule_fires (tenant, schedule_id, fire_key, manual, due_us, create_us, outcome, pending,
		look_us, turn_id, session_id, error) SELECT tenant, id, $1, 0, CAST($2 AS BIGINT), CAST($2 AS BIGINT), $3, 0, 0, '', '', $4 FROM schedules
		WHERE deleted = 0 AND paused = 0`, key, sqldb.Micros(at), string(scheduledb.FireSkipped), why)
	return n, err
}

// DropCallbacks records that no parent is to be notified any more of sub-agents that ran in the background and are over. It returns how
// many results were not delivered.
func (tx *Tx) DropCallbacks(ctx context.Context) (int64, error) {
	return sqldb.Exec(ctx, tx, `UPDATE turn_children SET told = 1 WHERE told = 0 AND background = 1 AND EXISTS (SELECT 1 FROM turns t
		WHERE t.tenant = turn_children.tenant AND t.id = turn_children.turn_id AND t.end_us > 0)`)
}
