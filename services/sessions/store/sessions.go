package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
	"github.com/windlass-dev/windlass/services/sessions/store/searchdb"
)

// Session is a conversation.
type Session struct {
	// Tenant and ID name it.
	Tenant, ID string
	// AgentID names the agent; Subject who opened it; Title is for people.
	AgentID, Subject, Title string
	// Labels are free.
	Labels map[string]string
	// LastSeq is the seq of the newest event in the journal, 0 when it is empty.
	LastSeq uint32
	// OpenSeq is the seq that the deltas of the open message hang on, 0 when no message is open.
	OpenSeq uint32
	// ActiveTurnID is the turn that was handed to the dispatcher and is not over, "" when there is none.
	ActiveTurnID string
	// ForkedFrom is the session it was forked from, "" when it was not; ForkedSeq up to which seq of it.
	ForkedFrom string
	ForkedSeq  uint32
	// Params are JSON, "" for none.
	Params string
	// ParentSession and ParentTurn are what began the session of a sub-agent, "" for that of a user.
	ParentSession, ParentTurn string
	// ContextBytes is about how large the conversation is as models are shown it; CompactedSeq the event that last compacted it, 0 = none.
	ContextBytes int64
	CompactedSeq uint32
	// Banks are ids of banks that its turns answer from, nil for those of the agent.
	Banks []string
	// Pinned and Archived are set by users.
	Pinned, Archived bool
	// CreateTime and UpdateTime are when it was opened and when something last happened.
	CreateTime, UpdateTime time.Time
}

const sessionColumns = "tenant, id, agent_id, subject, title, labels, last_seq, open_seq, active_turn_id, create_us, update_us, " +
	"forked_from_session, forked_from_seq, params, parent_session_id, parent_turn_id, " +
	"context_bytes, compacted_seq, pinned, archived, banks"

func scanSession(s sqldb.Scanner) (v Session, err error) {
	var labels string
	if err = s.Scan(v.columns(&labels)...); err == nil {
		err = v.label(labels)
	}
	return v, err
}

// columns are where sessionColumns go.
func (v *Session) columns(labels *string) []any {
	return []any{
		&v.Tenant, &v.ID, &v.AgentID, &v.Subject, &v.Title, labels, &v.LastSeq, &v.OpenSeq, &v.ActiveTurnID, sqldb.TimeColumn(&v.CreateTime),
		sqldb.TimeColumn(&v.UpdateTime),
		&v.ForkedFrom, &v.ForkedSeq, &v.Params, &v.ParentSession, &v.ParentTurn, &v.ContextBytes, &v.CompactedSeq,
		rows.FlagColumn{To: &v.Pinned},
		rows.FlagColumn{To: &v.Archived},
		banksColumn{&v.Banks},
	}
}

// banksColumn scans the ids of banks, which are joined by commas.
type banksColumn struct{ to *[]string }

// Scan implements sql.Scanner.
func (c banksColumn) Scan(src any) error {
	var text sql.NullString
	if err := text.Scan(src); err != nil {
		return err
	}
	if *c.to = nil; text.String != "" {
		*c.to = strings.Split(text.String, ",")
	}
	return nil
}

func (v *Session) label(labels string) error {
	if labels == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(labels), &v.Labels); err != nil {
		return fmt.Errorf("labels of session %s: %w", v.ID, err)
	}
	return nil
}

var selectTurnAndSession = "SELECT " + rows.Of("t", turnColumns) + ", " +
	rows.Of("s", sessionColumns) +
	" FROM turns t JOIN sessions s ON s.tenant = t.tenant AND s.id = t.session_id WHERE t.tenant = $1 AND t.id = $2" +
	" AND s.delete_us = 0"

// selectSession reads a session that is not deleted.
const selectSession = "SELECT " + sessionColumns + " FROM sessions WHERE tenant = $1 AND id = $2 AND delete_us = 0"

// Session reads one. ErrNotFound when there is none.
func (s *sessionReader) Session(ctx context.Context, tenant, id string) (Session, error) {
	return rows.One(ctx, s.DB.Reader(), scanSession, selectSession, tenant, id)
}

// TurnAndSession reads a turn and its session. ErrNotFound when there is no such turn.
func (s *sessionReader) TurnAndSession(ctx context.Context, tenant, turn string) (Turn, Session, error) {
	both, err := rows.One(ctx, s.DB.Reader(), withSession(scanTurn), selectTurnAndSession, tenant, turn)
	return both.turn, both.session, err
}

type turnAndSession struct {
	turn    Turn
	session Session
}

// withSession scans a turn whose session is in the columns behind it.
func withSession(scanTurn func(sqldb.Scanner) (Turn, error)) func(sqldb.Scanner) (turnAndSession, error) {
	return func(row sqldb.Scanner) (v turnAndSession, err error) {
		var labels string
		if v.turn, err = scanTurn(rows.More{Scanner: row, Last: v.session.columns(&labels)}); err == nil {
			err = v.session.label(labels)
		}
		return v, err
	}
}

