package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/libs/batch"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/tombstone"
)

// sqlLedger implements Ledger.
type sqlLedger struct {
	db        eventDB
	forgotten tombstone.Table
	later     *batch.Writer[Execution]
	waiting   *waiting
}

const executionColumns = `tenant, id, key, tool, source, definition_hash, turn_id, session_id, call_id, subject, effect, state, attempts,
	arguments_hash, decision_id, is_error, code, latency_us, owner, lease_us, created_us, ended_us, approval_id,
	resolution, resolution_id, resolved_by, resolution_comment, resolved_us, cache`

var (
	insertExecutions = sqldb.Insert("executions", executionColumns+", arguments, decision")
	insertRecorded   = sqldb.NewInserts("executions", executionColumns+", arguments, result")
)

func (q sqlLedger) Execution(ctx context.Context, tenant, key string) (Execution, error) {
	return sqldb.One(ctx, q.db.Reader(), scanWithResult, `SELECT `+executionColumns+`, result FROM executions
		WHERE tenant = $1 AND key = $2`, tenant, key)
}

func (q sqlLedger) Open(ctx context.Context, e Execution) error {
	err := q.writer(e.Effect)(ctx, func(tx sqldb.Tx) error {
		return sqldb.ExecOne(ctx, tx, insertExecutions, append(q.values(e), e.Decision)...)
	})
	if sqldb.IsUnique(err) {
		return fmt.Errorf("execution %q: %w", e.Key, ErrExists)
	}
	if err != nil {
		return fmt.Errorf("open execution: %w", err)
	}
	return nil
}

func (q sqlLedger) OpenLate(ctx context.Context, e Execution) error {
	of := e.erasedWith()
	if of.ID == "" {
		return q.Open(ctx, e)
	}
	err := q.writer(e.Effect)(ctx, func(tx sqldb.Tx) error {
		buried, err := q.forgotten.Buried(ctx, tx, []tombstone.ID{of})
		if err != nil {
			return err
		}
		if buried[of] {
			return ErrForgotten
		}
		return sqldb.ExecOne(ctx, tx, insertExecutions, append(q.values(e), e.Decision)...)
	})
	switch {
	case errors.Is(err, ErrForgotten):
		return ErrForgotten
	case sqldb.IsUnique(err):
		return fmt.Errorf("execution %q: %w", e.Key, ErrExists)
	case err != nil:
		return fmt.Errorf("open execution: %w", err)
	}
	return nil
}

// values are those of executionColumns of a new row, and its arguments.
func (q sqlLedger) values(e Execution) []any {
	return []any{
		e.Tenant, e.ID, e.Key, e.Tool, e.Source, e.DefinitionHash, e.TurnID, e.SessionID, e.CallID, e.Subject, int(e.Effect), e.State, e.Attempts,
		e.ArgumentsHash, e.DecisionID, e.IsError, e.Code, e.Latency.Microseconds(), e.Owner, sqldb.Micros(e.Lease), sqldb.Micros(e.CreateTime),
		sqldb.Micros(e.EndTime), e.ApprovalID, "", "", "", "", 0, e.Cache,
		e.Arguments,
	}
}

func (q sqlLedger) Reopen(ctx context.Context, e Execution, owner string, lease time.Time) (Execution, error) {
	err := changeOne(ctx, q.writer(e.Effect), `UPDATE executions SET state = $1, owner = $2, lease_us = $3, attempts = attempts + 1,
		is_error = $4, code = '',
		result = NULL, latency_us = 0, ended_us = 0, stop_us = 0, decision_id = $5, definition_hash = $6, effect = $18, approval_id = $7,
		resolution = $8, resolution_id = $9, resolved_by = $10, resolution_comment = $11, resolved_us = $12
		WHERE tenant = $13 AND id = $14 AND state = $15 AND owner = $16 AND attempts = $17`,
		Open, owner, sqldb.Micros(lease), false, e.DecisionID, e.DefinitionHash, e.ApprovalID,
		e.Resolution.What, e.Resolution.ID, e.Resolution.By, e.Resolution.Comment, sqldb.Micros(e.Resolution.Time),
		e.Tenant, e.ID, e.State, e.Owner, e.Attempts, int(e.Effect))
	if err != nil {
		return Execution{}, fmt.Errorf("reopen execution: %w", err)
	}
	e.State, e.Owner, e.Lease, e.Attempts = Open, owner, lease, e.Attempts+1
	e.IsError, e.Code, e.Result, e.Latency, e.EndTime = false, "", nil, 0, time.Time{}
	return e, nil
}

func (q sqlLedger) Attempt(ctx context.Context, e Execution) error {
	if err := q.changeOne(ctx, `UPDATE executions SET attempts = attempts + 1
		WHERE tenant = $1 AND id = $2 AND state = $3 AND owner = $4 AND attempts = $5`,
		e.Tenant, e.ID, Open, e.Owner, e.Attempts); err != nil {
		return fmt.Errorf("note attempt: %w", err)
	}
	return nil
}

