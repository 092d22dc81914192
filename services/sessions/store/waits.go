package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/sqldb"
	storev1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/store/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
	"github.com/windlass-dev/windlass/services/sessions/store/searchdb"
)

// The two halves of a wait. The messages that are stored are the types that the service works with.
type (
	// WaitRequest says what is waited for.
	WaitRequest = storev1.StoredWaitRequest
	// WaitAnswer is the answer so far.
	WaitAnswer = storev1.StoredWaitAnswer
)

// Wait is something that a turn waits for, or waited for.
type Wait struct {
	// Tenant and ID name it.
	Tenant, ID string
	// TurnID, SessionID and AgentID say whose it is.
	TurnID, SessionID, AgentID string
	// Owner is the subject of the session; Requester that of the turn.
	Owner, Requester string
	// StepKey is the tool step that ended with it.
	StepKey string
	Kind    turnv1.WaitKind
	// CallID and Tool are those of the call.
	CallID, Tool string
	// Verdict is how it ended, 0 while it is open.
	Verdict turnv1.Verdict
	// CreateTime is when it began; ExpireTime when it expires, zero = never; EndTime when it ended, zero = not yet.
	CreateTime, ExpireTime, EndTime time.Time
	// Request says what is waited for; Answer is the answer so far. Neither is nil.
	Request *WaitRequest
	Answer  *WaitAnswer
	// Requesters are those by whose input the call came about.
	Requesters []string
}

// Open reports whether nothing has ended it yet.
func (w Wait) Open() bool { return w.Verdict == 0 }

// Due reports whether it is open and has expired.
func (w Wait) Due(now time.Time) bool {
	return w.Open() && !w.ExpireTime.IsZero() && !w.ExpireTime.After(now)
}

// ForPeople reports whether it waits for a person, so that the turn's time does not run.
func (w Wait) ForPeople() bool { return w.Kind != turnv1.WaitKind_WAIT_KIND_CHILD }

// Quorum is how many must approve.
func (w Wait) Quorum() uint32 { return max(w.Request.GetQuorum(), 1) }

// Ref is the wait as the outcome of its step names it.
func (w Wait) Ref() *turnv1.WaitRef {
	return &turnv1.WaitRef{Id: w.ID, Kind: w.Kind, ExpireMicros: sqldb.Micros(w.ExpireTime)}
}

const waitColumns = `tenant, id, turn_id, session_id, agent_id, owner, requester, step_key, kind, call_id, tool, verdict, create_us,
	expires_us,
	end_us, request, answer, requesters`

func scanWait(s sqldb.Scanner) (w Wait, err error) {
	var request, answer []byte
	var requesters string
	if err := s.Scan(&w.Tenant, &w.ID, &w.TurnID, &w.SessionID, &w.AgentID, &w.Owner, &w.Requester, &w.StepKey, (*int32)(&w.Kind), &w.CallID,
		&w.Tool,
		(*int32)(&w.Verdict), sqldb.TimeColumn(&w.CreateTime), sqldb.TimeColumn(&w.ExpireTime), sqldb.TimeColumn(&w.EndTime), &request,
		&answer, &requesters); err != nil {
		return w, err
	}
	w.Request, w.Answer, w.Requesters = &WaitRequest{}, &WaitAnswer{}, []string{w.Requester}
	err = errors.Join(proto.Unmarshal(request, w.Request), proto.Unmarshal(answer, w.Answer))
	if requesters != "" {
		err = errors.Join(err, json.Unmarshal([]byte(requesters), &w.Requesters))
	}
	if err != nil {
		return w, fmt.Errorf("wait %s: %w", w.ID, err)
	}
	return w, nil
}

// requesters returns those by whose input the call came about as they are stored: nothing if that is the one who began the turn alone.
func (w Wait) requesters() (string, error) {
	if len(w.Requesters) == 0 || len(w.Requesters) == 1 && w.Requesters[0] == w.Requester {
		return "", nil
	}
	data, err := json.Marshal(w.Requesters)
	return string(data), err
}

var insertTurnWaits = sqldb.Insert("turn_waits", waitColumns)

var insertTurnWaitRoles = sqldb.Insert("turn_wait_roles", "tenant, wait_id, role") + " ON CONFLICT DO NOTHING"

