// Package totalsdb counts the turns that have ended, what they have cost, and what waits.
package totalsdb

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// shards is how many rows count the same: turns of sessions with different ones end without waiting for each other.
const shards = 16

// Ended is a turn that ends.
type Ended struct {
	// SessionID is its session.
	SessionID  string
	Status     turnv1.TurnStatus
	StopReason string
	// Tenant and Agent are whose it is, and Model is the one that it was pinned to.
	Tenant, Agent, Model string
	// EndTime is when it ends.
	EndTime time.Time
	// Usage is what it has used, nil for nothing.
	Usage *turnv1.Usage
}

// Reader reads totals, and what waits.
type Reader struct{ rows.Reader }

// CountEnded adds a turn that ends to the totals. Callers that count several turns in a transaction do so in one order, or databases with
// locks of rows may find two of them waiting for each other.
func CountEnded(ctx context.Context, tx sqldb.Tx, t Ended) error {
	h := fnv.New32a()
	_, _ = h.Write([]byte(t.SessionID)) // never fails
	u := t.Usage
	_, err := sqldb.Exec(ctx, tx, `INSERT INTO ended_totals (shard, tenant, agent_id, model, status, stop_reason, first_us, turns, model_calls,
			tool_calls, input_tokens, output_tokens, cost_micros) VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $9, $10, $11, $12)
		ON CONFLICT (shard, tenant, agent_id, model, status, stop_reason) DO UPDATE SET turns = ended_totals.turns + 1,
			model_calls = ended_totals.model_calls + excluded.model_calls, tool_calls = ended_totals.tool_calls + excluded.tool_calls,
			input_tokens = ended_totals.input_tokens + excluded.input_tokens, output_tokens = ended_totals.output_tokens + excluded.output_tokens,
			cost_micros = ended_totals.cost_micros + excluded.cost_micros`,
		int64(h.Sum32()%shards), t.Tenant, t.Agent, t.Model, int64(t.Status), t.StopReason, sqldb.Micros(t.EndTime),
		int64(u.GetModelCalls()), int64(u.GetToolCalls()), int64(u.GetInputTokens()), int64(u.GetOutputTokens()), u.GetCostMicros())
	if err != nil {
		return fmt.Errorf("count a turn that ended: %w", err)
	}
	return nil
}

// Backlog is what waits in all tenants.
type Backlog struct {
	// Turns that have not ended, by status.
	Turns map[turnv1.TurnStatus]int64
	// Queued is since when the oldest queued turn waits that no other turn of its session precedes, Sent the same of the starts of
	// workflows; zero = none.
	Queued, Sent time.Time
	// Outbox is how many workflows are to be started and have no process that does it now.
	Outbox int64
	// Waits are open waits by kind, and Oldest is since when the first of each is open.
	Waits  map[turnv1.WaitKind]int64
	Oldest map[turnv1.WaitKind]time.Time
}

// Backlog reads what waits.
func (s *Reader) Backlog(ctx context.Context, now time.Time) (Backlog, error) {
	b := Backlog{Turns: map[turnv1.TurnStatus]int64{}, Waits: map[turnv1.WaitKind]int64{}, Oldest: map[turnv1.WaitKind]time.Time{}}
	type row struct{ kind, n, first int64 }
	read := func(query string, args ...any) ([]row, error) {
		return sqldb.All(ctx, s.DB.Reader(), func(s sqldb.Scanner) (r row, err error) {
			err = s.Scan(&r.kind, &r.n, &r.first)
			return r, err
		}, query, args...)
	}
	turns, err := read(`SELECT status, count(*), 0 FROM turns WHERE end_us = 0 GROUP BY status`)
	if err != nil {
		return b, rows.Meaning(err)
	}
	for _, t := range turns {
		b.Turns[turnv1.TurnStatus(t.kind)] = t.n
	}
	ages, err := read(`SELECT 0, 0, coalesce(min(create_us), 0) FROM turns WHERE end_us = 0 AND open_waits = 0 AND place < 4294967295 AND status = 1
		UNION ALL SELECT 1, count(*), coalesce(min(create_us), 0) FROM turn_outbox WHERE ended = 0 AND claimed_until_us <= $1 ORDER BY 1`,
		sqldb.Micros(now))
	if err != nil {
		return b, rows.Meaning(err)
	}
	b.Queued, b.Outbox, b.Sent = sqldb.Time(ages[0].first), ages[1].n, sqldb.Time(ages[1].first)
	waits, err := read(`SELECT kind, count(*), min(create_us) FROM turn_waits WHERE verdict = 0 GROUP BY kind`)
	for _, w := range waits {
		kind := turnv1.WaitKind(w.kind)
		b.Waits[kind], b.Oldest[kind] = w.n, sqldb.Time(w.first)
	}
	return b, rows.Meaning(err)
}

// Load is what decides whether a further turn can be taken on.
type Load struct {
	// Queued are the turns of all tenants that wait for a worker, without those that wait behind another one of their session. Sent is since
	// when the oldest start of a workflow waits; zero = none.
	Queued int64
	Sent   time.Time
}

// Load reads the load. It counts at most as many of these turns as most.
func (s *Reader) Load(ctx context.Context, now time.Time, most int) (Load, error) {
	load, err := sqldb.One(ctx, s.DB.Reader(), func(s sqldb.Scanner) (l Load, err error) {
		err = s.Scan(&l.Queued, sqldb.TimeColumn(&l.Sent))
		return l, err
	}, `SELECT (SELECT count(*) FROM (SELECT 1 FROM turns WHERE end_us = 0 AND open_waits = 0 AND place < 4294967295 AND status = 1 LIMIT $2) AS queued),
		(SELECT coalesce(min(create_us), 0) FROM turn_outbox WHERE ended = 0 AND claimed_until_us <= $1)`, sqldb.Micros(now), int64(most))
	return load, rows.Meaning(err)
}
