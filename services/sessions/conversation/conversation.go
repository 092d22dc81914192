// Package conversation reads what was said in a session: the window that a model step reads, with the summary of a compaction in
// front of it, and the snapshot that a fork or a re-run begins with.
package conversation

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// readPage is how many rows one read of a session takes.
const readPage = 200

// Config are the limits of conversations.
type Config struct {
	// MaxCopyBytes bounds what a fork or a re-run takes over.
	MaxCopyBytes int
}

// Service reads conversations. It is safe for concurrent use.
type Service struct {
	cfg    Config
	store  *store.Store
	recent *recent
}

// New returns the service.
func New(cfg Config, s *store.Store) *Service {
	return &Service{cfg: cfg, store: s, recent: newRecent()}
}

// Message decodes a message.
func Message(row store.Message) (*turnv1.Message, error) {
	out := &turnv1.Message{}
	if err := proto.Unmarshal(row.Data, out); err != nil {
		return nil, fmt.Errorf("message %s: %w", row.ID, err)
	}
	return out, nil
}

// Shown returns a message as clients see it: without what only its provider reads.
func Shown(m *turnv1.Message) *turnv1.Message {
	if m.GetVerbatim() == nil {
		return m
	}
	m = proto.CloneOf(m)
	m.Verbatim = nil
	return m
}

// Add stores a message of a turn at its seq. The turn's session must be locked.
func Add(tx *journal.Tx, t store.Turn, m *turnv1.Message) error {
	data, err := proto.Marshal(m)
	if err != nil {
		return fmt.Errorf("message %s: %w", m.GetId(), err)
	}
	tx.Session.ContextBytes += int64(len(data))
	tx.Said = m
	return tx.AddMessages(tx.Context(), store.Message{
		Tenant: t.Tenant, SessionID: t.SessionID, Seq: int64(m.GetSeq()), ID: m.GetId(), TurnID: t.ID, TurnSeq: t.Place, Data: data,
	})
}

// Text returns the text of content parts, one after the other on lines of their own.
func Text(parts []*turnv1.ContentPart) string {
	var text []byte
	for _, p := range parts {
		if t := p.GetText(); t != "" {
			if len(text) > 0 {
				text = append(text, '\n')
			}
			text = append(text, t...)
		}
	}
	return string(text)
}

// Each calls each for a session's messages in the order of the conversation, up to a seq.
func (s *Service) Each(ctx context.Context, ses store.Session, upTo int64, each func(store.Message) error) error {
	point := store.Beginning()
	for {
		rows, err := s.store.Conversation(ctx, ses.Tenant, ses.ID, point, upTo, readPage)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := each(row); err != nil {
				return err
			}
			point = row.Point()
		}
		if len(rows) < readPage {
			return nil
		}
	}
}

// OfTurn reads a turn's messages in the order of the conversation, including those that it took over. before is called for the
// messages of the turns before it; nil leaves them out.
func (s *Service) OfTurn(ctx context.Context, ses store.Session, t store.Turn, before func(*turnv1.Message) error) ([]*turnv1.Message,
	error,
) {
	point := store.Beginning()
	if before == nil {
		point.TurnSeq = t.Place
	}
	var own []*turnv1.Message
	for {
		rows, err := s.store.Conversation(ctx, ses.Tenant, ses.ID, point, store.AfterAll, readPage)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if row.TurnSeq > t.Place {
				return own, nil
			}
			m, err := Message(row)
			if err != nil {
				return nil, err
			}
			if row.TurnSeq == t.Place {
				own = append(own, m)
			} else if err := before(m); err != nil {
				return nil, err
			}
			point = row.Point()
		}
		if len(rows) < readPage {
			return own, nil
		}
	}
}