func (q sqlLedger) Close(ctx context.Context, e Execution) error {
	if err := q.end(ctx, `UPDATE executions SET state = $1, is_error = $2, code = $3, result = $4, latency_us = $5, ended_us = $6,
		lease_us = 0
		WHERE tenant = $7 AND id = $8 AND owner = $9 AND attempts = $10 AND state IN ('open','unresolved')`,
		e.State, e.IsError, e.Code, e.Result, e.Latency.Microseconds(), sqldb.Micros(e.EndTime), e.Tenant, e.ID, e.Owner,
		e.Attempts); err != nil {
		return fmt.Errorf("close execution: %w", err)
	}
	return nil
}

func (q sqlLedger) Resolve(ctx context.Context, e Execution) error {
	if err := q.end(ctx, `UPDATE executions SET state = $1, is_error = $2, code = $3, result = $4, ended_us = $5,
		resolution = $6, resolution_id = $7, resolved_by = $8, resolution_comment = $9, resolved_us = $10
		WHERE tenant = $11 AND id = $12 AND owner = $13 AND attempts = $14 AND state = $15`,
		e.State, e.IsError, e.Code, e.Result, sqldb.Micros(e.EndTime),
		e.Resolution.What, e.Resolution.ID, e.Resolution.By, e.Resolution.Comment, sqldb.Micros(e.Resolution.Time),
		e.Tenant, e.ID, e.Owner, e.Attempts, Unresolved); err != nil {
		return fmt.Errorf("resolve execution: %w", err)
	}
	return nil
}

func (q sqlLedger) GiveUp(ctx context.Context, e Execution, at time.Time) error {
	if err := q.end(ctx, `UPDATE executions SET state = $1, ended_us = $2, is_error = $3, code = 'outcome_unknown'
		WHERE tenant = $4 AND id = $5 AND state = $6 AND owner = $7 AND attempts = $8`,
		Unresolved, sqldb.Micros(at), true, e.Tenant, e.ID, Open, e.Owner, e.Attempts); err != nil {
		return fmt.Errorf("give up execution: %w", err)
	}
	return nil
}

func (q sqlLedger) GiveUpOrphans(ctx context.Context, before, at time.Time) (int64, error) {
	lost, err := q.giveUpAll(ctx, at, "state = 'open' AND lease_us < $4", sqldb.Micros(before))
	if err != nil {
		return 0, fmt.Errorf("give up orphans: %w", err)
	}
	return int64(len(lost)), nil
}

func (q sqlLedger) GiveUpAll(ctx context.Context, at time.Time) ([]Execution, error) {
	lost, err := q.giveUpAll(ctx, at, "state IN ('open', $4)", Waiting)
	if err != nil {
		return nil, fmt.Errorf("give up all executions: %w", err)
	}
	return lost, nil
}

// giveUpAll marks the rows for which a condition holds, with its argument $4, as unresolved, and returns them.
func (q sqlLedger) giveUpAll(ctx context.Context, at time.Time, where string, arg any) (lost []Execution, err error) {
	err = q.db.record(ctx, q.db.Write, func(tx sqldb.Tx, record recordFunc) error {
		if lost, err = sqldb.All(ctx, tx, scanExecution, `UPDATE executions SET state = $1, ended_us = $2, is_error = $3, code = 'outcome_unknown'
			WHERE `+where+` RETURNING `+executionColumns, Unresolved, sqldb.Micros(at), true, arg); err != nil {
			return err
		}
		for _, e := range lost {
			if err := record(q.db.calledEvent(e)); err != nil {
				return err
			}
		}
		return nil
	})
	return lost, err
}

