package store

import (
	"context"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
	"github.com/windlass-dev/windlass/services/sessions/store/searchdb"
)

// Turn is one user input until its final answer. A time that has not come yet is zero.
type Turn struct {
	// Tenant and ID name it.
	Tenant, ID string
	// SessionID, AgentID and Subject say where, with whom and by whom.
	SessionID, AgentID, Subject string
	// Status is the last one that was stored.
	Status turnv1.TurnStatus
	// CancelRequested: a caller asked for its end.
	CancelRequested bool
	// Model and BlueprintRevision are set at the start.
	Model             string
	BlueprintRevision uint32
	// Deadline is when it must have ended; set at the start.
	Deadline time.Time
	// InputSeq is the seq of its user message; FirstSeq that of turn.queued; LastSeq that of the terminal event.
	InputSeq, FirstSeq, LastSeq uint32
	// Place orders the conversation: its messages stand there, after those of turns with a lower place. Unplaced until it becomes the active
	// turn; for ever if it ended before.
	Place uint32
	// Urgent turns run before others that wait, the newest first.
	Urgent bool
	// DispatchTime is when the dispatcher took it; CheckTime when the sweeper should next check whether its workflow runs.
	DispatchTime, CheckTime time.Time
	// Restarts counts workflows started for it after the first was lost.
	Restarts uint32
	// CreateTime, StartTime and EndTime are when it was accepted, begun and over.
	CreateTime, StartTime, EndTime time.Time
	// Usage is what it used so far, nil for nothing; End is how it ended, nil until it does.
	Usage *turnv1.Usage
	End   *turnv1.TurnEnded
	// TraceParent is the W3C traceparent of the request that made it, empty without a trace.
	TraceParent string
	// OpenWaits counts what it waits for; PeopleWaits those of them that wait for people. PausedSince is since when it waits for
	// people, zero = it does not.
	OpenWaits, PeopleWaits int64
	PausedSince            time.Time
	// Inputs counts what it was given while it runs.
	Inputs uint32
	// WakeTime is when its workflow is to be woken, zero = it is not. SetWake changes it.
	WakeTime time.Time
	// AgentPath are, for the turn of a sub-agent, the agents from the outermost to its own, separated by "/"; else empty.
	AgentPath string
	// Children is how many turns of sub-agents it began.
	Children uint32
	// ProviderData are the credentials that came with its request, sealed for it; nil for none, and from its end on. AddTurn writes it.
	ProviderData []byte
	// Cost is that of Usage in millionths when it was stored; 0 for turns of before it was stored. Writes take it from Usage.
	Cost int64
	// Quota reports whether its tokens count towards the quotas of its tenant and subject.
	Quota bool
	// Budgeted reports whether there is a budget, or a limit of its own, that its use counts for. Only LockTurn reads it.
	Budgeted bool
}

// Ended reports whether the turn is over.
func (t Turn) Ended() bool { return !t.EndTime.IsZero() }

// Waiting reports whether the turn waits for people.
func (t Turn) Waiting() bool { return t.Status == turnv1.TurnStatus_TURN_STATUS_WAITING }

// Path returns the agents of the turn from the outermost to its own, separated by "/".
func (t Turn) Path() string {
	if t.AgentPath != "" {
		return t.AgentPath
	}
	return t.AgentID
}

// Unplaced is the place of a turn that waits, or was given up while it did: behind all others, so that none of them reads its input.
const Unplaced = ^uint32(0)

const turnColumns = `tenant, id, session_id, agent_id, subject, status, cancel_requested, model, blueprint_revision, deadline_us, input_seq,
	first_seq, last_seq, dispatched_us, check_us, restarts, create_us, start_us, end_us, usage_data, end_data, trace_parent, place, urgent,
	open_waits, people_waits, paused_us, inputs, rouse_us, agent_path, children,
	provider_data, quota, cost_micros`

const selectTurn = "SELECT " + turnColumns + " FROM turns WHERE tenant = $1 AND id = $2"

