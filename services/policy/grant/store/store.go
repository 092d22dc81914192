// Package store stores grants, and the logins that they use. Tokens are encrypted with the data keys of the vault.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/policy/vault"
)

// ErrNotFound means that there is no such grant or login.
var ErrNotFound = sqldb.ErrNotFound

// Grant is the authorization of a turn to act for its user.
type Grant struct {
	// Tenant and ID identify it; TurnID is unique in the tenant too.
	Tenant, ID, TurnID string
	// Subject is the user, Issuer the name of the user's issuer.
	Subject, Issuer string
	// LoginID is the login that it uses; empty if the turn began without one. ParentID is the grant that it is derived from, if any.
	LoginID, ParentID string
	// Revoked is when the user revoked it; zero = not. Expires is when it ends at the latest.
	Revoked, Created, Expires time.Time
	// Login is the state of its login; nil if there is none.
	Login *LoginState
}

// LoginState says what a login is good for, without its tokens.
type LoginState struct {
	// Ended means that there are no tokens any more.
	Ended bool
	// Renewable means that there is a refresh token.
	Renewable bool
	// Access is when the access token expires.
	Access time.Time
}

// Usable reports whether the login can be used at a time, as far as is known.
func (l *LoginState) Usable(now time.Time) bool {
	return l != nil && !l.Ended && (l.Renewable || now.Before(l.Access))
}

// Login is what the mesh has to act for a user.
type Login struct {
	// Tenant and ID identify it.
	Tenant, ID string
	// Subject is the user, Issuer the name of the issuer, and IssuerSubject the user's name there.
	Subject, Issuer, IssuerSubject string
	// TokenHash is that of the token that the user presented, in hex.
	TokenHash string
	// Access is an access token for the mesh, until Expires. Refresh gets the next one; zero if there is none.
	Access, Refresh secret.Value
	Expires         time.Time
	// Version counts the tokens.
	Version int64
}

// Store stores grants and logins. It is safe for concurrent use, also by several processes.
type Store struct {
	db    *sqldb.DB
	vault *vault.Vault
}

// New returns a store. The vault's rotations replace the tokens too.
func New(db *sqldb.DB, v *vault.Vault) *Store {
	s := &Store{db: db, vault: v}
	v.Include(s)
	return s
}

// Now is the database's time.
func (s *Store) Now() time.Time { return s.db.Now() }

const grantColumns = `g.tenant, g.id, g.turn_id, g.subject, g.issuer, g.login_id, g.parent_id, g.revoked_us, g.created_us, g.expires_us,
	l.access_us, l.sealed_access IS NULL, l.sealed_refresh IS NOT NULL`

const fromGrants = ` FROM grants g LEFT JOIN grant_logins l ON l.tenant = g.tenant AND l.id = g.login_id `

func scanGrant(from sqldb.Scanner) (g Grant, err error) {
	var access *int64
	var ended, renewable *bool
	err = from.Scan(&g.Tenant, &g.ID, &g.TurnID, &g.Subject, &g.Issuer, &g.LoginID, &g.ParentID, sqldb.TimeColumn(&g.Revoked),
		sqldb.TimeColumn(&g.Created), sqldb.TimeColumn(&g.Expires), &access, &ended, &renewable)
	if access != nil {
		g.Login = &LoginState{Access: sqldb.Time(*access), Ended: *ended, Renewable: *renewable}
	}
	return g, err
}

// Get reads a grant.
func (s *Store) Get(ctx context.Context, tenant, id string) (Grant, error) {
	return sqldb.One(ctx, s.db.Reader(), scanGrant, `SELECT `+grantColumns+fromGrants+`WHERE g.tenant = $1 AND g.id = $2`, tenant, id)
}

// OfTurn reads the grant of a turn.
func (s *Store) OfTurn(ctx context.Context, tenant, turn string) (Grant, error) {
	return sqldb.One(ctx, s.db.Reader(), scanGrant, `SELECT `+grantColumns+fromGrants+`WHERE g.tenant = $1 AND g.turn_id = $2`, tenant, turn)
}

