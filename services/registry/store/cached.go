package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// Uses of the cache by an execution.
const (
	// CacheHit means that the result came from the cache and nothing was sent.
	CacheHit = "hit"
	// CacheMiss means that the call was sent although its result can be kept.
	CacheMiss = "miss"
)

// CacheUse counts executions by their use of the cache.
type CacheUse struct {
	Hits, Misses int64
}

func (q sqlLedger) Record(ctx context.Context, e Execution) error {
	err := q.recordAll(ctx, []Execution{e})
	if sqldb.IsUnique(err) {
		return fmt.Errorf("execution %q: %w", e.Key, ErrExists)
	}
	if err != nil {
		return fmt.Errorf("record execution: %w", err)
	}
	return nil
}

func (q sqlLedger) recordAll(ctx context.Context, all []Execution) error {
	return q.record(ctx, all, func(sqldb.Tx) (func(Execution) bool, error) {
		return func(Execution) bool { return false }, nil
	})
}

// record commits finished rows, each with its event. What forgotten returns in the transaction says which of them are of conversations that
// were erased.
func (q sqlLedger) record(ctx context.Context, all []Execution, forgotten func(sqldb.Tx) (func(Execution) bool, error)) error {
	return q.db.record(ctx, q.db.Write, func(tx sqldb.Tx, record recordFunc) error {
		erased, err := forgotten(tx)
		if err != nil {
			return err
		}
		rows := make([][]any, len(all))
		for i, e := range all {
			if erased(e) {
				e = e.forgotten()
				rows[i] = append(q.values(e), e.Result)
				continue
			}
			rows[i] = append(q.values(e), e.Result)
			if err := record(q.db.calledEvent(e)); err != nil {
				return err
			}
		}
		return insertRecorded.Exec(ctx, tx, rows)
	})
}

func (q sqlLedger) Repeated(ctx context.Context, e Execution) (bool, error) {
	if q.waiting.has(e.erasedWith()) {
		if err := q.Flush(ctx); err != nil {
			return false, err
		}
	}
	n, err := sqldb.One(ctx, q.db.Reader(), scanCount, `SELECT count(*) FROM executions
		WHERE tenant = $1 AND turn_id <> '' AND turn_id = $2 AND tool = $3 AND arguments_hash = $4`,
		e.Tenant, e.TurnID, e.Tool, e.ArgumentsHash)
	if err != nil {
		return false, fmt.Errorf("look for an earlier call: %w", err)
	}
	return n > 0, nil
}

func (q sqlLedger) CacheUse(ctx context.Context, tenant string, since time.Time) (CacheUse, error) {
	if err := q.Flush(ctx); err != nil {
		return CacheUse{}, err
	}
	use, err := sqldb.One(ctx, q.db.Reader(), scanCacheUse, `SELECT coalesce(sum(CASE WHEN cache = 'hit' THEN 1 ELSE 0 END), 0),
		coalesce(sum(CASE WHEN cache = 'miss' THEN 1 ELSE 0 END), 0)
		FROM executions WHERE tenant = $1 AND created_us >= $2 AND cache <> ''`, tenant, sqldb.Micros(since))
	if err != nil {
		return use, fmt.Errorf("count uses of the cache: %w", err)
	}
	return use, nil
}

func scanCacheUse(row sqldb.Scanner) (u CacheUse, err error) {
	err = row.Scan(&u.Hits, &u.Misses)
	return u, err
}

func (q sqlLedger) Kept(ctx context.Context, tenant string, ids []string) (tools []Execution, err error) {
	if err := q.Flush(ctx); err != nil {
		return nil, err
	}
	for part := range slices.Chunk(ids, chunk) {
		args := []any{tenant}
		for _, of := range callsOf(&args, part) {
			found, err := sqldb.All(ctx, q.db.Reader(), func(row sqldb.Scanner) (e Execution, err error) {
				err = row.Scan(&e.Source, &e.Tool)
				return e, err
			}, `SELECT DISTINCT source, tool FROM executions`+of+` AND cache <> ''`, args...)
			if err != nil {
				return nil, fmt.Errorf("list cached tools: %w", err)
			}
			tools = append(tools, found...)
		}
	}
	return tools, nil
}
