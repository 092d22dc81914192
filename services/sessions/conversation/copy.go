package conversation

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/ids"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/searchdb"
)

// ForkedSeq is the seq of session.forked, and so of the messages that a fork takes over.
const ForkedSeq = 1

// Copy is a session to be stored, and the messages that it begins with.
type Copy struct {
	Session  store.Session
	Messages []store.Message
	// Turn are messages behind the input of its first turn, which that turn stores.
	Turn []store.Message
	// Renamed maps the ids that the messages of Turn have in the other session to those in the new one.
	Renamed map[string]string

	artifacts  []store.Artifact  // those that the messages refer to
	compaction *store.Compaction // what models read instead of older messages, nil for none
}

// Copy makes what was read of a session the beginning of a new one, ses. Nothing is written.
func (s *Service) Copy(ctx context.Context, ses, from store.Session, p Snapshot) (*Copy, error) {
	c := &Copy{Session: ses, Renamed: map[string]string{}}
	c.Session.ForkedSeq = p.UpTo
	if err := s.takeContext(ctx, c, from, p); err != nil {
		return nil, err
	}
	before := make([]string, len(p.Messages)) // ids
	for i, m := range p.Messages {
		before[i] = m.GetId()
		row, err := copyOf(m, c.Session)
		if err != nil {
			return nil, err
		}
		row.Seq = int64(i - len(p.Messages) - len(p.Turn))
		c.Session.ContextBytes += int64(len(row.Data))
		c.Messages = append(c.Messages, row)
	}
	if err := c.rename(before); err != nil {
		return nil, err
	}
	for i, m := range p.Turn {
		before := m.GetId()
		row, err := copyOf(m, c.Session)
		if err != nil {
			return nil, err
		}
		row.Seq, c.Renamed[before] = int64(i-len(p.Turn)), m.GetId()
		c.Session.ContextBytes += int64(len(row.Data))
		c.Turn = append(c.Turn, row)
	}
	return c, nil
}

// Write stores the session, with session.forked as its first event.
func (c *Copy) Write(tx *journal.Tx) error {
	tx.Session = c.Session
	if err := tx.AddSession(tx.Context(), c.Session); err != nil {
		return err
	}
	if _, err := tx.Append(journal.Origin{}, &turnv1.Event{Data: &turnv1.Event_SessionForked{SessionForked: &turnv1.SessionForked{
		FromSession: c.Session.ForkedFrom, FromSeq: c.Session.ForkedSeq, Messages: uint32(len(c.Messages) + len(c.Turn)),
	}}}); err != nil {
		return err
	}
	if err := tx.AddMessages(tx.Context(), c.Messages...); err != nil {
		return err
	}
	if err := searchdb.SetDue(tx.Context(), tx, c.Session.Tenant, c.Session.ID); err != nil {
		return err
	}
	return c.writeContext(tx)
}

// copyOf returns a message of another session as one of ses. It keeps its turn, as a reference.
func copyOf(m *turnv1.Message, ses store.Session) (store.Message, error) {
	m.Id, m.SessionId, m.Seq = ids.New(ids.Message), ses.ID, ForkedSeq
	data, err := proto.Marshal(m)
	if err != nil {
		return store.Message{}, fmt.Errorf("copy message: %w", err)
	}
	return store.Message{Tenant: ses.Tenant, SessionID: ses.ID, ID: m.GetId(), TurnID: m.GetTurnId(), Data: data}, nil
}
