package store

import (
	"context"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/batch"
	"github.com/windlass-dev/windlass/libs/sqldb"
)

// Insight reads the ledger for people.
type Insight interface {
	// ToolUsage returns the use of at most limit tools since a time, by number of calls, most first. It covers the last most executions.
	ToolUsage(ctx context.Context, tenant string, f UsageFilter, most, limit int) ([]ToolUsage, error)
	// Recent returns the last executions, newest first, of one tool if tool is not empty. Arguments are truncated to maxArguments
	// characters; results above maxResult bytes are missing.
	Recent(ctx context.Context, tenant, tool string, limit, maxArguments, maxResult int) ([]Execution, error)
	// ExecutionByID reads a row with its result; ErrNotFound.
	ExecutionByID(ctx context.Context, tenant, id string) (Execution, error)
}

// UsageFilter selects executions; empty Source and Tool select all.
type UsageFilter struct {
	Since        time.Time
	Source, Tool string
}

// ToolUsage is the use of a tool.
type ToolUsage struct {
	Tool, Source string
	// Calls is the number of executions, Errors that of the failed ones.
	Calls, Errors int64
	// Hits and Misses count uses of the cache.
	Hits, Misses int64
	// Mean and P95 are durations of the calls that were sent and ended.
	Mean, P95 time.Duration
}

type sqlInsight struct {
	db    *sqldb.DB
	later *batch.Writer[Execution]
}

// failedExecution is the condition for executions that failed.
const failedExecution = `(is_error OR state = 'failed' OR state = 'unresolved')`

func (q sqlInsight) ToolUsage(ctx context.Context, tenant string, f UsageFilter, most, limit int) ([]ToolUsage, error) {
	if err := q.later.Flush(ctx); err != nil {
		return nil, err
	}
	args := []any{tenant, sqldb.Micros(f.Since), most, limit}
	narrow := ""
	if f.Source != "" {
		args = append(args, f.Source)
		narrow += fmt.Sprintf(" AND source = $%d", len(args))
	}
	if f.Tool != "" {
		args = append(args, f.Tool)
		narrow += fmt.Sprintf(" AND tool = $%d", len(args))
	}
	all, err := sqldb.All(ctx, q.db.Reader(), scanToolUsage, `WITH calls AS (
			SELECT tool, source, latency_us, cache, CASE WHEN `+failedExecution+` THEN 1 ELSE 0 END AS failed,
				CASE WHEN cache <> 'hit' AND (state = 'done' OR state = 'unresolved') THEN 1 ELSE 0 END AS sent
			FROM executions WHERE tenant = $1 AND created_us >= $2`+narrow+` ORDER BY created_us DESC LIMIT $3),
		ranked AS (
			SELECT tool, source, latency_us, cache, failed, sent,
				row_number() OVER (PARTITION BY tool, source, sent ORDER BY latency_us) AS position,
				count(*) OVER (PARTITION BY tool, source, sent) AS total
			FROM calls)
		SELECT tool, source, count(*), sum(failed), sum(CASE WHEN cache = 'hit' THEN 1 ELSE 0 END),
			sum(CASE WHEN cache = 'miss' THEN 1 ELSE 0 END),
			CAST(coalesce(avg(CASE WHEN sent = 1 THEN latency_us END), 0) AS BIGINT),
			coalesce(min(CASE WHEN sent = 1 AND position * 100 >= total * 95 THEN latency_us END), 0)
		FROM ranked GROUP BY tool, source ORDER BY count(*) DESC, tool, source LIMIT $4`, args...)
	if err != nil {
		return nil, fmt.Errorf("read use of tools: %w", err)
	}
	return all, nil
}

func scanToolUsage(row sqldb.Scanner) (u ToolUsage, err error) {
	var mean, p95 int64
	err = row.Scan(&u.Tool, &u.Source, &u.Calls, &u.Errors, &u.Hits, &u.Misses, &mean, &p95)
	u.Mean, u.P95 = time.Duration(mean)*time.Microsecond, time.Duration(p95)*time.Microsecond
	return u, err
}

func (q sqlInsight) Recent(ctx context.Context, tenant, tool string, limit, maxArguments, maxResult int) ([]Execution, error) {
	if err := q.later.Flush(ctx); err != nil {
		return nil, err
	}
	args := []any{tenant, limit, maxArguments, maxResult}
	narrow := ""
	if tool != "" {
		args = append(args, tool)
		narrow = " AND tool = $5"
	}
	rows, err := sqldb.All(ctx, q.db.Reader(), scanWhole, `SELECT `+executionColumns+`, substr(arguments, 1, $3),
		CASE WHEN length(result) <= $4 THEN result END
		FROM executions WHERE tenant = $1`+narrow+` ORDER BY created_us DESC, id DESC LIMIT $2`, args...)
	if err != nil {
		return nil, fmt.Errorf("list recent executions: %w", err)
	}
	return rows, nil
}

func (q sqlInsight) ExecutionByID(ctx context.Context, tenant, id string) (Execution, error) {
	if err := q.later.Flush(ctx); err != nil {
		return Execution{}, err
	}
	return sqldb.One(ctx, q.db.Reader(), scanWhole, `SELECT `+executionColumns+`, arguments, result FROM executions
		WHERE tenant = $1 AND id = $2`, tenant, id)
}

func scanWhole(row sqldb.Scanner) (Execution, error) {
	var arguments string
	var result []byte
	e, err := scanInto(row, &arguments, &result)
	e.Arguments, e.Result = arguments, result
	return e, err
}