// LockSession reads a session and keeps others from changing it until the transaction ends.
func (tx *sessionTx) LockSession(ctx context.Context, tenant, id string) (Session, error) {
	return sqldb.One(ctx, tx, scanSession, selectSession+tx.DB.ForUpdate(), tenant, id)
}

// LockTurn locks the session of a turn and reads both. ErrNotFound when there is no such turn.
func (tx *sessionTx) LockTurn(ctx context.Context, tenant, turn string) (Session, Turn, error) {
	lock := tx.DB.ForUpdate()
	if lock == "" { // nobody else writes now: both are read at once
		both, err := sqldb.One(ctx, tx, withSession(scanLockedTurn), selectLockedTurnAndSession, tenant, turn)
		return both.session, both.turn, err
	}
	ses, err := sqldb.One(ctx, tx, scanSession, "SELECT "+sessionColumns+" FROM sessions WHERE tenant = $1 AND id = "+
		"(SELECT session_id FROM turns WHERE tenant = $1 AND id = $2) AND delete_us = 0"+lock, tenant, turn)
	if err != nil {
		return Session{}, Turn{}, err
	}
	// A second statement, as the turn may have changed while this one waited for the lock.
	t, err := sqldb.One(ctx, tx, scanLockedTurn, selectLockedTurn, tenant, turn)
	return ses, t, err
}

// SessionFilter says which sessions to list.
type SessionFilter struct {
	// Tenant is required; the others only narrow when they are set.
	Tenant, Subject, AgentID string
	// Labels are "key=value", or "key" for any value.
	Labels []string
	// Active narrows to sessions with an active turn, or to those without; Pinned and Archived to those that are, or are not.
	Active, Pinned, Archived *bool
	// Words narrow to sessions that have a word that begins with each of them.
	Words []string
	// Status narrows to sessions whose newest turn has it, 0 = all.
	Status turnv1.TurnStatus
	Page
}

// Sessions lists sessions.
func (s *sessionReader) Sessions(ctx context.Context, f SessionFilter) ([]Session, error) {
	list := f.selection()
	return rows.All(ctx, s.DB.Reader(), scanSession, list.Text, list.Args...)
}

func (f SessionFilter) selection() *rows.Selection {
	list := rows.NewSelection("SELECT "+sessionColumns+" FROM sessions WHERE tenant = ? AND delete_us = 0", f.Tenant)
	if f.Subject != "" {
		list.Add(" AND subject = ?", f.Subject)
	}
	if f.AgentID != "" {
		list.Add(" AND agent_id = ?", f.AgentID)
	}
	switch {
	case f.Active == nil:
	case *f.Active:
		list.Add(" AND active_turn_id <> ''")
	default:
		list.Add(" AND active_turn_id = ''")
	}
	if f.Pinned != nil {
		list.Add(" AND pinned = ?", rows.Flag(*f.Pinned))
	}
	if f.Archived != nil {
		list.Add(" AND archived = ?", rows.Flag(*f.Archived))
	}
	searchdb.Narrow(list, "session_id", f.Tenant, f.Subject, f.Words)
	if f.Status != 0 {
		list.Add(" AND (SELECT t.status FROM turns t WHERE t.tenant = sessions.tenant AND t.session_id = sessions.id "+
			"ORDER BY t.first_seq DESC LIMIT 1) = ?", int64(f.Status))
	}
	withLabels(list, "labels", f.Labels)
	list.AddPage(f.Page)
	return list
}

// withLabels narrows a list to rows whose column of labels, JSON as encodeLabels writes it, has them all. Quotes within names and values
// are escaped there, so that the text of a label is found only where it is one.
func withLabels(list *rows.Selection, column string, labels []string) {
	for _, label := range labels {
		key, value, whole := strings.Cut(label, "=")
		text, err := encodeLabels(map[string]string{key: value})
		if err != nil {
			continue // text always encodes
		}
		text = strings.Trim(text, "{}")
		if !whole {
			text = strings.TrimSuffix(text, `""`)
		}
		list.Add(" AND replace("+column+", ?, '') <> "+column, text)
	}
}

func encodeLabels(labels map[string]string) (string, error) {
	if len(labels) == 0 {
		return "", nil
	}
	text, err := json.Marshal(labels)
	return string(text), err
}

// SaveLabels writes the labels of a locked session, and what else only users change. Its title may have changed with them.
func (tx *sessionTx) SaveLabels(ctx context.Context, v Session) error {
	labels, err := encodeLabels(v.Labels)
	if err != nil {
		return fmt.Errorf("labels of session %s: %w", v.ID, err)
	}
	if err := searchdb.SetDue(ctx, tx, v.Tenant, v.ID); err != nil {
		return err
	}
	return sqldb.ExecOne(ctx, tx, "UPDATE sessions SET labels = $3, pinned = $4, archived = $5 WHERE tenant = $1 AND id = $2",
		v.Tenant, v.ID, labels, rows.Flag(v.Pinned), rows.Flag(v.Archived))
}

