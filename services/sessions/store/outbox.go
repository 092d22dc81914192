package store

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// Outgoing is a turn whose workflow is to be started.
type Outgoing struct {
	// Tenant, TurnID, SessionID and AgentID are the workflow's input.
	Tenant, TurnID, SessionID, AgentID string
	// ParentTurnID is the turn of which this one is a child, empty for others; set when it is taken.
	ParentTurnID string
	// Again: the turn had a workflow before, which is lost.
	Again bool
	// Ended: the turn was over before its workflow was started; set when it is taken.
	Ended bool
	// CreateTime orders the outbox.
	CreateTime time.Time
	// FromTime is when it may first be taken.
	FromTime time.Time
	// Attempts counts how often it was taken.
	Attempts int
	// TraceParent is the turn's; set when it is taken.
	TraceParent string
}

func scanOutgoing(s sqldb.Scanner) (o Outgoing, err error) {
	var again, ended int64
	err = s.Scan(&o.Tenant, &o.TurnID, &o.SessionID, &o.AgentID, &again, &ended, sqldb.TimeColumn(&o.CreateTime), &o.Attempts, &o.TraceParent,
		&o.ParentTurnID)
	o.Again, o.Ended = again != 0, ended != 0
	return o, err
}

// AddOutgoing puts a turn into the outbox. One that is in it already stays as it is.
func (tx *outboxTx) AddOutgoing(ctx context.Context, o Outgoing) error {
	_, err := sqldb.Exec(ctx, tx, `INSERT INTO turn_outbox (tenant, turn_id, session_id, agent_id, summary, again, create_us,
		claimed_until_us, attempts, ended)
		VALUES ($1, $2, $3, $4, '', $5, $6, $7, 0, 0) ON CONFLICT (tenant, turn_id) DO NOTHING`,
		o.Tenant, o.TurnID, o.SessionID, o.AgentID, rows.Flag(o.Again), sqldb.Micros(o.CreateTime), sqldb.Micros(o.FromTime))
	return err
}

// HasOutgoing reports whether the outbox holds a turn that may be taken now.
func (s *outboxReader) HasOutgoing(ctx context.Context, now time.Time) (bool, error) {
	n, err := rows.One(ctx, s.DB.Reader(), sqldb.Column[int], `SELECT count(*) FROM
		(SELECT 1 FROM turn_outbox WHERE claimed_until_us <= $1 LIMIT 1) AS o`, sqldb.Micros(now))
	return n > 0, err
}

// TakeOutgoing takes up to limit turns out of the outbox for a while, oldest first, and marks them dispatched: nobody else
// gets them before until. Turns are left in it while maxOpen turns are under way with a workflow, those that wait for people
// not counted; 0 = no such bound. A turn that was taken before, or had a workflow, has one already and comes first. A turn that
// is over is not taken, see TakeOver.
func (tx *outboxTx) TakeOutgoing(ctx context.Context, now, until time.Time, limit, maxOpen int) ([]Outgoing, error) {
	taken, err := tx.takeWhere(ctx, "ended = 0 AND (attempts > 0 OR again = 1)", now, until, limit)
	if err != nil {
		return nil, err
	}
	limit -= len(taken)
	if maxOpen > 0 {
		open, err := sqldb.One(ctx, tx, sqldb.Column[int], "SELECT count(*) FROM turns WHERE end_us = 0 AND paused_us = 0 AND dispatched_us > 0")
		if err != nil {
			return nil, err
		}
		limit = min(limit, maxOpen-open)
	}
	fresh, err := tx.takeWhere(ctx, "ended = 0 AND attempts = 0 AND again = 0", now, until, limit)
	return append(taken, fresh...), err
}

// TakeOver is TakeOutgoing for turns that were over before their workflow was started. No bound but limit holds for them: such a workflow
// only notes what has happened.
func (tx *outboxTx) TakeOver(ctx context.Context, now, until time.Time, limit int) ([]Outgoing, error) {
	return tx.takeWhere(ctx, "ended = 1", now, until, limit)
}

