package turn

import (
	"context"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/timestamp"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/file"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/requester"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// Steered is an input that a running turn took.
type Steered struct {
	TurnID, MessageID string
	// Seq is that of the input's event.
	Seq uint32
}

// Steer gives more input to a running turn. The same request again returns the input that it gave before.
func (s *Service) Steer(ctx context.Context, turnID, text string, content []*turnv1.ContentPart, request store.Once) (Steered, error) {
	content, err := s.deps.Input.Content(text, content)
	if err != nil {
		return Steered{}, err
	}
	seen, _, err := s.deps.Access.Turn(ctx, turnID)
	if err != nil {
		return Steered{}, err
	}
	_, replayed, err := s.deps.Keys.Earlier(ctx, request)
	if err != nil {
		return Steered{}, err
	}
	out, drop := Steered{TurnID: seen.ID}, func() {}
	if !replayed { // the files of an earlier request may be deleted
		if err := takesInput(seen); err != nil {
			return Steered{}, err
		}
		if content, drop, err = s.deps.Files.Resolve(ctx, content); err != nil {
			return Steered{}, err
		}
	}
	err = s.deps.Journal.Write(ctx, func(tx *journal.Tx) error {
		t, err := tx.LockTurn(seen.Tenant, seen.ID)
		if err != nil {
			return err
		}
		once := request
		once.TurnID, once.MessageID = t.ID, ids.New(ids.Message)
		first, added, err := s.deps.Keys.Remember(tx, once)
		if err != nil {
			return err
		}
		out.MessageID, out.Seq = first.MessageID, 0
		if !added {
			return nil // its seq is read below
		}
		if err := steerable(tx, t); err != nil {
			return err
		}
		out.Seq, err = s.steer(tx, &t, once.MessageID, content)
		return err
	})
	if err != nil || out.Seq == 0 {
		drop()
	}
	if err != nil {
		return Steered{}, Fault(err, seen.ID)
	}
	if out.Seq != 0 {
		return out, nil
	}
	row, err := s.deps.Store.Message(ctx, seen.Tenant, out.MessageID)
	out.Seq = uint32(row.Seq)
	return out, Fault(err, seen.ID)
}

// steerable returns why a turn cannot take input.
func steerable(tx *journal.Tx, t store.Turn) error {
	if err := takesInput(t); err != nil {
		return err
	}
	if tx.Session.ActiveTurnID != t.ID {
		return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "turn %s has not begun: it waits for turn %s", t.ID,
			tx.Session.ActiveTurnID).
			Hint("Steer the turn that runs, or send the input as a new turn.")
	}
	return nil
}

// takesInput returns why a turn takes no input any more.
func takesInput(t store.Turn) error {
	switch {
	case t.Ended():
		return fault.FailedPrecondition(faultv1.Reason_REASON_TURN_ENDED, "turn %s is %s", t.ID, enum.Name(t.Status)).
			Hint("Send the input as a new turn.")
	case t.CancelRequested:
		return fault.FailedPrecondition(faultv1.Reason_REASON_TURN_ENDED, "turn %s is about to be cancelled", t.ID).
			Hint("Send the input as a new turn.")
	}
	return nil
}

// steer gives more input to the active turn of a locked session: message, event, and the outcome that has the model asked again.
// It gives the event's seq.
func (s *Service) steer(tx *journal.Tx, t *store.Turn, message string, content []*turnv1.ContentPart) (uint32, error) {
	if int(t.Inputs) >= s.cfg.MaxInputs {
		return 0, fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_RATE_LIMITED, "turn %s was given %d inputs while it runs", t.ID,
			t.Inputs).
			Hint("Send the input as a new turn.")
	}
	t.Inputs++
	if err := file.Attach(tx, *t, content); err != nil {
		return 0, err
	}
	if err := requester.Record(tx, *t); err != nil {
		return 0, err
	}
	seq, err := tx.Append(journal.OfTurn(*t), &turnv1.Event{Data: &turnv1.Event_InputAccepted{InputAccepted: &turnv1.InputAccepted{
		MessageId: message, Content: content, Number: t.Inputs,
	}}})
	if err != nil {
		return 0, err
	}
	m := &turnv1.Message{
		Id: message, SessionId: t.SessionID, TurnId: t.ID, Role: turnv1.Role_ROLE_USER, Content: content,
		CreateTime: timestamp.Of(tx.Now()), Seq: seq,
	}
	if err := conversation.Add(tx, *t, m); err != nil {
		return 0, err
	}
	if err := tx.RecordStep(*t, &turnv1.StepOutcome{
		Key: stepkey.Steer(int(t.Inputs)), Kind: turnv1.StepKind_STEP_KIND_STEER, MessageId: message, CommittedMicros: tx.Now().UnixMicro(),
		ContextTokens: conversation.MessageTokens(m),
	}); err != nil {
		return 0, err
	}
	if err := tx.SaveTurn(tx.Context(), *t); err != nil {
		return 0, err
	}
	return seq, s.deps.Waker.Wake(tx, *t)
}

// remember stores the key of a request with the turn that it makes. A request of ModeSteer gives its input to the active turn instead, if
// there is one that can take it. It returns the turn that was steered, or that the same request has made; "" if the new one is to begin.
func (s *Service) remember(tx *journal.Tx, t store.Turn, spec Spec) (turn string, steers bool, err error) {
	active, err := steered(tx, spec)
	if err != nil {
		return "", false, err
	}
	once := spec.Once
	once.TurnID = t.ID
	if active.ID != "" {
		once.TurnID, once.MessageID = active.ID, ids.New(ids.Message)
	}
	first, added, err := s.deps.Keys.Remember(tx, once)
	if err != nil || !added {
		return first.TurnID, false, err
	}
	if active.ID != "" {
		_, err = s.steer(tx, &active, once.MessageID, spec.Content)
	}
	return active.ID, active.ID != "", err
}

// steered returns the active turn that takes the input of a turn of ModeSteer, the zero value if there is none.
func steered(tx *journal.Tx, spec Spec) (store.Turn, error) {
	if spec.Mode != ModeSteer || spec.Fresh {
		return store.Turn{}, nil
	}
	if err := tx.Lock(spec.Session.Tenant, spec.Session.ID); err != nil || tx.Session.ActiveTurnID == "" {
		return store.Turn{}, err
	}
	t, err := tx.Turn(tx.Context(), spec.Session.Tenant, tx.Session.ActiveTurnID)
	if err != nil || t.CancelRequested {
		return store.Turn{}, err
	}
	return t, nil
}
