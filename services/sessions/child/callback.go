package child

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/idempotency"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
)

// callBack delivers the result of a sub-agent that worked in the background to the session that it was begun in, as the input of
// a turn behind all that waits there. The child's id is the request's idempotency key, so that it is given once.
func (s *Service) callBack(ctx context.Context, c store.Child, end *end) error {
	told := func() error {
		return s.deps.Store.Write(ctx, func(tx *store.Tx) error { return tx.SetParentNotified(ctx, c.Tenant, c.TurnID) })
	}
	ses, err := s.deps.Store.Session(ctx, c.Tenant, c.ParentSessionID)
	if errors.Is(err, store.ErrNotFound) {
		return told()
	}
	if err != nil {
		return err
	}
	owner, err := s.asOwner(ctx, end.turn)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("[from the agent %q, which was asked in the background (call %s)]\n\n%s", c.AgentID, c.CallID,
		named(conversation.Text(end.result.GetContent()), end.result.GetContent()[0].GetCitations()))
	text = truncate.Cut(text, s.deps.Input.MaxBytes) // an answer may be longer than what people may say
	content, err := s.deps.Input.Text("input", text)
	if err != nil {
		return err
	}
	once, err := idempotency.Of(owner, "child_callback", c.TurnID, wrapperspb.String(c.TurnID))
	if err != nil {
		return err
	}
	_, err = s.deps.Turns.Accept(owner, turn.Spec{
		Session: ses, Content: content, Once: once, FromAgent: c.AgentID, CallbackOf: c.TurnID,
		Tainted: end.turn.End.GetTainted(),
	})
	if err != nil {
		return s.undelivered(ctx, c, end, text, err)
	}
	return told()
}

// minOffers is how often a result is offered to a session at least before it is given up, however late that happens.
const minOffers = 2

// undelivered decides what becomes of a result that the parent's session did not take. One that it refuses for a lasting reason
// stands in its journal at once, with the reason; any other when it is given up. It gives the refusal back as long as the result
// is offered again.
func (s *Service) undelivered(ctx context.Context, c store.Child, end *end, text string, refused error) error {
	until := end.turn.EndTime.Add(s.deps.OfferResults)
	over := s.deps.Store.Now().After(until) && c.Attempts >= minOffers
	if !over && (!fault.Refused(refused) || fault.Is(refused, faultv1.Reason_REASON_RATE_LIMITED)) {
		return refused
	}
	event := end.event
	event.Background, event.Undelivered, event.Output = true, fault.From(refused).Text(), text
	if !over {
		event.OfferedUntil = timestamppb.New(until)
	}
	err := s.deps.Journal.Write(ctx, func(tx *journal.Tx) error {
		if err := tx.Lock(c.Tenant, c.ParentSessionID); err != nil {
			return err
		}
		fresh, err := tx.SetUndelivered(ctx, c.Tenant, c.TurnID)
		if err == nil && fresh {
			_, err = tx.Append(journal.Origin{}, &turnv1.Event{Data: &turnv1.Event_ChildCompleted{ChildCompleted: event}})
		}
		if err != nil || !over {
			return err
		}
		return tx.SetParentNotified(ctx, c.Tenant, c.TurnID)
	})
	if errors.Is(err, store.ErrNotFound) {
		return s.deps.Store.Write(ctx, func(tx *store.Tx) error { return tx.SetParentNotified(ctx, c.Tenant, c.TurnID) })
	}
	if err != nil || !over {
		return cmp.Or(err, refused)
	}
	s.deps.Log.WarnContext(ctx, "a sub-agent's result was given up: the session that asked for it does not take it", "turn_id", c.TurnID,
		"session_id", c.ParentSessionID, "attempts", c.Attempts, "error", refused)
	return nil
}
