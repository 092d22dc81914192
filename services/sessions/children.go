package sessions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/sweep"
)

// parentEndedReason stands in the journal of a sub-agent's turn whose parent ended first.
const parentEndedReason = "the turn that waited for it has ended"

// childLease is how long a child that the sweep of one replica has taken is left alone by others.
const childLease = 30 * time.Second

// afterEnd notifies the parent of a turn that ends and stops its children, once the end is committed. What is lost here is found by syncTrees.
func (s *Service) afterEnd(tx *journal.Tx, t store.Turn) {
	if t.AgentPath != "" {
		tx.After(func(ctx context.Context) {
			s.syncTree(ctx, store.Child{Tenant: t.Tenant, TurnID: t.ID}, s.notifyParent)
		})
	}
	if t.Children > 0 {
		tx.After(func(ctx context.Context) {
			s.syncTree(ctx, store.Child{Tenant: t.Tenant, TurnID: t.ID}, s.stopChildren)
		})
	}
}

// syncTree calls do for a child, which is tried again by the sweep if it fails. Only the first attempt of the sweep logs a warning.
func (s *Service) syncTree(ctx context.Context, c store.Child, do func(context.Context, string) error) {
	p := authn.Service("sessions")
	p.Tenant = c.Tenant
	if err := do(authn.With(context.WithoutCancel(ctx), p), c.TurnID); err != nil {
		level := slog.LevelDebug
		if c.Attempts == 1 {
			level = slog.LevelWarn
		}
		s.log.Log(ctx, level, "parent or children of an ended turn not notified yet", "turn_id", c.TurnID, "attempt", c.Attempts, "error", err)
	}
}

// syncTrees notifies parents and stops children that were missed after the end of a turn.
func (s *Service) syncTrees(ctx context.Context) error {
	if err := sweep.Due(ctx, dueNow(s.store, s.store.DueChildren), s.takeChild(s.notifyParent)); err != nil {
		return err
	}
	return sweep.Due(ctx, dueNow(s.store, s.store.AbandonedChildren), s.takeChild(s.stopChild))
}

// dueNow lists what is due by now.
func dueNow[T any](clock interface{ NowUs() int64 }, list func(ctx context.Context, nowUs int64, limit int) ([]T, error)) func(context.Context, int) ([]T, error) {
	return func(ctx context.Context, limit int) ([]T, error) { return list(ctx, clock.NowUs(), limit) }
}

// takeChild returns a function that takes a child that is due, so that no other replica does, and calls do for it. If that fails the child is due
// again later.
func (s *Service) takeChild(do func(context.Context, string) error) func(context.Context, store.Child) error {
	return func(ctx context.Context, c store.Child) error {
		taken := false
		err := s.store.Write(ctx, func(tx *store.Tx) (err error) {
			taken, err = tx.TakeChild(ctx, c, s.store.NowUs()+childLease.Microseconds())
			return err
		})
		if err != nil || !taken {
			return err
		}
		c.Attempts++
		s.syncTree(ctx, c, do)
		return s.store.Write(ctx, func(tx *store.Tx) error {
			return tx.PostponeChild(ctx, c.Tenant, c.TurnID, s.store.NowUs()+sweep.Backoff(c.Attempts).Microseconds())
		})
	}
}

// notifyParent answers the call that waits for an ended child, or sends the result to the parent's session as a turn. A call that does not wait yet
// finds the end by itself when it begins to.
func (s *Service) notifyParent(ctx context.Context, turn string) error {
	tenant := authn.Tenant(ctx)
	c, err := s.store.Child(ctx, tenant, turn)
	if err != nil || c.ParentNotified {
		return err
	}
	end, err := readChildEnd(ctx, s.store, c)
	if err != nil || end == nil {
		return err
	}
	if c.Background {
		return s.callBack(ctx, c, end)
	}
	err = s.journal.Write(ctx, func(tx *journal.Tx) error {
		p, err := tx.LockTurn(tenant, c.ParentTurnID)
		if err != nil {
			return err
		}
		if ended(p) {
			return tx.SetParentNotified(ctx, tenant, turn)
		}
		open, err := openWaits(tx, p)
		if err != nil {
			return err
		}
		for _, w := range open {
			if w.request.GetChildTurnId() == turn {
				return s.answerChild(tx, &p, w, end, true)
			}
		}
		return nil
	})
	if errors.Is(err, store.ErrNotFound) { // the parent was deleted
		return s.store.Write(ctx, func(tx *store.Tx) error { return tx.SetParentNotified(ctx, tenant, turn) })
	}
	return err
}

// childEnd is what a parent learns about a child that ended.
type childEnd struct {
	link   store.Child
	turn   store.Turn
	result *turnv1.ToolResult
	event  *turnv1.ChildCompleted
}

// treeReader reads turns and the links between them: a store, or the transaction that is open.
type treeReader interface {
	Turn(ctx context.Context, tenant, id string) (store.Turn, error)
	Child(ctx context.Context, tenant, turn string) (store.Child, error)
	ChildrenBelow(ctx context.Context, tenant, root string) ([]store.Child, error)
}