func scanTurn(s sqldb.Scanner) (t Turn, err error) {
	var cancel, urgent, quota int64
	var usage, end []byte
	err = s.Scan(&t.Tenant, &t.ID, &t.SessionID, &t.AgentID, &t.Subject, (*int32)(&t.Status), &cancel, &t.Model, &t.BlueprintRevision,
		sqldb.TimeColumn(&t.Deadline),
		&t.InputSeq, &t.FirstSeq, &t.LastSeq, sqldb.TimeColumn(&t.DispatchTime), sqldb.TimeColumn(&t.CheckTime), &t.Restarts,
		sqldb.TimeColumn(&t.CreateTime), sqldb.TimeColumn(&t.StartTime), sqldb.TimeColumn(&t.EndTime), &usage, &end,
		&t.TraceParent, &t.Place, &urgent, &t.OpenWaits, &t.PeopleWaits, sqldb.TimeColumn(&t.PausedSince), &t.Inputs,
		sqldb.TimeColumn(&t.WakeTime), &t.AgentPath, &t.Children, &t.ProviderData, &quota, &t.Cost)
	if err != nil {
		return t, err
	}
	t.CancelRequested, t.Urgent, t.Quota = cancel != 0, urgent != 0, quota != 0
	if t.Usage, err = rows.Decode[turnv1.Usage](usage); err == nil {
		t.End, err = rows.Decode[turnv1.TurnEnded](end)
	}
	if err != nil {
		return t, fmt.Errorf("turn %s: %w", t.ID, err)
	}
	return t, nil
}

// Turn reads one. ErrNotFound when there is none.
func (s *turnReader) Turn(ctx context.Context, tenant, id string) (Turn, error) {
	return rows.One(ctx, s.DB.Reader(), scanTurn, selectTurn, tenant, id)
}

// Turn reads one whose session is locked. ErrNotFound when there is none.
func (tx *turnTx) Turn(ctx context.Context, tenant, id string) (Turn, error) {
	return sqldb.One(ctx, tx, scanTurn, selectTurn, tenant, id)
}

// TurnsInOrder lists all turns of a session in the order in which they were accepted, after the given first seq.
func (s *turnReader) TurnsInOrder(ctx context.Context, tenant, session string, after uint32, limit int) ([]Turn, error) {
	return rows.All(ctx, s.DB.Reader(), scanTurn, "SELECT "+turnColumns+
		" FROM turns WHERE tenant = $1 AND session_id = $2 AND first_seq > $3 ORDER BY first_seq LIMIT $4", tenant, session, int64(after), limit)
}

// Orders of Turns, for Page.By.
const (
	ByCost     = "cost_micros"
	ByDuration = "(CASE WHEN end_us > 0 THEN end_us - create_us ELSE 0 END)"
)

// TurnFilter says which turns to list.
type TurnFilter struct {
	// Tenant is required; the others only narrow when they are set. Subject is that of the session.
	Tenant, SessionID, Subject, AgentID string
	// Labels are those of the session, "key=value", or "key" for any value.
	Labels []string
	// Status narrows to one, 0 = all. Ended reports whether turns with this status have ended.
	Status turnv1.TurnStatus
	Ended  bool
	// Words narrow to turns that have a word that begins with each of them.
	Words []string
	Page
}

// Turns lists turns.
func (s *turnReader) Turns(ctx context.Context, f TurnFilter) ([]Turn, error) {
	list := f.selection()
	return rows.All(ctx, s.DB.Reader(), scanTurn, list.Text, list.Args...)
}

func (f TurnFilter) selection() *rows.Selection {
	list := rows.NewSelection("SELECT "+turnColumns+" FROM turns WHERE tenant = ?", f.Tenant)
	// A condition stands only where it is asked for, and for the turns of a session no other is one that an index could be chosen for.
	ofSession := f.SessionID != ""
	if ofSession {
		list.Add(" AND session_id = ?", f.SessionID)
	}
	switch {
	case f.Subject != "" && ofSession:
		list.Add(" AND COALESCE(owner, '') = ?", f.Subject)
	case f.Subject != "":
		list.Add(" AND owner = ?", f.Subject)
	}
	switch {
	case f.Status != 0 && ofSession:
		list.Add(" AND +status = ?", int64(f.Status))
	case f.Status != 0: // those that have ended have indexes of their own, which are used where the statement says which are meant
		list.Add(" AND status = ?", int64(f.Status))
		if f.Ended {
			list.Add(" AND end_us > 0")
		} else {
			list.Add(" AND end_us = 0")
		}
	}
	if f.AgentID != "" {
		list.Add(" AND agent_id = ?", f.AgentID)
	}
	if len(f.Labels) > 0 {
		list.Add(" AND EXISTS (SELECT 1 FROM sessions s WHERE s.tenant = turns.tenant AND s.id = turns.session_id")
		withLabels(list, "s.labels", f.Labels)
		list.Add(")")
	}
	if !ofSession {
		searchdb.WithoutDeleted(list, f.Tenant)
	}
	searchdb.Narrow(list, "turn_id", f.Tenant, f.Subject, f.Words)
	list.AddPage(f.Page)
	return list
}

