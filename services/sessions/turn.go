package sessions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/page"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// GetTurn implements TurnService.
func (s *Service) GetTurn(ctx context.Context, req *sessionsv1.GetTurnRequest) (*sessionsv1.Turn, error) {
	t, _, err := s.access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	if wait := req.GetWait().AsDuration(); wait > 0 && !ended(t) {
		if err := s.awaitEnd(ctx, t, wait); err != nil {
			return nil, err
		}
	} else if ended(t) {
		return s.withInput(ctx, t)
	}
	return s.standing(ctx, t)
}

// standing reads a turn as it stands now, with what it waits for.
func (s *Service) standing(ctx context.Context, t store.Turn) (*sessionsv1.Turn, error) {
	now, err := s.store.Turn(ctx, t.Tenant, t.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, access.NoTurn(t.ID)
	}
	if err != nil {
		return nil, err
	}
	out, err := s.withInput(ctx, now)
	if err == nil && !ended(now) && (waiting(now) || now.Children > 0) {
		out.WaitingFor, err = s.waitingFor(ctx, now)
	}
	return out, err
}

// waitingFor lists the ids of what a turn, and those of sub-agents that it waits for, wait for people for.
func (s *Service) waitingFor(ctx context.Context, t store.Turn) ([]string, error) {
	descendants, err := childrenByParent(ctx, s.store, t)
	if err != nil {
		return nil, err
	}
	var out []string
	for turns := []string{t.ID}; len(turns) > 0; turns = turns[1:] {
		rows, err := s.store.WaitsOf(ctx, t.Tenant, turns[0])
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if w := (&wait{Wait: row}); w.open() && w.forPeople() {
				out = append(out, w.ID)
			}
		}
		for _, c := range descendants[turns[0]] {
			if !c.Background {
				turns = append(turns, c.TurnID)
			}
		}
	}
	return out, nil
}

// before returns the turn that the same request made earlier, and whether there is one.
func (s *Service) before(ctx context.Context, once store.Once) (*sessionsv1.Turn, bool, error) {
	found, ok, err := s.keys.Earlier(ctx, once)
	if err != nil || !ok {
		return nil, false, err
	}
	t, err := s.readTurn(ctx, once.Tenant, found.TurnID)
	return t, true, err
}

// readTurn reads a turn with its input.
func (s *Service) readTurn(ctx context.Context, tenant, id string) (*sessionsv1.Turn, error) {
	t, err := s.store.Turn(ctx, tenant, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, access.NoTurn(id)
	}
	if err != nil {
		return nil, err
	}
	return s.withInput(ctx, t)
}

func (s *Service) withInput(ctx context.Context, t store.Turn) (*sessionsv1.Turn, error) {
	in, err := s.store.TurnInputs(ctx, t.Tenant, t.ID)
	if err != nil {
		return nil, err
	}
	if len(in) != 1 {
		return nil, access.NoTurn(t.ID) // it was deleted just now
	}
	return s.related(ctx, t, in[0])
}

// related is a turn with what it belongs to. Only a sub-agent's costs a question.
func (s *Service) related(ctx context.Context, t store.Turn, in store.TurnInput) (*sessionsv1.Turn, error) {
	out, err := convert.TurnToProto(t, in)
	if err != nil || t.AgentPath == "" {
		return out, err
	}
	c, err := s.store.Child(ctx, t.Tenant, t.ID)
	out.ParentTurnId, out.ParentSessionId, out.RootTurnId = c.ParentTurnID, c.ParentSessionID, c.RootTurnID
	return out, err
}

// awaitEnd returns when the turn is over or the time is, whichever is first.
func (s *Service) awaitEnd(ctx context.Context, t store.Turn, wait time.Duration) error {
	_, err := s.await(ctx, t, wait, func(*turnv1.Event) bool { return false }, ended)
	return err
}

// awaitAnswer returns also when the turn waits for people. It is false when the time is over.
func (s *Service) awaitAnswer(ctx context.Context, t store.Turn, wait time.Duration) (bool, error) {
	return s.await(ctx, t, wait, func(e *turnv1.Event) bool { return e.GetTurnPaused() != nil }, func(t store.Turn) bool { return ended(t) || waiting(t) })
}

// await returns true when the turn is as it is wanted, and false when the time is over before; the turn is looked at again after the events that
// wake. It answers a little before the call's own deadline.
func (s *Service) await(
	ctx context.Context, t store.Turn, wait time.Duration, wakes func(*turnv1.Event) bool, enough func(store.Turn) bool,
) (bool, error) {
	const margin = 250 * time.Millisecond
	wait = min(wait, s.cfg.ChatWait)
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)-margin)
	}
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := s.hub.Await(bounded, t.Tenant, t.SessionID, t.ID, wakes, func(ctx context.Context) (bool, error) {
		now, err := s.store.Turn(ctx, t.Tenant, t.ID)
		return err == nil && enough(now), err
	})
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() == nil && bounded.Err() != nil:
		return false, nil
	case errors.Is(err, store.ErrNotFound):
		return false, access.NoTurn(t.ID)
	}
	return false, watchFault(err)
}

// timeCursor is the page token of lists that are ordered by time.
type timeCursor struct {
	Us int64  `json:"us"`
	ID string `json:"id"`
}

