package store

import (
	"context"
	"errors"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// Child links the turn of a sub-agent to the turn that began it.
type Child struct {
	// Tenant and TurnID name the sub-agent's turn; SessionID and AgentID its session and agent.
	Tenant, TurnID, SessionID, AgentID string
	// ParentTurnID, ParentSessionID, StepKey and CallID say what began it.
	ParentTurnID, ParentSessionID, StepKey, CallID string
	// RootTurnID is the outermost turn above it.
	RootTurnID string
	// OriginTurnID is the turn that all of it follows from: RootTurnID, or for a tree that begins at a callback the origin of the
	// child that called back.
	OriginTurnID string
	// Depth is 1 for a child of a user's turn.
	Depth uint32
	// Background: the parent does not wait for it.
	Background bool
	// ParentNotified: the parent was notified of its end, or there is none to notify.
	ParentNotified bool
	// Attempts counts how often the sweeper took it, NextTime is when it is due again; only the sweeper changes them.
	Attempts int64
	NextTime time.Time
	// CreateTime is when it was wanted.
	CreateTime time.Time
}

const childColumns = `turn_children.tenant, turn_children.turn_id, turn_children.session_id, turn_children.agent_id, parent_turn_id,
	turn_children.parent_session_id, root_turn_id, origin_turn_id, step_key, call_id, depth, background, told,
	turn_children.create_us, turn_children.attempts, turn_children.next_us`

func scanChild(s sqldb.Scanner) (c Child, err error) {
	var background, told int64
	err = s.Scan(&c.Tenant, &c.TurnID, &c.SessionID, &c.AgentID, &c.ParentTurnID, &c.ParentSessionID, &c.RootTurnID, &c.OriginTurnID,
		&c.StepKey, &c.CallID, &c.Depth, &background, &told, sqldb.TimeColumn(&c.CreateTime), &c.Attempts, sqldb.TimeColumn(&c.NextTime))
	c.Background, c.ParentNotified = background != 0, told != 0
	return c, err
}

var insertTurnChildren = sqldb.Insert("turn_children", `tenant, turn_id, session_id, agent_id, parent_turn_id, parent_session_id,
	root_turn_id,
		origin_turn_id, step_key, call_id, depth, background, told, create_us`)

// AddChild stores a link. The parent's session must be locked; a step has one child at most.
func (tx *childTx) AddChild(ctx context.Context, c Child) error {
	_, err := sqldb.Exec(ctx, tx, insertTurnChildren,
		c.Tenant, c.TurnID, c.SessionID, c.AgentID, c.ParentTurnID, c.ParentSessionID, c.RootTurnID, c.OriginTurnID, c.StepKey, c.CallID,
		int64(c.Depth), rows.Flag(c.Background), rows.Flag(c.ParentNotified), sqldb.Micros(c.CreateTime))
	return err
}

// ChildOfStep reads the child that a step began. ErrNotFound when it began none.
func (tx *childTx) ChildOfStep(ctx context.Context, tenant, parentTurn, step string) (Child, error) {
	return sqldb.One(ctx, tx, scanChild, "SELECT "+childColumns+
		" FROM turn_children WHERE tenant = $1 AND parent_turn_id = $2 AND step_key = $3", tenant, parentTurn, step)
}

const selectChild = "SELECT " + childColumns + " FROM turn_children WHERE tenant = $1 AND turn_id = $2"

// Child reads the link of a sub-agent's turn. ErrNotFound for any other turn.
func (s *childReader) Child(ctx context.Context, tenant, turn string) (Child, error) {
	return rows.One(ctx, s.DB.Reader(), scanChild, selectChild, tenant, turn)
}

// Child reads the link of a sub-agent's turn. ErrNotFound for any other turn.
func (tx *childTx) Child(ctx context.Context, tenant, turn string) (Child, error) {
	return sqldb.One(ctx, tx, scanChild, selectChild, tenant, turn)
}

// WithAncestors returns a turn and, for that of a sub-agent, its ancestors, the nearest first. It ends at one whose session was
// deleted. What callers read of ancestors must not change once they are started: they are not locked.
func (tx *childTx) WithAncestors(ctx context.Context, t Turn) ([]Turn, error) {
	line := []Turn{t}
	for t.AgentPath != "" {
		link, err := tx.Child(ctx, t.Tenant, t.ID)
		if err == nil {
			t, err = (&turnTx{tx.Tx}).Turn(ctx, t.Tenant, link.ParentTurnID)
		}
		if errors.Is(err, ErrNotFound) {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
		line = append(line, t)
	}
	return line, nil
}

// CountChildren counts the turns of sub-agents that follow from a turn, callbacks and what they began included.
func (tx *childTx) CountChildren(ctx context.Context, tenant, origin string) (int, error) {
	return sqldb.One(ctx, tx, scanInt, "SELECT COUNT(*) FROM turn_children WHERE tenant = $1 AND origin_turn_id = $2", tenant, origin)
}

// SetCallback notes the turn that a child's result was given to its parent's session with.
func (tx *childTx) SetCallback(ctx context.Context, tenant, child, turn string) error {
	_, err := sqldb.Exec(ctx, tx, "UPDATE turn_children SET callback_turn_id = $3 WHERE tenant = $1 AND turn_id = $2", tenant, child, turn)
	return err
}

// CalledBack reads the child whose result a turn was given. ErrNotFound for any other turn.
func (tx *childTx) CalledBack(ctx context.Context, tenant, turn string) (Child, error) {
	return sqldb.One(ctx, tx, scanChild, "SELECT "+childColumns+" FROM turn_children WHERE tenant = $1 AND callback_turn_id <> '' AND "+
		"callback_turn_id = $2", tenant, turn)
}

func scanInt(s sqldb.Scanner) (n int, err error) {
	err = s.Scan(&n)
	return n, err
}

const childrenBelow = "SELECT " + childColumns +
	" FROM turn_children WHERE tenant = $1 AND root_turn_id = $2 ORDER BY turn_children.create_us, turn_children.turn_id"

// ChildrenBelow lists the links of all turns below an outermost turn, in the order in which they were begun.
func (s *childReader) ChildrenBelow(ctx context.Context, tenant, root string) ([]Child, error) {
	return rows.All(ctx, s.DB.Reader(), scanChild, childrenBelow, tenant, root)
}

// ChildrenBelow lists the links of all turns below an outermost turn, in the order in which they were begun.
func (tx *childTx) ChildrenBelow(ctx context.Context, tenant, root string) ([]Child, error) {
	return sqldb.All(ctx, tx, scanChild, childrenBelow, tenant, root)
}

// SetParentNotified records that no parent is to be notified of a child's end any more.
func (tx *childTx) SetParentNotified(ctx context.Context, tenant, turn string) error {
	_, err := sqldb.Exec(ctx, tx, "UPDATE turn_children SET told = 1 WHERE tenant = $1 AND turn_id = $2", tenant, turn)
	return err
}

// DueChildren returns ended children whose parents are to be notified by now. Those due longest come first.
func (s *childReader) DueChildren(ctx context.Context, now time.Time, limit int) ([]Child, error) {
	return rows.All(ctx, s.DB.Reader(), scanChild, "SELECT "+childColumns+` FROM turn_children
		JOIN turns ON turns.tenant = turn_children.tenant AND turns.id = turn_children.turn_id AND turns.end_us > 0
		WHERE told = 0 AND next_us <= $1 ORDER BY next_us LIMIT $2`, sqldb.Micros(now), limit)
}

// AbandonedChildren returns children that are not over although the turn that waited for them is, and that are to be stopped by
// now. Those due longest come first.
func (s *childReader) AbandonedChildren(ctx context.Context, now time.Time, limit int) ([]Child, error) {
	return rows.All(ctx, s.DB.Reader(), scanChild, "SELECT "+childColumns+` FROM turn_children
		JOIN turns p ON p.tenant = turn_children.tenant AND p.id = turn_children.parent_turn_id AND p.end_us > 0
		JOIN turns c ON c.tenant = turn_children.tenant AND c.id = turn_children.turn_id AND c.end_us = 0 AND c.cancel_requested = 0
		WHERE told = 0 AND background = 0 AND next_us <= $1 ORDER BY next_us LIMIT $2`, sqldb.Micros(now), limit)
}

// TakeChild keeps others from a due child until a time, unless it was taken since it was read.
func (tx *childTx) TakeChild(ctx context.Context, c Child, until time.Time) (bool, error) {
	n, err := sqldb.Exec(ctx, tx, `UPDATE turn_children SET next_us = $4, attempts = attempts + 1
		WHERE tenant = $1 AND turn_id = $2 AND told = 0 AND next_us = $3`, c.Tenant, c.TurnID, sqldb.Micros(c.NextTime), sqldb.Micros(until))
	return n == 1, err
}

// PostponeChild sets when a child whose parent is not notified is due again.
func (tx *childTx) PostponeChild(ctx context.Context, tenant, turn string, next time.Time) error {
	_, err := sqldb.Exec(ctx, tx, "UPDATE turn_children SET next_us = $3 WHERE tenant = $1 AND turn_id = $2 AND told = 0", tenant, turn,
		sqldb.Micros(next))
	return err
}

// SetUndelivered notes that the journal of the parent's session says why a child's result was not given to it. It reports false
// when that was noted before, or the parent was notified.
func (tx *childTx) SetUndelivered(ctx context.Context, tenant, turn string) (bool, error) {
	n, err := sqldb.Exec(ctx, tx,
		"UPDATE turn_children SET undelivered = 1 WHERE tenant = $1 AND turn_id = $2 AND told = 0 AND undelivered = 0", tenant, turn)
	return n == 1, err
}

// SetChildren writes how many children a turn has begun. Its session must be locked.
func (tx *childTx) SetChildren(ctx context.Context, t Turn) error {
	return sqldb.ExecOne(ctx, tx, "UPDATE turns SET children = $3 WHERE tenant = $1 AND id = $2", t.Tenant, t.ID, int64(t.Children))
}
