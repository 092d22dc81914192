package turn

import (
	"context"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/timestamp"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/budget"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/file"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/requester"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// interruptReason stands in the journal of a turn that was interrupted.
const interruptReason = "interrupted by new input"

// interrupted is the active turn that an interrupt cancels; the zero value is none.
type interrupted struct {
	turn    store.Turn
	untaken bool // no worker has taken it: it ends at once
	notify  bool // its workflow is to be notified
}

// enqueue stores a turn in its session.
func (s *Service) enqueue(tx *journal.Tx, t *store.Turn, spec Spec, in store.TurnInput) (interrupted, error) {
	if err := s.enter(tx, *t, spec); err != nil {
		return interrupted{}, err
	}
	if err := file.Attach(tx, *t, spec.Content); err != nil {
		return interrupted{}, err
	}
	if err := tx.AddTurnInput(tx.Context(), t.Tenant, in); err != nil {
		return interrupted{}, err
	}
	if spec.WebhookURL != "" {
		if err := tx.AddTurnWebhook(tx.Context(), t.Tenant, t.ID, spec.WebhookURL); err != nil {
			return interrupted{}, err
		}
	}
	cut, err := interrupt(tx, spec)
	if err != nil {
		return interrupted{}, err
	}
	if err := spec.count(tx, t, cut); err != nil {
		return cut, err
	}
	if err := s.queue(tx, t, spec, in.Input, cut); err != nil || cut.turn.ID == "" {
		return cut, err
	}
	return cut, s.applyCancel(tx, cut.turn, cut.untaken) // the new turn is stored: it is next if this one ends now
}

// enter stores what a turn follows from, and locks its session or makes it.
func (s *Service) enter(tx *journal.Tx, t store.Turn, spec Spec) error {
	follows := spec.follows()
	if spec.granted {
		if err := s.deps.Grants.Keep(tx, t); err != nil {
			return err
		}
	}
	if spec.CallbackOf != "" {
		if err := tx.SetCallback(tx.Context(), t.Tenant, spec.CallbackOf, t.ID); err != nil {
			return err
		}
	}
	if err := requester.Inherit(tx, t, follows...); err != nil {
		return err
	}
	switch {
	case !spec.Fresh:
		return tx.Lock(spec.Session.Tenant, spec.Session.ID)
	case spec.Copy != nil:
		return spec.Copy.Write(tx)
	}
	tx.Session = spec.Session
	return tx.AddSession(tx.Context(), spec.Session)
}

// follows lists the turns that a turn follows from.
func (spec Spec) follows() (turns []string) {
	if spec.Child != nil {
		turns = append(turns, spec.Child.ParentTurnID)
	}
	if spec.Rerun != nil {
		turns = append(turns, spec.Rerun.Event.GetOfTurn())
	}
	if spec.CallbackOf != "" {
		turns = append(turns, spec.CallbackOf)
	}
	return turns
}

// count checks a turn against quotas. A turn of a sub-agent counts with the one that it works for, and a result that is brought back is not
// refused.
func (spec Spec) count(tx *journal.Tx, t *store.Turn, cut interrupted) error {
	if spec.Child != nil || spec.quota == nil {
		return nil
	}
	ending := int64(0)
	if cut.turn.ID != "" {
		ending = 1
	}
	err := budget.AdmitTurn(tx, t, spec.quota, ending)
	if spec.CallbackOf != "" && fault.Is(err, faultv1.Reason_REASON_QUOTA_EXCEEDED) {
		return nil
	}
	return err
}

// interrupt requests the cancellation of the active turn for a turn of ModeInterrupt, unless it was requested before.
func interrupt(tx *journal.Tx, spec Spec) (cut interrupted, err error) {
	if spec.Mode != ModeInterrupt || tx.Session.ActiveTurnID == "" {
		return interrupted{}, nil
	}
	t, err := tx.Turn(tx.Context(), tx.Session.Tenant, tx.Session.ActiveTurnID)
	if err != nil || t.CancelRequested {
		return interrupted{}, err
	}
	untaken, err := recordCancel(tx, &t, interruptReason)
	return interrupted{turn: t, untaken: untaken, notify: !untaken}, err
}

func errActive(turn string) error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_TURN_ACTIVE, "turn %s of the session is active", turn).
		Hint("Wait for its end, or use mode \"enqueue\", \"interrupt\" or \"fork\".")
}

// ahead counts the unfinished turns that run before a new one.
func (c Config) ahead(tx *journal.Tx, mode Mode, cut interrupted) (int, error) {
	active := tx.Session.ActiveTurnID
	if active == "" {
		return 0, nil
	}
	if mode == ModeReject {
		return 0, errActive(active)
	}
	open, err := tx.CountOpen(tx.Context(), tx.Session.Tenant, tx.Session.ID)
	switch {
	case err != nil:
		return 0, err
	case open >= c.MaxQueued:
		return 0, fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_RATE_LIMITED, "the session has %d unfinished turns", open).
			Hint("Wait until some have ended.")
	case cut.untaken:
		return 0, nil
	case mode == ModeInterrupt:
		return 1, nil
	}
	return open, nil
}

// queue writes turn.queued, the user's message and the turn, and hands the turn to the outbox if none is before it.
func (s *Service) queue(tx *journal.Tx, t *store.Turn, spec Spec, text string, cut interrupted) error {
	position, err := s.cfg.ahead(tx, spec.Mode, cut)
	if err != nil {
		return err
	}
	m := &turnv1.Message{
		Id: ids.New(ids.Message), SessionId: t.SessionID, TurnId: t.ID, Role: turnv1.Role_ROLE_USER, Content: spec.Content,
		CreateTime: timestamp.Of(tx.Now()), FromAgent: spec.FromAgent, Tainted: spec.Tainted,
	}
	seq, err := tx.Append(journal.OfTurn(*t), &turnv1.Event{Data: &turnv1.Event_TurnQueued{TurnQueued: &turnv1.TurnQueued{
		AgentId: t.AgentID, MessageId: m.GetId(), Input: spec.Content, Position: uint32(position), Model: spec.Model,
	}}})
	if err != nil {
		return err
	}
	t.FirstSeq, t.InputSeq, t.Place, m.Seq = seq, seq, seq, seq
	if tx.Session.ActiveTurnID != "" {
		t.Place = store.Unplaced
	}
	if err := conversation.Add(tx, *t, m); err != nil {
		return err
	}
	if err := spec.Rerun.Write(tx, *t); err != nil {
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
	return s.send(tx, *t, false)
}

// send makes a turn the session's active one and hands it to the outbox, which starts its workflow after StartDelay. The workers,
// one of which starts the eager run, are notified once the transaction is committed.
func (s *Service) send(tx *journal.Tx, t store.Turn, again bool) error {
	tx.Session.ActiveTurnID = t.ID
	tx.Touch()
	tx.After(func(ctx context.Context) {
		s.deps.Waker.Workers.Begin(ctx, t)
		s.deps.Waker.Outbox.TriggerAfter(s.cfg.StartDelay)
	})
	return tx.AddOutgoing(tx.Context(), store.Outgoing{
		Tenant: t.Tenant, TurnID: t.ID, SessionID: t.SessionID, AgentID: t.AgentID, Again: again, CreateTime: t.CreateTime,
		FromTime: tx.Now().Add(s.cfg.StartDelay),
	})
}