// AddWait stores a new wait and the roles of which its approvers need one. The session must be locked.
func (tx *waitTx) AddWait(ctx context.Context, w Wait, roles []string) error {
	request, errRequest := rows.Encode(w.Request)
	answer, errAnswer := rows.Encode(w.Answer)
	requesters, errRequesters := w.requesters()
	err := errors.Join(errRequest, errAnswer, errRequesters)
	if err != nil {
		return fmt.Errorf("wait %s: %w", w.ID, err)
	}
	_, err = sqldb.Exec(ctx, tx, insertTurnWaits,
		w.Tenant, w.ID, w.TurnID, w.SessionID, w.AgentID, w.Owner, w.Requester, w.StepKey, int64(w.Kind), w.CallID, w.Tool,
		int64(w.Verdict), sqldb.Micros(w.CreateTime), sqldb.Micros(w.ExpireTime), sqldb.Micros(w.EndTime), request, answer, requesters)
	if err != nil {
		return err
	}
	for _, role := range roles {
		if _, err := sqldb.Exec(ctx, tx, insertTurnWaitRoles,
			w.Tenant, w.ID, role); err != nil {
			return err
		}
	}
	return nil
}

// SaveWait writes how a wait stands: verdict, answer and end. The session must be locked.
func (tx *waitTx) SaveWait(ctx context.Context, w Wait) error {
	answer, err := rows.Encode(w.Answer)
	if err != nil {
		return fmt.Errorf("wait %s: %w", w.ID, err)
	}
	return sqldb.ExecOne(ctx, tx, "UPDATE turn_waits SET verdict = $3, answer = $4, end_us = $5 WHERE tenant = $1 AND id = $2",
		w.Tenant, w.ID, int64(w.Verdict), answer, sqldb.Micros(w.EndTime))
}

const (
	selectWait  = "SELECT " + waitColumns + " FROM turn_waits WHERE tenant = $1 AND id = $2"
	waitsOfTurn = "SELECT " + waitColumns + " FROM turn_waits WHERE tenant = $1 AND turn_id = $2 ORDER BY create_us, step_key, id"
)

// Wait reads one. ErrNotFound when there is none, or its session is deleted.
func (s *waitReader) Wait(ctx context.Context, tenant, id string) (Wait, error) {
	return rows.One(ctx, s.DB.Reader(), scanWait, selectWait+" AND EXISTS (SELECT 1 FROM sessions s WHERE s.tenant = turn_waits.tenant "+
		"AND s.id = turn_waits.session_id AND s.delete_us = 0)", tenant, id)
}

// Wait reads one whose session is locked. ErrNotFound when there is none.
func (tx *waitTx) Wait(ctx context.Context, tenant, id string) (Wait, error) {
	return sqldb.One(ctx, tx, scanWait, selectWait, tenant, id)
}

// WaitsOf lists all waits of a turn, oldest first.
func (s *waitReader) WaitsOf(ctx context.Context, tenant, turn string) ([]Wait, error) {
	return rows.All(ctx, s.DB.Reader(), scanWait, waitsOfTurn, tenant, turn)
}

// WaitsOf lists all waits of a turn whose session is locked, oldest first.
func (tx *waitTx) WaitsOf(ctx context.Context, tenant, turn string) ([]Wait, error) {
	return sqldb.All(ctx, tx, scanWait, waitsOfTurn, tenant, turn)
}

// WaitFilter says which waits to list.
type WaitFilter struct {
	// Tenant is required; the others only narrow when they are set.
	Tenant string
	// Owner narrows to waits of the subject's sessions and those that one of Roles may decide.
	Owner string
	Roles []string
	// Open narrows to open ones; Verdict to those that ended so; Kind to those of one kind.
	Open    bool
	Verdict turnv1.Verdict
	Kind    turnv1.WaitKind
	// ForPeople narrows to those that wait for people.
	ForPeople bool
	// SessionID and TurnID narrow to those of one.
	SessionID, TurnID string
	Page
}

// Waits lists waits.
func (s *waitReader) Waits(ctx context.Context, f WaitFilter) ([]Wait, error) {
	list := rows.NewSelection("SELECT "+waitColumns+" FROM turn_waits w WHERE tenant = ?", f.Tenant)
	if f.Open {
		list.Add(" AND verdict = 0")
	}
	if f.Verdict != 0 {
		list.Add(" AND verdict = ?", int64(f.Verdict))
	}
	if f.Kind != 0 {
		list.Add(" AND kind = ?", int64(f.Kind))
	}
	if f.ForPeople {
		list.Add(" AND kind <> ?", int64(turnv1.WaitKind_WAIT_KIND_CHILD))
	}
	if f.SessionID != "" {
		list.Add(" AND session_id = ?", f.SessionID)
	}
	if f.TurnID != "" {
		list.Add(" AND turn_id = ?", f.TurnID)
	}
	if f.Owner != "" {
		list.Add(" AND (owner = ?", f.Owner)
		if len(f.Roles) > 0 {
			roles := make([]any, len(f.Roles))
			for i, r := range f.Roles {
				roles[i] = r
			}
			list.Add(" OR EXISTS (SELECT 1 FROM turn_wait_roles r WHERE r.tenant = w.tenant AND r.wait_id = w.id AND r.role IN (?))", roles...)
		}
		list.Add(")")
	}
	if f.SessionID == "" && f.TurnID == "" {
		searchdb.WithoutDeleted(list, f.Tenant)
	}
	list.AddPage(f.Page)
	return rows.All(ctx, s.DB.Reader(), scanWait, list.Text, list.Args...)
}

