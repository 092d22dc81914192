package store

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// Once remembers which turn or session a request with an idempotency key made.
type Once struct {
	// Tenant, Subject, Method and Key name the request.
	Tenant, Subject, Method, Key string
	// Hash is over the request's content; TurnID is the turn it made or steered, or SessionID the session; MessageID the input that steers.
	Hash, TurnID, SessionID, MessageID string
	// ExpireTime is until when it is remembered.
	ExpireTime time.Time
}

func scanOnce(s sqldb.Scanner) (o Once, err error) {
	err = s.Scan(&o.Tenant, &o.Subject, &o.Method, &o.Key, &o.Hash, &o.TurnID, &o.SessionID, &o.MessageID, sqldb.TimeColumn(&o.ExpireTime))
	return o, err
}

const selectOnce = `SELECT tenant, subject, method, idem_key, request_hash, turn_id, session_id, message_id, expires_us FROM
	turn_idempotency
	WHERE tenant = $1 AND subject = $2 AND method = $3 AND idem_key = $4 AND expires_us > $5`

// Once reads what is remembered of a request. ErrNotFound when nothing is, or no longer.
func (s *sessionReader) Once(ctx context.Context, key Once, now time.Time) (Once, error) {
	return rows.One(ctx, s.DB.Reader(), scanOnce, selectOnce, key.Tenant, key.Subject, key.Method, key.Key, sqldb.Micros(now))
}

// AddOnce remembers a request. When the key is taken and not expired, it changes nothing and returns what stands, with false.
func (tx *sessionTx) AddOnce(ctx context.Context, o Once, now time.Time) (Once, bool, error) {
	n, err := sqldb.Exec(ctx, tx, `INSERT INTO turn_idempotency (tenant, subject, method, idem_key, request_hash, turn_id, expires_us,
		session_id, message_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $9, $10) ON CONFLICT (tenant, subject, method, idem_key) DO UPDATE
		SET request_hash = excluded.request_hash, turn_id = excluded.turn_id, session_id = excluded.session_id, message_id = excluded.message_id,
		expires_us = excluded.expires_us
		WHERE turn_idempotency.expires_us <= $8`, o.Tenant, o.Subject, o.Method, o.Key, o.Hash, o.TurnID, sqldb.Micros(o.ExpireTime), sqldb.Micros(now), o.SessionID,
		o.MessageID)
	if err != nil || n == 1 {
		return o, err == nil, err
	}
	stands, err := sqldb.One(ctx, tx, scanOnce, selectOnce, o.Tenant, o.Subject, o.Method, o.Key, sqldb.Micros(now))
	return stands, false, err
}

// ForgetOnce removes what has expired.
func (s *sessionReader) ForgetOnce(ctx context.Context, now time.Time) error {
	return s.Transact(ctx, func(tx *rows.Tx) error {
		_, err := sqldb.Exec(ctx, tx, "DELETE FROM turn_idempotency WHERE expires_us <= $1", sqldb.Micros(now))
		return err
	})
}
