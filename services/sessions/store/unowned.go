package store

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// TurnPoint is a position in the turns of all tenants, ordered by creation; the zero value is before the first.
type TurnPoint struct {
	CreateTime time.Time
	ID         string
}

// Unowned lists active turns that wait for nothing, of which no step is leased or rests, and in whose session nothing has happened since
// idle: possibly no worker has them. They are in the order of their creation, after a position. Only what names a turn, its
// trace and CreateTime are read.
//
// The conditions on turns are those of the index turns_workable, written so that both engines see it.
func (s *turnReader) Unowned(ctx context.Context, idle time.Time, after TurnPoint, limit int) ([]Turn, error) {
	scan := func(s sqldb.Scanner) (t Turn, err error) {
		err = s.Scan(&t.Tenant, &t.ID, &t.SessionID, &t.AgentID, &t.TraceParent, sqldb.TimeColumn(&t.CreateTime))
		return t, err
	}
	return rows.All(ctx, s.DB.Reader(), scan, `SELECT t.tenant, t.id, t.session_id, t.agent_id, t.trace_parent, t.create_us
		FROM turns t JOIN sessions s ON s.tenant = t.tenant AND s.id = t.session_id
		WHERE t.end_us = 0 AND t.open_waits = 0 AND t.place < 4294967295 AND (t.create_us, t.id) > ($2, $3)
		AND s.active_turn_id = t.id AND s.update_us <= $1
		AND (t.tenant, t.id) NOT IN (SELECT tenant, turn_id FROM turn_steps WHERE done = 0 AND lease_expires_us > 0)
		ORDER BY t.create_us, t.id LIMIT $4`, sqldb.Micros(idle), sqldb.Micros(after.CreateTime), after.ID, limit)
}
