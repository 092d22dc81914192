package find

import (
	"context"
	"errors"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/searchdb"
)

const (
	// batch is how many sessions are indexed in one round, and page how many messages of one in a transaction.
	batch, page = 32, 20
	// rounds bounds the batches of one sweep.
	rounds = 1000
)

// Indexer stores the words of sessions.
type Indexer struct{ store *store.Store }

// NewIndexer returns an indexer for a store.
func NewIndexer(s *store.Store) *Indexer { return &Indexer{s} }

// Sweep indexes all sessions whose words may be incomplete. Several processes may sweep at the same time.
func (x *Indexer) Sweep(ctx context.Context) error {
	for range rounds {
		due, err := searchdb.Due(ctx, x.store.DB.Reader(), batch)
		if err != nil || len(due) == 0 {
			return err
		}
		for _, ses := range due {
			if err := x.index(ctx, ses); err != nil {
				return err
			}
		}
	}
	return nil
}

// index stores the words of the title of a session, and of its next messages.
func (x *Indexer) index(ctx context.Context, at searchdb.Session) error {
	messages, err := x.store.Messages(ctx, at.Tenant, at.ID, at.Seq, page)
	if err != nil {
		return err
	}
	var words []searchdb.Word
	next := at
	for _, row := range messages {
		if len(words) > maxWords { // enough for one transaction
			break
		}
		next.Seq = row.Seq
		words = append(words, ofMessage(row)...)
	}
	return x.store.Write(ctx, func(tx *store.Tx) error {
		ses, err := tx.LockSession(ctx, at.Tenant, at.ID)
		if errors.Is(err, store.ErrNotFound) { // RestoreSession makes it due again
			return searchdb.Forget(ctx, tx, at)
		}
		if err != nil {
			return err
		}
		if err := searchdb.DropTitle(ctx, tx, at); err != nil {
			return err
		}
		var title []searchdb.Word
		for _, w := range Words(ses.Title, maxWords) {
			title = append(title, searchdb.Word{Text: w, Title: true})
		}
		if err := searchdb.AddWords(ctx, tx, at, ses.Subject, append(title, words...)); err != nil {
			return err
		}
		return searchdb.Save(ctx, tx, at, next.Seq)
	})
}

// ofMessage returns the words of what a user or an assistant wrote. A message that cannot be read has none.
func ofMessage(row store.Message) []searchdb.Word {
	m, err := conversation.Message(row)
	if err != nil || m.GetRole() != turnv1.Role_ROLE_USER && m.GetRole() != turnv1.Role_ROLE_ASSISTANT {
		return nil
	}
	turn := row.TurnID
	if row.Seq < 0 { // it was copied: the turn belongs to another session
		turn = ""
	}
	text := conversation.Text(m.GetContent())
	if len(text) > maxText {
		text = text[:maxText]
	}
	var out []searchdb.Word
	for _, w := range Words(text, maxWords) {
		out = append(out, searchdb.Word{Text: w, TurnID: turn})
	}
	return out
}