// ListTurns implements TurnService.
func (s *Service) ListTurns(ctx context.Context, req *sessionsv1.ListTurnsRequest) (*sessionsv1.ListTurnsResponse, error) {
	filter := store.TurnFilter{
		Tenant: authn.Tenant(ctx), SessionID: req.GetSessionId(), Subject: access.Owner(ctx), Status: int32(enum.Parse[turnv1.TurnStatus](req.GetStatus())),
		Ended: terminal(enum.Parse[turnv1.TurnStatus](req.GetStatus())),
	}
	if req.GetSessionId() != "" {
		if _, err := s.access.Session(ctx, req.GetSessionId()); err != nil {
			return nil, err
		}
	}
	var at timeCursor
	list := fmt.Sprintf("turns|%s|%s|%s", filter.SessionID, filter.Subject, req.GetStatus())
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &at)
	if err != nil {
		return nil, err
	}
	filter.BeforeUs, filter.BeforeID, filter.Limit = at.Us, at.ID, size+1
	rows, err := s.store.Turns(ctx, filter)
	if err != nil {
		return nil, err
	}
	rows, next := page.Trim(rows, size, list, func(t store.Turn) any { return timeCursor{t.CreateUs, t.ID} })
	turns, err := s.withInputs(ctx, filter.Tenant, rows)
	return &sessionsv1.ListTurnsResponse{Turns: turns, NextPageToken: next}, err
}

func (s *Service) withInputs(ctx context.Context, tenant string, rows []store.Turn) ([]*sessionsv1.Turn, error) {
	names := make([]string, len(rows))
	for i, t := range rows {
		names[i] = t.ID
	}
	inputs, err := s.store.TurnInputs(ctx, tenant, names...)
	if err != nil {
		return nil, err
	}
	given := make(map[string]store.TurnInput, len(inputs))
	for _, in := range inputs {
		given[in.TurnID] = in
	}
	var out []*sessionsv1.Turn
	for _, t := range rows {
		turn, err := s.related(ctx, t, given[t.ID])
		if err != nil {
			return nil, err
		}
		out = append(out, turn)
	}
	return out, nil
}

// CancelTurn implements TurnService. The journal comes first; telling the workflow only makes it fast. A turn that nobody has taken yet ends
// at once.
func (s *Service) CancelTurn(ctx context.Context, req *sessionsv1.CancelTurnRequest) (*sessionsv1.Turn, error) {
	seen, _, err := s.access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	if err := s.cancel(ctx, seen, req.GetReason()); err != nil {
		return nil, err
	}
	return s.readTurn(ctx, seen.Tenant, seen.ID)
}

// RequestCancel implements ExecutionService.
func (s *Service) RequestCancel(ctx context.Context, req *executionv1.RequestCancelRequest) (*executionv1.RequestCancelResponse, error) {
	seen, _, err := s.access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	return &executionv1.RequestCancelResponse{}, s.cancel(ctx, seen, req.GetReason())
}

func (s *Service) cancel(ctx context.Context, seen store.Turn, reason string) error {
	var tell bool
	err := s.journal.Write(ctx, func(tx *journal.Tx) error {
		tell = false
		t, err := tx.LockTurn(seen.Tenant, seen.ID)
		if err != nil {
			return err
		}
		if ended(t) {
			return fault.FailedPrecondition(faultv1.Reason_REASON_TURN_ENDED, "turn %s is %s already", t.ID, enum.Name(turnStatus(t)))
		}
		if t.CancelRequested {
			return nil
		}
		tell, err = s.requestCancel(tx, t, reason)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = access.NoTurn(seen.ID)
	}
	if err != nil {
		return err
	}
	if tell {
		s.outbox.Cancel(seen.ID, reason)
	} else {
		s.outbox.Trigger() // a turn behind it may be next
	}
	return nil
}

// requestCancel records the request, or ends a turn that was not dispatched. It reports whether a workflow is to be notified.
func (s *Service) requestCancel(tx *journal.Tx, t store.Turn, reason string) (bool, error) {
	untaken, err := recordCancel(tx, &t, reason)
	if err != nil {
		return false, err
	}
	return !untaken, s.stop(tx, t, untaken)
}

// recordCancel records the request and reports whether no worker has taken the turn yet; a call of stop must follow.
func recordCancel(tx *journal.Tx, t *store.Turn, reason string) (untaken bool, err error) {
	t.CancelRequested = true
	if _, err := tx.Append(journal.OfTurn(*t), &turnv1.Event{Data: &turnv1.Event_TurnCancelRequested{
		TurnCancelRequested: &turnv1.TurnCancelRequested{Reason: reason},
	}}); err != nil {
		return false, err
	}
	if turnStatus(*t) != turnv1.TurnStatus_TURN_STATUS_QUEUED {
		return false, nil
	}
	if tx.Session.ActiveTurnID != t.ID {
		return true, nil
	}
	return tx.WithdrawOutgoing(tx.Context(), t.Tenant, t.ID)
}

// stop saves the request, or ends a turn that no worker has taken.
func (s *Service) stop(tx *journal.Tx, t store.Turn, untaken bool) error {
	if !untaken {
		if err := s.cancelWaits(tx, &t); err != nil {
			return err
		}
		return tx.SaveTurn(tx.Context(), t)
	}
	_, err := s.endTurn(tx, &t, &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_CANCELLED, StopReason: "cancelled"})
	return err
}