// readChildEnd returns the end of a child; nil while the child is not over.
func readChildEnd(ctx context.Context, r treeReader, c store.Child) (*childEnd, error) {
	t, err := r.Turn(ctx, c.Tenant, c.TurnID)
	if err != nil || !ended(t) {
		return nil, err
	}
	descendants, err := childrenByParent(ctx, r, t)
	if err != nil {
		return nil, err
	}
	total := &turnv1.Usage{}
	if err := addTreeUsage(ctx, r, total, t, descendants); err != nil {
		return nil, err
	}
	end := &turnv1.TurnEnded{}
	if err := proto.Unmarshal(t.End, end); err != nil {
		return nil, fmt.Errorf("end of turn %s: %w", t.ID, err)
	}
	return &childEnd{link: c, turn: t, result: childResult(c, end), event: &turnv1.ChildCompleted{
		CallId: c.CallID, AgentId: c.AgentID, SessionId: c.SessionID, TurnId: c.TurnID, Status: end.GetStatus(),
		StopReason: end.GetStopReason(), Usage: total, LimitReached: end.GetLimitReached(),
	}}, nil
}

// childResult is what the parent's model reads.
func childResult(c store.Child, end *turnv1.TurnEnded) *turnv1.ToolResult {
	text := end.GetOutput()
	whole := end.GetStatus() == turnv1.TurnStatus_TURN_STATUS_COMPLETED && end.GetStopReason() == "end"
	switch {
	case whole && text == "":
		text = "(the agent gave no answer)"
	case whole:
	case end.GetError() != nil:
		text = fmt.Sprintf("The agent %q failed: %s (%s).", c.AgentID, end.GetError().GetMessage(), end.GetError().GetCode())
	case text != "":
		text = fmt.Sprintf("The agent %q was stopped (%s). What it said so far: %s", c.AgentID, stopText(end), text)
	default:
		text = fmt.Sprintf("The agent %q was stopped before it answered (%s).", c.AgentID, stopText(end))
	}
	return &turnv1.ToolResult{
		CallId: c.CallID, IsError: !whole, Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}},
	}
}

// stopText says why a turn stopped, and by which limit.
func stopText(end *turnv1.TurnEnded) string {
	if l := end.GetLimitReached(); l != nil {
		return fmt.Sprintf("%s, %s: %s", end.GetStopReason(), l.GetCode(), limitText(l))
	}
	return end.GetStopReason()
}

// answerChild ends the wait for a child. With wake, for a parent that no worker is committing now, it also wakes the parent's workflow.
func (s *Service) answerChild(tx *journal.Tx, p *store.Turn, w *wait, end *childEnd, wake bool) error {
	w.answer.Result = end.result
	if err := tx.InheritRequesters(tx.Context(), p.Tenant, p.ID, end.turn.ID); err != nil {
		return err
	}
	if _, err := tx.Append(w.origin(*p), &turnv1.Event{Data: &turnv1.Event_ChildCompleted{ChildCompleted: end.event}}); err != nil {
		return err
	}
	if err := s.endWait(tx, p, w, turnv1.Verdict_VERDICT_ANSWERED, ""); err != nil {
		return err
	}
	if err := tx.SetParentNotified(tx.Context(), end.link.Tenant, end.link.TurnID); err != nil || !wake {
		return err
	}
	return s.notifyWorkflow(tx, *p)
}

// joinChild answers a wait for a child that has begun just now, if the child is over already: nothing else would.
func (s *Service) joinChild(tx *journal.Tx, p *store.Turn, id string) error {
	row, err := tx.Wait(tx.Context(), p.Tenant, id)
	if err != nil {
		return err
	}
	w, err := readWait(row)
	if err != nil {
		return err
	}
	c, err := tx.Child(tx.Context(), p.Tenant, w.request.GetChildTurnId())
	if err != nil {
		return err
	}
	end, err := readChildEnd(tx.Context(), tx, c)
	if err != nil || end == nil {
		return err
	}
	return s.answerChild(tx, p, w, end, true)
}

// stopChildren cancels the children that a turn waited for.
func (s *Service) stopChildren(ctx context.Context, turn string) error {
	t, err := s.store.Turn(ctx, authn.Tenant(ctx), turn)
	if err != nil {
		return err
	}
	descendants, err := childrenByParent(ctx, s.store, t)
	if err != nil {
		return err
	}
	for _, c := range descendants[turn] {
		if c.Background {
			continue
		}
		err = errors.Join(err, s.stopChild(ctx, c.TurnID))
	}
	return err
}

// stopChild cancels the turn of a sub-agent, unless it is over.
func (s *Service) stopChild(ctx context.Context, turn string) error {
	t, err := s.store.Turn(ctx, authn.Tenant(ctx), turn)
	if errors.Is(err, store.ErrNotFound) || err == nil && ended(t) {
		return nil // it was never made, or it came to its end by itself
	}
	if err != nil {
		return err
	}
	return s.cancel(ctx, t, parentEndedReason)
}
