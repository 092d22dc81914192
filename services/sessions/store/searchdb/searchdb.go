// Package searchdb keeps the words by which sessions and turns are found. It is part of the sessions store.
package searchdb

import (
	"context"
	"math"
	"strings"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// Session is a session whose words may be incomplete.
type Session struct {
	// Tenant and ID name it; Seq is that of the last message whose words are stored, below all others at first.
	Tenant, ID string
	Seq        int64
}

// Word is a word of a session.
type Word struct {
	// Text is the word; TurnID the turn in which it occurs, "" for none.
	Text, TurnID string
	// Title reports whether it occurs in the title.
	Title bool
}

// none is the seq of a session without words.
const none = math.MinInt64 + 1

// SetDue notes that the words of a session may be incomplete.
func SetDue(ctx context.Context, tx sqldb.Tx, tenant, session string) error {
	_, err := sqldb.Exec(ctx, tx, `INSERT INTO session_search (tenant, session_id, seq, due) VALUES ($1, $2, $3, 1)
		ON CONFLICT (tenant, session_id) DO UPDATE SET due = 1`, tenant, session, int64(none))
	return err
}

// Due lists at most limit sessions whose words may be incomplete.
func Due(ctx context.Context, q sqldb.Querier, limit int) ([]Session, error) {
	return rows.All(ctx, q, func(s sqldb.Scanner) (v Session, err error) {
		err = s.Scan(&v.Tenant, &v.ID, &v.Seq)
		return v, err
	}, "SELECT tenant, session_id, seq FROM session_search WHERE due > 0 ORDER BY due, tenant, session_id LIMIT $1", limit)
}

// Save notes up to which message the words of a locked session are stored. They are complete if it has no later one. It ignores a
// session whose words were forgotten or stored by another process since v was read.
func Save(ctx context.Context, tx sqldb.Tx, v Session, seq int64) error {
	_, err := sqldb.Exec(ctx, tx, `UPDATE session_search SET seq = $3, due = CASE WHEN EXISTS (SELECT 1 FROM messages m
		WHERE m.tenant = $1 AND m.session_id = $2 AND m.seq > $3) THEN 1 ELSE 0 END WHERE tenant = $1 AND session_id = $2 AND seq = $4`,
		v.Tenant, v.ID, seq, v.Seq)
	return err
}

// AddWords stores words of a locked session; those that are stored already are left as they are.
func AddWords(ctx context.Context, tx sqldb.Tx, v Session, subject string, words []Word) error {
	const columns, batch = 6, 64
	for len(words) > 0 {
		n := min(len(words), batch)
		if n < batch {
			n = 1 // few statement texts, so that they stay prepared
			for n*8 <= len(words) {
				n *= 8
			}
		}
		var query strings.Builder
		query.WriteString("INSERT INTO search_words (tenant, word, subject, session_id, turn_id, title) VALUES ")
		args := make([]any, 0, columns*n)
		for i, w := range words[:n] {
			if i > 0 {
				query.WriteString(", ")
			}
			query.WriteString("(" + sqldb.Placeholders(i*columns+1, columns) + ")")
			args = append(args, v.Tenant, []byte(w.Text), subject, v.ID, w.TurnID, rows.Flag(w.Title))
		}
		query.WriteString(" ON CONFLICT DO NOTHING")
		if _, err := sqldb.Exec(ctx, tx, query.String(), args...); err != nil {
			return err
		}
		words = words[n:]
	}
	return nil
}

// DropTitle removes the words of the title of a locked session.
func DropTitle(ctx context.Context, tx sqldb.Tx, v Session) error {
	_, err := sqldb.Exec(ctx, tx, "DELETE FROM search_words WHERE tenant = $1 AND session_id = $2 AND title = 1", v.Tenant, v.ID)
	return err
}

// Forget removes a session that does not exist any more.
func Forget(ctx context.Context, tx sqldb.Tx, v Session) error {
	for _, statement := range erase {
		if _, err := sqldb.Exec(ctx, tx, statement, v.Tenant, v.ID); err != nil {
			return err
		}
	}
	return nil
}

// erase removes all words of a session $2 of the tenant $1.
var erase = []string{
	"DELETE FROM search_words WHERE tenant = $1 AND session_id = $2",
	"DELETE FROM session_search WHERE tenant = $1 AND session_id = $2",
}

// Narrow adds to a list of sessions or turns the condition that they have a word that begins with each of some texts. subject is whose they
// are, "" for anyone's; from the column of search_words that names them.
func Narrow(list *rows.Selection, from, tenant, subject string, words []string) {
	for _, w := range words {
		list.Add(" AND id IN (SELECT "+from+" FROM search_words WHERE tenant = ?", tenant)
		if subject != "" {
			list.Add(" AND subject = ?", subject)
		}
		list.Add(" AND word >= ?", []byte(w))
		list.Add(" AND word < ?", end(w))
		list.Add(")")
	}
}

// end is behind all words that begin with a text: 0xff is in no UTF-8.
func end(word string) []byte { return append([]byte(word), 0xff) }

// WithoutDeleted narrows a list to rows of sessions that are not deleted. Few are: they are erased soon.
func WithoutDeleted(list *rows.Selection, tenant string) {
	list.Add(" AND session_id NOT IN (SELECT id FROM sessions WHERE delete_us > 0 AND tenant || '' = ?)", tenant)
}