var insertTurns = "INSERT INTO turns (" + turnColumns + ", owner) VALUES (" + sqldb.Placeholders(1, sqldb.Columns(turnColumns)) +
	", COALESCE((SELECT subject FROM sessions WHERE tenant = $1 AND id = $3), ''))"

// AddTurn stores a new turn. The session must be locked.
func (tx *turnTx) AddTurn(ctx context.Context, t Turn) error {
	usage, end, err := t.encode()
	if err != nil {
		return err
	}
	_, err = sqldb.Exec(ctx, tx, insertTurns,
		t.Tenant, t.ID, t.SessionID, t.AgentID, t.Subject, int64(t.Status), rows.Flag(t.CancelRequested), t.Model, int64(t.BlueprintRevision),
		sqldb.Micros(t.Deadline),
		int64(t.InputSeq), int64(t.FirstSeq), int64(t.LastSeq), sqldb.Micros(t.DispatchTime), sqldb.Micros(t.CheckTime), int64(t.Restarts),
		sqldb.Micros(t.CreateTime), sqldb.Micros(t.StartTime), sqldb.Micros(t.EndTime),
		usage, end, t.TraceParent, int64(t.Place), rows.Flag(t.Urgent), t.OpenWaits, t.PeopleWaits, sqldb.Micros(t.PausedSince),
		int64(t.Inputs), sqldb.Micros(t.WakeTime),
		t.AgentPath, int64(t.Children), t.ProviderData, rows.Flag(t.Quota), t.Usage.GetCostMicros())
	return err
}

// SaveTurn writes what changes in a turn, but for what the outbox and the sweeper change (DispatchTime, CheckTime, Restarts,
// WakeTime). Its session must be locked.
func (tx *turnTx) SaveTurn(ctx context.Context, t Turn) error {
	args, err := t.changing()
	if err != nil {
		return err
	}
	if tx.DB.Dialect() == sqldb.SQLite {
		if n, err := sqldb.Exec(ctx, tx, updateSameTurn, args...); err != nil || n == 1 {
			return err
		}
	}
	return sqldb.ExecOne(ctx, tx, updateTurn, args...)
}

// updateSameTurn is updateTurn for a turn whose columns in indexes stay as they are, and changes no row otherwise. SQLite writes the pages
// of an index for each statement that sets one of its columns, also to the value that it has; PostgreSQL compares the values.
const updateSameTurn = `UPDATE turns SET cancel_requested = $4, model = $5, blueprint_revision = $6, deadline_us = $7,
	last_seq = $8, start_us = $9, usage_data = $11, end_data = $12, people_waits = $14, inputs = $16, cost_micros = $17
	WHERE tenant = $1 AND id = $2 AND +status = $3 AND +end_us = 0 AND +end_us = $10 AND +open_waits = $13 AND +paused_us = $15`

// EndTurn is SaveTurn for a turn that ends. It reports whether a webhook may have to be notified of it: the tenant has a webhook that is
// enabled, or the turn an address of its own. That comes from the statement that is needed anyway, which reads every webhook whose
// making was answered before.
func (tx *turnTx) EndTurn(ctx context.Context, t Turn) (subscribed bool, err error) {
	if err := searchdb.SetDue(ctx, tx, t.Tenant, t.SessionID); err != nil {
		return false, err
	}
	args, err := t.changing()
	if err != nil {
		return false, err
	}
	n, err := sqldb.One(ctx, tx, sqldb.Column[int64], updateTurn+` RETURNING CASE
		WHEN EXISTS (SELECT 1 FROM webhooks w WHERE w.tenant = $1 AND w.disabled = 0 AND w.per_turn = 0) THEN 1
		WHEN EXISTS (SELECT 1 FROM turn_webhooks w WHERE w.tenant = $1 AND w.turn_id = $2) THEN 1 ELSE 0 END`, args...)
	return n == 1, err
}