func (q sqlLedger) Extend(ctx context.Context, owner string, ids []string, lease time.Time) (stopped []string, err error) {
	err = q.db.Write(ctx, func(tx sqldb.Tx) error {
		stopped = nil
		for part := range slices.Chunk(ids, chunk) {
			args := []any{sqldb.Micros(lease), owner}
			found, err := sqldb.All(ctx, tx, scanStop, `UPDATE executions SET lease_us = $1
				WHERE owner = $2 AND state = 'open' AND id IN (`+places(&args, part)+`) RETURNING id, stop_us`, args...)
			if err != nil {
				return err
			}
			for _, row := range found {
				if row.asked != 0 {
					stopped = append(stopped, row.id)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("extend leases: %w", err)
	}
	return stopped, nil
}

// stop is the stop request in a row.
type stop struct {
	id    string
	asked int64
}

func scanStop(row sqldb.Scanner) (s stop, err error) {
	err = row.Scan(&s.id, &s.asked)
	return s, err
}

func (q sqlLedger) AskStop(ctx context.Context, tenant, key string, at time.Time) (bool, error) {
	err := q.changeOne(ctx, `UPDATE executions SET stop_us = $1 WHERE tenant = $2 AND key = $3 AND state = 'open' AND lease_us >= $1`,
		sqldb.Micros(at), tenant, key)
	if errors.Is(err, ErrChanged) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask to stop execution: %w", err)
	}
	return true, nil
}

func (q sqlLedger) Executions(ctx context.Context, tenant string, f ExecutionFilter, after Cursor, limit int) ([]Execution, error) {
	if err := q.Flush(ctx); err != nil {
		return nil, err
	}
	query := `SELECT ` + executionColumns + ` FROM executions WHERE tenant = $1`
	args := []any{tenant}
	place := func(v any) string {
		args = append(args, v)
		return fmt.Sprintf("$%d", len(args))
	}
	if f.CallID != "" {
		query += ` AND call_id <> '' AND call_id = ` + place(f.CallID)
	}
	if f.TurnID != "" {
		query += ` AND turn_id <> '' AND turn_id = ` + place(f.TurnID) // the index has no others
	}
	if f.SessionID != "" {
		query += ` AND session_id <> '' AND session_id = ` + place(f.SessionID) // likewise
	}
	narrow := func(column, value string) {
		if value != "" {
			query += ` AND ` + column + ` = ` + place(value)
		}
	}
	narrow("tool", f.Tool)
	narrow("source", f.Source)
	narrow("state", f.State)
	if f.Errors {
		query += ` AND ` + failedExecution
	}
	if !f.From.IsZero() {
		query += ` AND created_us >= ` + place(sqldb.Micros(f.From))
	}
	if !f.Until.IsZero() {
		query += ` AND created_us < ` + place(sqldb.Micros(f.Until))
	}
	if after != (Cursor{}) {
		query += ` AND (created_us, id) < (` + place(after.Micros) + `, ` + place(after.ID) + `)`
	}
	query += ` ORDER BY created_us DESC, id DESC LIMIT ` + place(limit)
	return sqldb.All(ctx, q.db.Reader(), scanExecution, query, args...)
}

// writer returns how to write the row of a call about to be sent. For a call that must not be repeated it syncs to disk: if a power failure
// lost the row, the call would be sent again.
func (q sqlLedger) writer(e Effect) writeFunc {
	if e.Repeatable() {
		return q.db.Write
	}
	return q.db.WriteDurable
}

type writeFunc func(ctx context.Context, f func(sqldb.Tx) error) error

// end is changeOne for an update that may end an execution, and records that; one that waits for an answer has not ended.
func (q sqlLedger) end(ctx context.Context, query string, args ...any) error {
	err := q.db.record(ctx, q.db.Write, func(tx sqldb.Tx, record recordFunc) error {
		e, err := sqldb.One(ctx, tx, scanExecution, query+` RETURNING `+executionColumns, args...)
		if err != nil || e.State == Waiting {
			return err
		}
		return record(q.db.calledEvent(e))
	})
	if errors.Is(err, sqldb.ErrNotFound) {
		return ErrChanged
	}
	return err
}

// changeOne runs a conditional update; it returns ErrChanged if no row matches.
func (q sqlLedger) changeOne(ctx context.Context, query string, args ...any) error {
	return changeOne(ctx, q.db.Write, query, args...)
}

func changeOne(ctx context.Context, write writeFunc, query string, args ...any) error {
	err := write(ctx, func(tx sqldb.Tx) error { return sqldb.ExecOne(ctx, tx, query, args...) })
	if errors.Is(err, sqldb.ErrNotFound) {
		return ErrChanged
	}
	return err
}

func scanExecution(row sqldb.Scanner) (Execution, error) { return scanInto(row) }

func scanWithResult(row sqldb.Scanner) (Execution, error) {
	var result []byte
	e, err := scanInto(row, &result)
	e.Result = result
	return e, err
}

func scanInto(row sqldb.Scanner, more ...any) (e Execution, err error) {
	var latency, lease, created, ended, resolved int64
	err = row.Scan(append([]any{
		&e.Tenant, &e.ID, &e.Key, &e.Tool, &e.Source, &e.DefinitionHash, &e.TurnID, &e.SessionID, &e.CallID, &e.Subject,
		&e.Effect, &e.State, &e.Attempts, &e.ArgumentsHash, &e.DecisionID, &e.IsError, &e.Code, &latency, &e.Owner, &lease, &created, &ended,
		&e.ApprovalID, &e.Resolution.What, &e.Resolution.ID, &e.Resolution.By, &e.Resolution.Comment, &resolved,
		&e.Cache,
	}, more...)...)
	e.Latency = time.Duration(latency) * time.Microsecond
	e.Lease, e.CreateTime, e.EndTime = sqldb.Time(lease), sqldb.Time(created), sqldb.Time(ended)
	e.Resolution.Time = sqldb.Time(resolved)
	return e, err
}
