package store

import (
	"context"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// budgeted is, for a turn t, whether a budget or a quota is for it: five look-ups in an index, so that turns without budgets pay no
// statement of their own. The turn of a sub-agent counts for those above it, so that any budget may be one for it.
const budgeted = `CASE WHEN EXISTS (SELECT 1 FROM budgets b WHERE b.tenant = t.tenant AND b.scope_key IN
	('tenant:', 'subject:' || t.subject, 'session:' || t.session_id, 'agent:' || t.agent_id, 'turn:' || t.id))
	OR t.quota <> 0 OR t.agent_path <> '' AND EXISTS (SELECT 1 FROM budgets b WHERE b.tenant = t.tenant) THEN 1 ELSE 0 END`

var (
	selectLockedTurn = "SELECT " + rows.Of("t", turnColumns) + ", " + budgeted +
		" FROM turns t WHERE t.tenant = $1 AND t.id = $2"

	selectLockedTurnAndSession = "SELECT " + rows.Of("t", turnColumns) + ", " + budgeted + ", " +
		rows.Of("s", sessionColumns) +
		" FROM turns t JOIN sessions s ON s.tenant = t.tenant AND s.id = t.session_id WHERE t.tenant = $1 AND t.id = $2" +
		" AND s.delete_us = 0"
)

// Budgeted reports whether a budget or a quota is for a turn. ErrNotFound when there is none.
func (s *turnReader) Budgeted(ctx context.Context, tenant, id string) (bool, error) {
	n, err := rows.One(ctx, s.DB.Reader(), sqldb.Column[int64], "SELECT "+budgeted+
		" FROM turns t WHERE t.tenant = $1 AND t.id = $2", tenant, id)
	return n != 0, err
}

func scanLockedTurn(s sqldb.Scanner) (Turn, error) {
	var budgeted int64
	t, err := scanTurn(rows.More{Scanner: s, Last: []any{&budgeted}})
	t.Budgeted = budgeted != 0
	return t, err
}