// AuthorizationWaits lists the open waits of a subject's turns for its authorization, oldest first.
func (s *waitReader) AuthorizationWaits(ctx context.Context, tenant, subject string) ([]Wait, error) {
	return rows.All(ctx, s.DB.Reader(), scanWait, "SELECT "+waitColumns+
		" FROM turn_waits WHERE tenant = $1 AND requester = $2 AND verdict = 0 AND kind = 6 ORDER BY create_us, id", tenant, subject)
}

// DueWaits lists turns that have an open wait whose time is up. Only what names them is read.
func (s *waitReader) DueWaits(ctx context.Context, now time.Time, limit int) ([]Turn, error) {
	scan := func(s sqldb.Scanner) (t Turn, err error) {
		err = s.Scan(&t.Tenant, &t.ID)
		return t, err
	}
	return rows.All(ctx, s.DB.Reader(), scan, `SELECT DISTINCT tenant, turn_id FROM (SELECT tenant, turn_id FROM turn_waits
		WHERE verdict = 0 AND expires_us > 0 AND expires_us <= $1 AND check_us <= $1 ORDER BY expires_us LIMIT $2) AS w`, sqldb.Micros(now), limit)
}

// PostponeWaits says when the open waits of a turn whose time is up are looked at again.
func (tx *waitTx) PostponeWaits(ctx context.Context, tenant, turn string, now, next time.Time) error {
	_, err := sqldb.Exec(ctx, tx, `UPDATE turn_waits SET check_us = $4 WHERE tenant = $1 AND turn_id = $2 AND verdict = 0 AND expires_us > 0
		AND expires_us <= $3`, tenant, turn, sqldb.Micros(now), sqldb.Micros(next))
	return err
}

// SetWake marks a turn whose session is locked for its workflow to be woken. TakeToWake returns it from the given time on.
func (tx *waitTx) SetWake(ctx context.Context, tenant, turn string, at time.Time) error {
	return sqldb.ExecOne(ctx, tx, "UPDATE turns SET rouse_us = $3 WHERE tenant = $1 AND id = $2", tenant, turn, sqldb.Micros(at))
}

// TakeToWake returns turns whose workflow is to be woken by now, and hides them from other calls until until.
func (tx *waitTx) TakeToWake(ctx context.Context, now, until time.Time, limit int) ([]Turn, error) {
	turns, err := sqldb.All(ctx, tx, scanTurn, "SELECT "+turnColumns+" FROM turns WHERE rouse_us > 0 AND rouse_us <= $1 ORDER BY rouse_us "+
		"LIMIT $2"+
		tx.DB.SkipLocked(), sqldb.Micros(now), limit)
	if err != nil {
		return nil, err
	}
	for i := range turns {
		turns[i].WakeTime = until
		if err := tx.SetWake(ctx, turns[i].Tenant, turns[i].ID, until); err != nil {
			return nil, err
		}
	}
	return turns, nil
}

// HasToWake reports whether the workflow of any turn is to be woken by now.
func (s *waitReader) HasToWake(ctx context.Context, now time.Time) (bool, error) {
	n, err := rows.One(ctx, s.DB.Reader(), sqldb.Column[int], `SELECT count(*) FROM
		(SELECT 1 FROM turns WHERE rouse_us > 0 AND rouse_us <= $1 LIMIT 1) AS t`, sqldb.Micros(now))
	return n > 0, err
}

// Woken removes the mark of a turn unless it was marked again after seen. A turn whose workflow was lost is due for a check at once.
func (tx *waitTx) Woken(ctx context.Context, tenant, turn string, seen time.Time, lost bool) error {
	if lost {
		if _, err := sqldb.Exec(ctx, tx, "UPDATE turns SET check_us = 0 WHERE tenant = $1 AND id = $2 AND end_us = 0", tenant, turn); err != nil {
			return err
		}
	}
	_, err := sqldb.Exec(ctx, tx, "UPDATE turns SET rouse_us = 0 WHERE tenant = $1 AND id = $2 AND rouse_us = $3", tenant, turn,
		sqldb.Micros(seen))
	return err
}
