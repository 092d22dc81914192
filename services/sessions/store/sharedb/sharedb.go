// Package sharedb keeps the shares of sessions. It is part of the sessions store.
package sharedb

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// Audience says who may read a share.
type Audience string

// Audiences.
const (
	Anyone Audience = "anyone"
	Tenant Audience = "tenant"
	Named  Audience = "named"
)

// Share is a link to a session.
type Share struct {
	// Tenant and ID name it; SessionID is the session; Hash that of its token.
	Tenant, ID, SessionID string
	Hash                  []byte
	// Subject made it; Title is that of the session when it was made.
	Subject, Title string
	// Writable: readers may continue the conversation in a session of their own.
	Writable bool
	Audience Audience
	// Subjects are those of a named audience.
	Subjects []string
	// Live shares show all messages, others those up to Seq.
	Live bool
	Seq  uint32
	// Redact leaves out tool results.
	Redact                 bool
	CreateTime, ExpireTime time.Time
}

const columns = "tenant, id, session_id, hash, subject, title, writable, audience, subjects, live, seq, redact, create_us, expire_us"

func scan(s sqldb.Scanner) (v Share, err error) {
	var writable, live, redact int64
	var subjects string
	err = s.Scan(&v.Tenant, &v.ID, &v.SessionID, &v.Hash, &v.Subject, &v.Title, &writable, (*string)(&v.Audience), &subjects, &live, &v.Seq,
		&redact, sqldb.TimeColumn(&v.CreateTime), sqldb.TimeColumn(&v.ExpireTime))
	v.Writable, v.Live, v.Redact = writable != 0, live != 0, redact != 0
	if err == nil && subjects != "" {
		if err = json.Unmarshal([]byte(subjects), &v.Subjects); err != nil {
			err = fmt.Errorf("subjects of share %s: %w", v.ID, err)
		}
	}
	return v, err
}

var insert = sqldb.Insert("session_shares", columns)

// Add stores a share of a locked session.
func Add(ctx context.Context, tx sqldb.Tx, v Share) error {
	subjects := ""
	if len(v.Subjects) > 0 {
		text, err := json.Marshal(v.Subjects)
		if err != nil {
			return fmt.Errorf("subjects of share %s: %w", v.ID, err)
		}
		subjects = string(text)
	}
	_, err := sqldb.Exec(ctx, tx, insert, v.Tenant, v.ID, v.SessionID, v.Hash, v.Subject, v.Title, rows.Flag(v.Writable), string(v.Audience),
		subjects, rows.Flag(v.Live), int64(v.Seq), rows.Flag(v.Redact), sqldb.Micros(v.CreateTime), sqldb.Micros(v.ExpireTime))
	return err
}

// Count counts the shares of a locked session that have not expired.
func Count(ctx context.Context, tx sqldb.Tx, tenant, session string, now time.Time) (int, error) {
	return sqldb.One(ctx, tx, sqldb.Column[int],
		"SELECT count(*) FROM session_shares WHERE tenant = $1 AND session_id = $2 AND expire_us > $3", tenant, session, sqldb.Micros(now))
}

// ByHash reads the share of a token, also one that has expired. rows.ErrNotFound when there is none.
func ByHash(ctx context.Context, q sqldb.Querier, hash []byte) (Share, error) {
	return rows.One(ctx, q, scan, "SELECT "+columns+" FROM session_shares WHERE hash = $1", hash)
}

// List lists the shares of a session that have not expired, the newest first.
func List(ctx context.Context, q sqldb.Querier, tenant, session string, now time.Time) ([]Share, error) {
	return rows.All(ctx, q, scan, "SELECT "+columns+` FROM session_shares WHERE tenant = $1 AND session_id = $2 AND expire_us > $3
		ORDER BY create_us DESC, id DESC`, tenant, session, sqldb.Micros(now))
}

// Delete removes a share of a session, and reports whether there was one.
func Delete(ctx context.Context, tx sqldb.Tx, tenant, session, id string) (bool, error) {
	n, err := sqldb.Exec(ctx, tx, "DELETE FROM session_shares WHERE tenant = $1 AND session_id = $2 AND id = $3", tenant, session, id)
	return n > 0, err
}

// Forget removes the shares that have expired.
func Forget(ctx context.Context, tx sqldb.Tx, now time.Time) error {
	_, err := sqldb.Exec(ctx, tx, "DELETE FROM session_shares WHERE expire_us <= $1", sqldb.Micros(now))
	return err
}