const updateTurn = `UPDATE turns SET status = $3, cancel_requested = $4, model = $5, blueprint_revision = $6, deadline_us = $7,
	last_seq = $8, start_us = $9, end_us = $10, usage_data = $11, end_data = $12,
	provider_data = CASE WHEN CAST($10 AS BIGINT) > 0 THEN NULL ELSE provider_data END,
	open_waits = $13, people_waits = $14, paused_us = $15, inputs = $16, cost_micros = $17 WHERE tenant = $1 AND id = $2`

// encode returns usage and end as they are stored.
func (t Turn) encode() (usage, end []byte, err error) {
	if usage, err = rows.Encode(t.Usage); err == nil {
		end, err = rows.Encode(t.End)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("turn %s: %w", t.ID, err)
	}
	return usage, end, nil
}

// changing returns the values of updateTurn.
func (t Turn) changing() ([]any, error) {
	usage, end, err := t.encode()
	return []any{
		t.Tenant, t.ID, int64(t.Status), rows.Flag(t.CancelRequested), t.Model, int64(t.BlueprintRevision), sqldb.Micros(t.Deadline),
		int64(t.LastSeq),
		sqldb.Micros(t.StartTime), sqldb.Micros(t.EndTime), usage, end, t.OpenWaits, t.PeopleWaits, sqldb.Micros(t.PausedSince), int64(t.Inputs),
		t.Usage.GetCostMicros(),
	}, err
}

// SetCheck says when the sweeper should check a turn next, and how many workflows it had.
func (tx *turnTx) SetCheck(ctx context.Context, tenant, id string, check time.Time, restarts uint32) error {
	return sqldb.ExecOne(ctx, tx, "UPDATE turns SET check_us = $3, restarts = $4 WHERE tenant = $1 AND id = $2",
		tenant, id, sqldb.Micros(check), int64(restarts))
}

// NextQueued reads the turn of a locked session that is to run next: the newest of the urgent ones, else the oldest that waits.
// ErrNotFound when there is none.
func (tx *turnTx) NextQueued(ctx context.Context, tenant, session string) (Turn, error) {
	return sqldb.One(ctx, tx, scanTurn, "SELECT "+turnColumns+` FROM turns WHERE tenant = $1 AND session_id = $2 AND +status = $3
		AND end_us = 0 ORDER BY urgent DESC, CASE WHEN urgent = 1 THEN -first_seq ELSE first_seq END LIMIT 1`, tenant, session,
		int64(turnv1.TurnStatus_TURN_STATUS_QUEUED))
}

// PlaceTurn gives a turn that waited, and its input, their place in the conversation. Its session must be locked.
func (tx *turnTx) PlaceTurn(ctx context.Context, t Turn) error {
	if err := sqldb.ExecOne(ctx, tx, "UPDATE turns SET place = $3 WHERE tenant = $1 AND id = $2", t.Tenant, t.ID, int64(t.Place)); err != nil {
		return err
	}
	return sqldb.ExecOne(ctx, tx, "UPDATE messages SET turn_seq = $4 WHERE tenant = $1 AND session_id = $2 AND seq = $3",
		t.Tenant, t.SessionID, int64(t.InputSeq), int64(t.Place))
}

// CountOpen counts the turns of a locked session that are not over.
func (tx *turnTx) CountOpen(ctx context.Context, tenant, session string) (int, error) {
	return sqldb.One(ctx, tx, sqldb.Column[int], "SELECT count(*) FROM turns WHERE tenant = $1 AND session_id = $2 AND end_us = 0", tenant,
		session)
}

// Stale lists turns that were dispatched, are not over, do not wait for people, and whose time to be looked at has come: no lease
// of a step is live, and the outbox does not hold them.
func (s *turnReader) Stale(ctx context.Context, now time.Time, limit int) ([]Turn, error) {
	return rows.All(ctx, s.DB.Reader(), scanTurn, "SELECT "+turnColumns+` FROM turns t WHERE t.end_us = 0 AND t.paused_us = 0 AND
		t.dispatched_us > 0
		AND t.check_us <= $1 AND NOT EXISTS (SELECT 1 FROM turn_steps s WHERE s.tenant = t.tenant AND s.turn_id = t.id
		AND s.done = 0 AND s.lease_expires_us > $1)
		AND NOT EXISTS (SELECT 1 FROM turn_outbox o WHERE o.tenant = t.tenant AND o.turn_id = t.id) ORDER BY t.check_us LIMIT $2`, sqldb.Micros(now), limit)
}
