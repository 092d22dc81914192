package store

import "github.com/windlass-dev/windlass/libs/sqldb"

// selectLockedTurn reads a turn, and whether a budget is for it: five look-ups in an index, so that turns without budgets pay no statement of
// their own. The turn of a sub-agent counts for those above it, so that any budget may be one for it.
const selectLockedTurn = "SELECT " + turnColumns + `, CASE WHEN EXISTS (SELECT 1 FROM budgets b WHERE b.tenant = turns.tenant AND b.scope_key IN
	('tenant:', 'subject:' || turns.subject, 'session:' || turns.session_id, 'agent:' || turns.agent_id, 'turn:' || turns.id)) 
	OR turns.agent_path <> '' AND EXISTS (SELECT 1 FROM budgets b WHERE b.tenant = turns.tenant) THEN 1 ELSE 0 END
	FROM turns WHERE tenant = $1 AND id = $2`

func scanLockedTurn(s sqldb.Scanner) (Turn, error) {
	var budgeted int64
	t, err := scanTurn(more{s, []any{&budgeted}})
	t.Budgeted = budgeted != 0
	return t, err
}
