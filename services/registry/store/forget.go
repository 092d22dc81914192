package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/tombstone"
)

// callsOf returns the conditions for the calls of turns, and for those that sessions made outside of turns, by their ids. The tenant is the
// first of args.
func callsOf(args *[]any, ids []string) []string {
	list := places(args, ids)
	return []string{
		` WHERE tenant = $1 AND turn_id <> '' AND turn_id IN (` + list + `)`,
		` WHERE tenant = $1 AND session_id <> '' AND turn_id = '' AND session_id IN (` + list + `)`,
	}
}

// Forget erases the conversation from executions of turns, and of sessions outside of turns: result, arguments, resolution, and the turn.
// Tool, state, time and subject stay for the audit, and so does the key, so that a late repetition of a call is still recognised. Open
// executions, and those whose decision policy may not have, are unchanged; Forget returns how many there are. Domain events about the turns
// and sessions are deleted.
func (q sqlLedger) Forget(ctx context.Context, tenant string, ids []string) (open int, err error) {
	if err := q.Flush(ctx); err != nil {
		return 0, err
	}
	err = q.db.Write(ctx, func(tx sqldb.Tx) error {
		open = 0
		if err := q.forgotten.Bury(ctx, tx, tenant, ids); err != nil {
			return err
		}
		for part := range slices.Chunk(ids, chunk) {
			args := []any{tenant}
			for _, of := range callsOf(&args, part) {
				left, err := sqldb.One(ctx, tx, scanCount, `SELECT count(*) FROM executions`+of+
					` AND (state = 'open' OR decision IS NOT NULL)`, args...)
				if err != nil {
					return err
				}
				open += left
				if _, err := sqldb.Exec(ctx, tx, `UPDATE executions SET result = NULL, arguments = '', arguments_hash = '', turn_id = '',
					session_id = '', call_id = '', approval_id = '', resolution_id = '', resolved_by = '', resolution_comment = '', refused_decision = NULL`+of+
					` AND state <> 'open' AND decision IS NULL`,
					args...); err != nil {
					return err
				}
			}
			if err := q.db.events.Erase(ctx, tx, tenant, part); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("forget executions: %w", err)
	}
	return open, nil
}

// erasedWith is the turn or session with which an execution is erased; its ID is empty for one that is not.
func (e Execution) erasedWith() tombstone.ID {
	return tombstone.ID{Tenant: e.Tenant, ID: cmp.Or(e.TurnID, e.SessionID)}
}

// forgotten is what Forget leaves of a row that was never resolved.
func (e Execution) forgotten() Execution {
	e.Result, e.Arguments, e.ArgumentsHash, e.TurnID, e.SessionID, e.CallID, e.ApprovalID = nil, "", "", "", "", "", ""
	return e
}

func scanCount(row sqldb.Scanner) (n int, err error) {
	err = row.Scan(&n)
	return n, err
}