var insertSessions = sqldb.Insert("sessions", sessionColumns)

// AddSession stores a new session.
func (tx *sessionTx) AddSession(ctx context.Context, v Session) error {
	labels, err := encodeLabels(v.Labels)
	if err != nil {
		return fmt.Errorf("labels of session %s: %w", v.ID, err)
	}
	_, err = sqldb.Exec(ctx, tx, insertSessions,
		v.Tenant, v.ID, v.AgentID, v.Subject, v.Title, labels, int64(v.LastSeq), int64(v.OpenSeq), v.ActiveTurnID, sqldb.Micros(v.CreateTime),
		sqldb.Micros(v.UpdateTime),
		v.ForkedFrom, int64(v.ForkedSeq), v.Params, v.ParentSession, v.ParentTurn, v.ContextBytes, int64(v.CompactedSeq),
		rows.Flag(v.Pinned), rows.Flag(v.Archived), strings.Join(v.Banks, ","))
	if err == nil && v.Title != "" {
		err = searchdb.SetDue(ctx, tx, v.Tenant, v.ID)
	}
	return rows.Unique(err)
}

// SaveSession writes what changes in a locked session: sequence numbers, active turn, title, what its context has come to, time.
func (tx *sessionTx) SaveSession(ctx context.Context, v Session) error {
	return sqldb.ExecOne(ctx, tx, `UPDATE sessions SET last_seq = $3, open_seq = $4, active_turn_id = $5, title = $6, update_us = $7,
		context_bytes = $8, compacted_seq = $9 WHERE tenant = $1 AND id = $2`, v.Tenant, v.ID, int64(v.LastSeq), int64(v.OpenSeq), v.ActiveTurnID,
		v.Title, sqldb.Micros(v.UpdateTime), v.ContextBytes, int64(v.CompactedSeq))
}

// DeleteSession removes a locked session with all that belongs to it here, and notes its turns for erasure elsewhere, and the session
// itself for what it did outside of turns.
func (tx *sessionTx) DeleteSession(ctx context.Context, tenant, id string) error {
	if err := addErasures(ctx, tx, tenant, id); err != nil {
		return err
	}
	if err := (&agentTx{tx.Tx}).dropArtifacts(ctx, tenant, id); err != nil {
		return err
	}
	const ofTurns = " WHERE tenant = $1 AND turn_id IN (SELECT id FROM turns WHERE tenant = $1 AND session_id = $2)"
	for _, statement := range []string{
		"DELETE FROM turn_steps" + ofTurns,
		"DELETE FROM turn_children" + ofTurns,
		"DELETE FROM budget_holds" + ofTurns,
		"DELETE FROM budgets WHERE tenant = $1 AND scope = 'turn' AND target IN (SELECT id FROM turns WHERE tenant = $1 AND session_id = $2)",
		"DELETE FROM turn_inputs" + ofTurns,
		"DELETE FROM turn_wait_roles WHERE tenant = $1 AND wait_id IN (SELECT id FROM turn_waits WHERE tenant = $1 AND session_id = $2)",
		"DELETE FROM turn_waits WHERE tenant = $1 AND session_id = $2",
		"DELETE FROM turn_surfaces" + ofTurns,
		"DELETE FROM turn_requesters" + ofTurns,
		"DELETE FROM turn_idempotency" + ofTurns,
		"DELETE FROM turn_idempotency WHERE tenant = $1 AND session_id = $2",
		"DELETE FROM turn_outbox WHERE tenant = $1 AND session_id = $2",
		"DELETE FROM turn_webhooks" + ofTurns,
		"DELETE FROM webhook_deliveries WHERE tenant = $1 AND session_id = $2",
		"DELETE FROM turn_journal WHERE tenant = $1 AND session_id = $2",
		"DELETE FROM compactions WHERE tenant = $1 AND session_id = $2",
		"DELETE FROM messages WHERE tenant = $1 AND session_id = $2",
		"DELETE FROM session_shares WHERE tenant = $1 AND session_id = $2",
		"DELETE FROM session_executors WHERE tenant = $1 AND session_id = $2",
		"DELETE FROM sessions_events WHERE tenant = $1 AND erase_with <> '' AND erase_with = $2",
		"DELETE FROM turns WHERE tenant = $1 AND session_id = $2",
	} {
		if _, err := sqldb.Exec(ctx, tx, statement, tenant, id); err != nil {
			return err
		}
	}
	if err := searchdb.Forget(ctx, tx, searchdb.Session{Tenant: tenant, ID: id}); err != nil {
		return err
	}
	return sqldb.ExecOne(ctx, tx, "DELETE FROM sessions WHERE tenant = $1 AND id = $2", tenant, id)
}