// List lists at most limit grants of a subject, the newest first, after one that was created at a time.
func (s *Store) List(ctx context.Context, tenant, subject string, before time.Time, beforeID string, limit int) ([]Grant, error) {
	if before.IsZero() {
		return sqldb.All(ctx, s.db.Reader(), scanGrant, `SELECT `+grantColumns+fromGrants+
			`WHERE g.tenant = $1 AND g.subject = $2 ORDER BY g.created_us DESC, g.id DESC LIMIT $3`, tenant, subject, limit)
	}
	return sqldb.All(ctx, s.db.Reader(), scanGrant, `SELECT `+grantColumns+fromGrants+
		`WHERE g.tenant = $1 AND g.subject = $2 AND (g.created_us, g.id) < ($3, $4) ORDER BY g.created_us DESC, g.id DESC LIMIT $5`,
		tenant, subject, sqldb.Micros(before), beforeID, limit)
}

var insertGrants = sqldb.Insert("grants", "tenant, id, turn_id, subject, issuer, login_id, parent_id, revoked_us, created_us, expires_us")

// Add stores a grant, unless its turn has one.
func (s *Store) Add(ctx context.Context, g Grant) error {
	return s.db.Write(ctx, func(tx sqldb.Tx) error { return addGrant(ctx, tx, g) })
}

func addGrant(ctx context.Context, tx sqldb.Tx, g Grant) error {
	_, err := sqldb.Exec(ctx, tx, insertGrants+" ON CONFLICT (tenant, turn_id) DO NOTHING", g.Tenant, g.ID, g.TurnID, g.Subject, g.Issuer,
		g.LoginID, g.ParentID, int64(0), sqldb.Micros(g.Created), sqldb.Micros(g.Expires))
	return err
}

// Revoke revokes a grant and those that are derived from it.
func (s *Store) Revoke(ctx context.Context, tenant, id string) error {
	return s.db.Write(ctx, func(tx sqldb.Tx) error {
		now := sqldb.Micros(s.db.Now())
		for all := []string{id}; len(all) > 0; all = all[1:] {
			if _, err := sqldb.Exec(ctx, tx, `UPDATE grants SET revoked_us = $1 WHERE tenant = $2 AND id = $3 AND revoked_us = 0`,
				now, tenant, all[0]); err != nil {
				return err
			}
			derived, err := sqldb.All(ctx, tx, sqldb.Column[string],
				`SELECT id FROM grants WHERE tenant = $1 AND parent_id = $2 AND parent_id <> ''`, tenant, all[0])
			if err != nil {
				return err
			}
			all = append(all, derived...)
		}
		return nil
	})
}

// End removes the grants of turns, and the logins that no other grant uses.
func (s *Store) End(ctx context.Context, tenant string, turns []string) error {
	return s.db.Write(ctx, func(tx sqldb.Tx) error {
		for _, turn := range turns {
			login, err := sqldb.One(ctx, tx, sqldb.Column[string], `SELECT login_id FROM grants WHERE tenant = $1 AND turn_id = $2`, tenant, turn)
			if errors.Is(err, sqldb.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if _, err := sqldb.Exec(ctx, tx, `DELETE FROM grants WHERE tenant = $1 AND turn_id = $2`, tenant, turn); err != nil {
				return err
			}
			if err := dropUnused(ctx, tx, tenant, login); err != nil {
				return err
			}
		}
		return nil
	})
}

// dropUnused removes a login that no grant uses. It takes the row's lock first, and so sees the grant of an Attach that had it.
func dropUnused(ctx context.Context, tx sqldb.Tx, tenant, login string) error {
	n, err := sqldb.Exec(ctx, tx, `UPDATE grant_logins SET version = version WHERE tenant = $1 AND id = $2`, tenant, login)
	if err != nil || n == 0 {
		return err
	}
	_, err = sqldb.Exec(ctx, tx, `DELETE FROM grant_logins WHERE tenant = $1 AND id = $2
		AND NOT EXISTS (SELECT 1 FROM grants x WHERE x.tenant = $1 AND x.login_id = $2)`, tenant, login)
	return err
}

// Sweep removes at most limit grants that have expired, and returns how many.
func (s *Store) Sweep(ctx context.Context, limit int) (int, error) {
	type turn struct{ tenant, id string }
	scan := func(from sqldb.Scanner) (t turn, err error) {
		err = from.Scan(&t.tenant, &t.id)
		return t, err
	}
	due, err := sqldb.All(ctx, s.db.Reader(), scan, `SELECT tenant, turn_id FROM grants WHERE expires_us <= $1 ORDER BY expires_us LIMIT $2`,
		sqldb.Micros(s.db.Now()), limit)
	if err != nil {
		return 0, err
	}
	for _, t := range due {
		if err := s.End(ctx, t.tenant, []string{t.id}); err != nil {
			return 0, fmt.Errorf("remove the grant of turn %s: %w", t.id, err)
		}
	}
	return len(due), nil
}
