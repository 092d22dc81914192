package turn

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/wait"
)

// StopEnd is the stop reason of a turn that ends with an answer.
const StopEnd = "end"

// End writes the one terminal event of a turn whose session is locked, fences off workers that still work on it, and makes the
// session's next queued turn the active one; its ID is returned.
func (s *Service) End(tx *journal.Tx, t *store.Turn, ending *turnv1.Ending) (next string, err error) {
	ctx := tx.Context()
	end := &turnv1.TurnEnded{Status: ending.GetStatus(), StopReason: ending.GetStopReason(), Error: ending.GetError()}
	end.LimitReached, end.Usage = describeLimit(*t, ending.GetLimitReached()), cmp.Or(t.Usage, &turnv1.Usage{})
	if end.Output, end.Tainted, err = lastAnswer(tx, *t); err != nil {
		return "", err
	}
	if end.ToolsUsed, err = toolsUsed(tx, *t); err != nil {
		return "", err
	}
	if err := wait.Close(tx, t); err != nil {
		return "", err
	}
	if t.LastSeq, err = tx.Append(journal.OfTurn(*t), &turnv1.Event{Data: &turnv1.Event_TurnEnded{TurnEnded: end}}); err != nil {
		return "", err
	}
	t.Status, t.EndTime, t.End = ending.GetStatus(), tx.Now(), end
	if err := recordEnd(tx, *t); err != nil {
		return "", err
	}
	subscribed, err := tx.EndTurn(ctx, *t)
	if err != nil {
		return "", err
	}
	if subscribed {
		if err := s.deps.Notifier.TurnEnded(tx, *t); err != nil {
			return "", err
		}
	}
	if err := s.deps.Grants.End(tx, *t); err != nil {
		return "", err
	}
	if err := tx.FenceOff(ctx, t.Tenant, t.ID); err != nil {
		return "", err
	}
	if err := s.deps.Budgets.Release(tx, *t); err != nil {
		return "", err
	}
	if err := tx.OutgoingOver(ctx, t.Tenant, t.ID); err != nil {
		return "", err
	}
	s.deps.Children.AfterEnd(tx, *t)
	if tx.Session.ActiveTurnID != t.ID {
		return "", nil
	}
	return s.next(tx)
}

// next clears the session's active turn and puts the queued one that is to run next in its place. Its input stands behind all
// that was said.
func (s *Service) next(tx *journal.Tx) (string, error) {
	tx.Session.ActiveTurnID = ""
	tx.Touch()
	if waiting, err := tx.CountOpen(tx.Context(), tx.Session.Tenant, tx.Session.ID); err != nil || waiting == 0 { // nearly always
		return "", err
	}
	next, err := tx.NextQueued(tx.Context(), tx.Session.Tenant, tx.Session.ID)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	next.Place = tx.Session.LastSeq
	if err := tx.PlaceTurn(tx.Context(), next); err != nil {
		return "", err
	}
	return next.ID, s.send(tx, next, false)
}

// lastAnswer is the text of the last assistant message of a turn, "" when there is none, and whether it is tainted.
func lastAnswer(tx *journal.Tx, t store.Turn) (text string, tainted bool, err error) {
	m := tx.Said
	if m.GetTurnId() != t.ID || m.GetRole() != turnv1.Role_ROLE_ASSISTANT {
		m, err = LastAnswer(tx.Context(), tx, t)
	}
	return conversation.Text(m.GetContent()), m.GetTainted(), err
}

// Messages reads conversations backwards: a store, or the transaction that is open.
type Messages interface {
	ConversationBack(ctx context.Context, tenant, session string, p store.Point, limit int) ([]store.Message, error)
}

// LastAnswer returns the last assistant message of a turn, nil when there is none.
func LastAnswer(ctx context.Context, r Messages, t store.Turn) (*turnv1.Message, error) {
	const page = 8
	for before := store.EndOf(t.Place); ; {
		rows, err := r.ConversationBack(ctx, t.Tenant, t.SessionID, before, page)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if row.TurnSeq != t.Place || row.TurnID != t.ID { // or it was taken over from the turn that this one runs again
				return nil, nil
			}
			m, err := conversation.Message(row)
			if err != nil || m.GetRole() == turnv1.Role_ROLE_ASSISTANT {
				return m, err
			}
			before = row.Point()
		}
		if len(rows) < page {
			return nil, nil
		}
	}
}

// Citations returns the citations of the output of a turn that has ended.
func Citations(ctx context.Context, r Messages, t store.Turn) ([]*turnv1.Citation, error) {
	if !strings.Contains(t.End.GetOutput(), "[1]") { // which the first one is in each text
		return nil, nil
	}
	m, err := LastAnswer(ctx, r, t)
	if err != nil || len(m.GetContent()) != 1 { // a text with citations is the only part
		return nil, err
	}
	return m.GetContent()[0].GetCitations(), nil
}

// Citations returns the citations of the output of a turn that has ended.
func (s *Service) Citations(ctx context.Context, t store.Turn) ([]*turnv1.Citation, error) {
	return Citations(ctx, s.deps.Store, t)
}

// toolsUsed lists the distinct tools of a turn in order of first use.
func toolsUsed(tx *journal.Tx, t store.Turn) ([]string, error) {
	all, err := tx.ToolsStarted(tx.Context(), t.Tenant, t.ID)
	if err != nil {
		return nil, err
	}
	var distinct []string
	for _, name := range all {
		if !slices.Contains(distinct, name) {
			distinct = append(distinct, name)
		}
	}
	return distinct, nil
}