func (tx *outboxTx) takeWhere(ctx context.Context, which string, now, until time.Time, limit int) ([]Outgoing, error) {
	if limit <= 0 {
		return nil, nil
	}
	taken, err := sqldb.All(ctx, tx, scanOutgoing, `SELECT tenant, turn_id, session_id, agent_id, again, ended, create_us, attempts,
		COALESCE((SELECT trace_parent FROM turns t WHERE t.tenant = turn_outbox.tenant AND t.id = turn_outbox.turn_id), ''),
		COALESCE((SELECT parent_turn_id FROM turn_children c WHERE c.tenant = turn_outbox.tenant AND c.turn_id = turn_outbox.turn_id), '')
		FROM turn_outbox WHERE claimed_until_us <= $1 AND `+which+" ORDER BY create_us, turn_id LIMIT $2"+tx.DB.SkipLocked(), sqldb.Micros(now), limit)
	if err != nil {
		return nil, err
	}
	for i := range taken {
		o := &taken[i]
		o.Attempts++
		if err := sqldb.ExecOne(ctx, tx,
			"UPDATE turn_outbox SET claimed_until_us = $3, attempts = attempts + 1 WHERE tenant = $1 AND turn_id = $2",
			o.Tenant, o.TurnID, sqldb.Micros(until)); err != nil {
			return nil, err
		}
		if _, err := sqldb.Exec(ctx, tx, "UPDATE turns SET dispatched_us = $3 WHERE tenant = $1 AND id = $2 AND dispatched_us = 0",
			o.Tenant, o.TurnID, sqldb.Micros(now)); err != nil {
			return nil, err
		}
	}
	return taken, nil
}

// DropOutgoing removes a turn from the outbox: its workflow is started, or it needs none any more. It may be gone already.
func (tx *outboxTx) DropOutgoing(ctx context.Context, tenant, turn string) error {
	_, err := sqldb.Exec(ctx, tx, "DELETE FROM turn_outbox WHERE tenant = $1 AND turn_id = $2", tenant, turn)
	return err
}

// WithdrawOutgoing removes a turn from the outbox if no replica has taken it yet, or is about to, and reports whether it did. Its
// session must be locked.
func (tx *outboxTx) WithdrawOutgoing(ctx context.Context, tenant, turn string) (bool, error) {
	n, err := sqldb.Exec(ctx, tx, "DELETE FROM turn_outbox WHERE "+tx.freeOutgoing()+" AND attempts = 0", tenant, turn)
	return n == 1, err
}

// freeOutgoing is a turn's row ($1 tenant, $2 turn) unless a replica takes it right now. Whichever takes rows locks them before their
// turns; who has changed a turn must not wait for its row.
func (tx *outboxTx) freeOutgoing() string {
	return "tenant = $1 AND turn_id IN (SELECT turn_id FROM turn_outbox WHERE tenant = $1 AND turn_id = $2" + tx.DB.SkipLocked() + ")"
}

// OutgoingOver notes that a turn has ended whose workflow may not be started yet: if no replica has taken it, it may be taken at
// once. One that is being taken right now stays as it is. The turn's session must be locked.
func (tx *outboxTx) OutgoingOver(ctx context.Context, tenant, turn string) error {
	_, err := sqldb.Exec(ctx, tx, `UPDATE turn_outbox SET ended = 1, claimed_until_us = CASE WHEN attempts = 0 THEN 0 ELSE claimed_until_us END
		WHERE `+tx.freeOutgoing(), tenant, turn)
	return err
}

// FreeOutgoing lets a taken turn be taken again from the given time on.
func (tx *outboxTx) FreeOutgoing(ctx context.Context, tenant, turn string, from time.Time) error {
	_, err := sqldb.Exec(ctx, tx, "UPDATE turn_outbox SET claimed_until_us = $3 WHERE tenant = $1 AND turn_id = $2", tenant, turn,
		sqldb.Micros(from))
	return err
}
