package sessions

import (
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/timestamp"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// What to do about an active turn; any other mode is to wait.
const (
	modeReject    = "reject"
	modeInterrupt = "interrupt"
	modeFork      = "fork"
	modeSteer     = "steer"
)

// interruptReason stands in the journal of a turn that was interrupted.
const interruptReason = "interrupted by new input"

// halt is the active turn that an interrupt cancels; the zero value is none.
type halt struct {
	turn    store.Turn
	untaken bool // nobody has begun it: it ends at once
	tell    bool // its workflow is to be told
}

// enqueue locks or makes the session of an order and stores its turn.
func (s *Service) enqueue(tx *journal.Tx, t *store.Turn, o order, in store.TurnInput) (halt, error) {
	if err := s.enterSession(tx, o); err != nil {
		return halt{}, err
	}
	if err := tx.AddTurnInput(tx.Context(), t.Tenant, in); err != nil {
		return halt{}, err
	}
	if o.tell != "" {
		if err := tx.AddTurnWebhook(tx.Context(), t.Tenant, t.ID, o.tell); err != nil {
			return halt{}, err
		}
	}
	cut, err := interrupt(tx, o)
	if err != nil {
		return halt{}, err
	}
	if err := s.queue(tx, t, o, in.Input, cut); err != nil || cut.turn.ID == "" {
		return cut, err
	}
	return cut, s.stop(tx, cut.turn, cut.untaken) // the new turn is stored: it is next if this one ends now
}

// enterSession locks the turn's session, or makes it.
func (s *Service) enterSession(tx *journal.Tx, o order) error {
	switch {
	case !o.fresh:
		return tx.Lock(o.session.Tenant, o.session.ID)
	case o.copy != nil:
		return o.copy.Write(tx)
	}
	tx.Session = o.session
	return tx.AddSession(tx.Context(), o.session)
}

// interrupt asks for the end of the active turn where the order wants it. One that was asked before is left alone.
func interrupt(tx *journal.Tx, o order) (cut halt, err error) {
	if o.mode != modeInterrupt || tx.Session.ActiveTurnID == "" {
		return halt{}, nil
	}
	t, err := tx.Turn(tx.Context(), tx.Session.Tenant, tx.Session.ActiveTurnID)
	if err != nil || t.CancelRequested {
		return halt{}, err
	}
	untaken, err := recordCancel(tx, &t, interruptReason)
	return halt{turn: t, untaken: untaken, tell: !untaken}, err
}

// ahead counts the unfinished turns that run before a new one.
func (s *Service) ahead(tx *journal.Tx, o order, cut halt) (int, error) {
	active := tx.Session.ActiveTurnID
	if active == "" {
		return 0, nil
	}
	if o.mode == modeReject {
		return 0, fault.FailedPrecondition(faultv1.Reason_REASON_TURN_ACTIVE, "turn %s of the session is active", active).
			Hint("Wait for its end, or use mode \"enqueue\", \"interrupt\" or \"fork\".")
	}
	open, err := tx.CountOpen(tx.Context(), tx.Session.Tenant, tx.Session.ID)
	switch {
	case err != nil:
		return 0, err
	case open >= s.cfg.MaxQueuedTurns:
		return 0, fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_RATE_LIMITED, "the session has %d unfinished turns", open).
			Hint("Wait until some have ended.")
	case cut.untaken:
		return 0, nil
	case o.mode == modeInterrupt:
		return 1, nil
	}
	return open, nil
}

// queue writes turn.queued, the user's message and the turn, and hands the turn to the outbox if none is before it.
func (s *Service) queue(tx *journal.Tx, t *store.Turn, o order, text string, cut halt) error {
	position, err := s.ahead(tx, o, cut)
	if err != nil {
		return err
	}
	m := &turnv1.Message{
		Id: ids.New(ids.Message), SessionId: t.SessionID, TurnId: t.ID, Role: turnv1.Role_ROLE_USER, Content: o.content, CreateTime: timestamp.OfMicros(tx.NowUs), FromAgent: o.from,
	}
	seq, err := tx.Append(journal.OfTurn(*t), &turnv1.Event{Data: &turnv1.Event_TurnQueued{TurnQueued: &turnv1.TurnQueued{
		AgentId: t.AgentID, MessageId: m.GetId(), Input: o.content, Position: uint32(position),
	}}})
	if err != nil {
		return err
	}
	t.FirstSeq, t.InputSeq, t.Place, m.Seq = seq, seq, seq, seq
	if tx.Session.ActiveTurnID != "" {
		t.Place = store.Unplaced
	}
	if err := addMessage(tx, *t, m); err != nil {
		return err
	}
	if err := o.rerun.Write(tx, *t); err != nil {
		return err
	}
	if err := tx.AddTurn(tx.Context(), *t); err != nil {
		return err
	}
	if tx.Session.Title == "" {
		tx.Session.Title = truncate.Line(text, 60)
	}
	if tx.Session.ActiveTurnID != "" {
		return nil
	}
	return s.send(tx, *t, text, false)
}
