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

// loginRow is a stored login.
type loginRow struct {
	Login
	access, refresh []byte
}

const loginColumns = `tenant, id, subject, issuer, issuer_subject, token_hash, sealed_access, access_us, sealed_refresh, version`

func scanLogin(from sqldb.Scanner) (r loginRow, err error) {
	err = from.Scan(&r.Tenant, &r.ID, &r.Subject, &r.Issuer, &r.IssuerSubject, &r.TokenHash, &r.access, sqldb.TimeColumn(&r.Expires),
		&r.refresh, &r.Version)
	return r, err
}

// context binds a token to its login: a ciphertext that is copied to another row, or to the other column, cannot be opened.
func (l Login) context(kind string) string {
	return fmt.Sprintf("%s token of login %q of tenant %q", kind, l.ID, l.Tenant)
}

var insertLogins = sqldb.Insert("grant_logins", `tenant, id, subject, issuer, issuer_subject, token_hash, sealed_access, access_us,
	sealed_refresh, version, lease_us, created_us`)

// LoginOf returns the id of the login of a subject that was made of a token and has not ended; empty if there is none.
func (s *Store) LoginOf(ctx context.Context, tenant, subject, hash string) (string, error) {
	id, err := sqldb.One(ctx, s.db.Reader(), sqldb.Column[string], `SELECT id FROM grant_logins WHERE tenant = $1 AND subject = $2
		AND token_hash = $3 AND sealed_access IS NOT NULL`, tenant, subject, hash)
	if errors.Is(err, sqldb.ErrNotFound) {
		return "", nil
	}
	return id, err
}

// Attach stores a grant that uses an existing login. ErrNotFound means that the login is gone.
func (s *Store) Attach(ctx context.Context, g Grant) error {
	return s.db.Write(ctx, func(tx sqldb.Tx) error {
		// The row is written, so that an End that is about to remove it waits and then finds the grant.
		if err := sqldb.ExecOne(ctx, tx, `UPDATE grant_logins SET version = version WHERE tenant = $1 AND id = $2 AND sealed_access IS NOT NULL`,
			g.Tenant, g.LoginID); err != nil {
			return err
		}
		return addGrant(ctx, tx, g)
	})
}

// addLogin stores a login, and then calls use with its id in the same transaction: that of an earlier one that was made of the same token,
// if there is one.
func (s *Store) addLogin(ctx context.Context, l Login, use func(tx sqldb.Tx, login string) error) error {
	return s.vault.Write(ctx, func(tx sqldb.Tx, seal vault.Seal) error {
		access, refresh, err := sealTokens(l, seal)
		if err != nil {
			return err
		}
		if _, err := sqldb.Exec(ctx, tx, `DELETE FROM grant_logins WHERE tenant = $1 AND subject = $2 AND token_hash = $3
			AND sealed_access IS NULL`, l.Tenant, l.Subject, l.TokenHash); err != nil {
			return err
		}
		insert := insertLogins + " ON CONFLICT (tenant, subject, token_hash) DO NOTHING"
		if _, err := sqldb.Exec(ctx, tx, insert, l.Tenant, l.ID, l.Subject, l.Issuer, l.IssuerSubject, l.TokenHash, access,
			sqldb.Micros(l.Expires), refresh, int64(1), int64(0), sqldb.Micros(s.db.Now())); err != nil {
			return err
		}
		id, err := sqldb.One(ctx, tx, sqldb.Column[string], `SELECT id FROM grant_logins WHERE tenant = $1 AND subject = $2 AND token_hash = $3`,
			l.Tenant, l.Subject, l.TokenHash)
		if err != nil {
			return err
		}
		return use(tx, id)
	})
}

func sealTokens(l Login, seal vault.Seal) (access, refresh []byte, err error) {
	if access, err = seal([]byte(l.Access.Reveal()), l.context("access")); err != nil {
		return nil, nil, err
	}
	if !l.Refresh.IsZero() {
		refresh, err = seal([]byte(l.Refresh.Reveal()), l.context("refresh"))
	}
	return access, refresh, err
}

// Begin stores a login and a grant that uses it.
func (s *Store) Begin(ctx context.Context, l Login, g Grant) error {
	return s.addLogin(ctx, l, func(tx sqldb.Tx, login string) error {
		g.LoginID = login
		return addGrant(ctx, tx, g)
	})
}

// Renew stores a login and makes all grants of its subject use it: the logins that they used so far may have ended at the issuer. They
// expire at a new time. It returns how many there are; without any the login is not kept.
func (s *Store) Renew(ctx context.Context, l Login, expires time.Time) (n int, err error) {
	err = s.addLogin(ctx, l, func(tx sqldb.Tx, login string) error {
		all, err := sqldb.All(ctx, tx, scanGrant, `SELECT `+grantColumns+fromGrants+`WHERE g.tenant = $1 AND g.subject = $2`, l.Tenant, l.Subject)
		if err != nil {
			return err
		}
		n = 0
		for _, g := range all {
			if !g.Revoked.IsZero() || g.Issuer != l.Issuer {
				continue
			}
			n++
			if err := sqldb.ExecOne(ctx, tx, `UPDATE grants SET login_id = $1, expires_us = $2 WHERE tenant = $3 AND id = $4`, login,
				sqldb.Micros(expires), g.Tenant, g.ID); err != nil {
				return err
			}
			if g.LoginID != "" && g.LoginID != login {
				if err := dropUnused(ctx, tx, g.Tenant, g.LoginID); err != nil {
					return err
				}
			}
		}
		return dropUnused(ctx, tx, l.Tenant, login)
	})
	return n, err
}

// Login reads a login with its tokens. ErrNotFound means that there is none, or that it has ended.
func (s *Store) Login(ctx context.Context, tenant, id string) (Login, error) {
	var row loginRow
	open := func(kind string, sealed func() []byte) (secret.Value, error) {
		plain, err := s.vault.Open(ctx, func(ctx context.Context) ([]byte, string, error) {
			var err error
			if row, err = sqldb.One(ctx, s.db.Reader(), scanLogin, `SELECT `+loginColumns+` FROM grant_logins WHERE tenant = $1 AND id = $2
				AND sealed_access IS NOT NULL`, tenant, id); err != nil {
				return nil, "", err
			}
			return sealed(), row.context(kind), nil
		})
		return secret.New(string(plain)), err
	}
	access, err := open("access", func() []byte { return row.access })
	if err != nil {
		return Login{}, err
	}
	version := row.Version
	if row.refresh != nil {
		if row.Refresh, err = open("refresh", func() []byte { return row.refresh }); err != nil {
			return Login{}, err
		}
	}
	if row.Version != version { // replaced between the two reads
		return s.Login(ctx, tenant, id)
	}
	l := row.Login
	l.Access = access
	return l, nil
}

// Lease gives one caller the right to replace the tokens of a login of this version, until a time. It returns false if another caller has
// it, or the tokens are others by now.
func (s *Store) Lease(ctx context.Context, l Login, until time.Time) (bool, error) {
	var n int64
	err := s.db.Write(ctx, func(tx sqldb.Tx) (err error) {
		n, err = sqldb.Exec(ctx, tx, `UPDATE grant_logins SET lease_us = $1 WHERE tenant = $2 AND id = $3 AND version = $4 AND lease_us <= $5`,
			sqldb.Micros(until), l.Tenant, l.ID, l.Version, sqldb.Micros(s.db.Now()))
		return err
	})
	return n == 1, err
}

// Replace stores other tokens of a login, whose version is that of the tokens that they replace, and ends the lease.
func (s *Store) Replace(ctx context.Context, l Login) error {
	return s.vault.Write(ctx, func(tx sqldb.Tx, seal vault.Seal) error {
		access, refresh, err := sealTokens(l, seal)
		if err != nil {
			return err
		}
		_, err = sqldb.Exec(ctx, tx, `UPDATE grant_logins SET sealed_access = $1, access_us = $2, sealed_refresh = $3, version = version + 1,
			lease_us = 0 WHERE tenant = $4 AND id = $5 AND version = $6 AND sealed_access IS NOT NULL`, access, sqldb.Micros(l.Expires), refresh,
			l.Tenant, l.ID, l.Version)
		return err
	})
}

// Release ends a lease.
func (s *Store) Release(ctx context.Context, l Login) error {
	return s.db.Write(ctx, func(tx sqldb.Tx) error {
		_, err := sqldb.Exec(ctx, tx, `UPDATE grant_logins SET lease_us = 0 WHERE tenant = $1 AND id = $2 AND version = $3`, l.Tenant, l.ID,
			l.Version)
		return err
	})
}

// EndLogin removes the tokens of a login that its issuer no longer accepts, if they are still those of this version.
func (s *Store) EndLogin(ctx context.Context, l Login) error {
	return s.db.Write(ctx, func(tx sqldb.Tx) error {
		_, err := sqldb.Exec(ctx, tx, `UPDATE grant_logins SET sealed_access = NULL, sealed_refresh = NULL, version = version + 1, lease_us = 0
			WHERE tenant = $1 AND id = $2 AND version = $3`, l.Tenant, l.ID, l.Version)
		return err
	})
}

// Reseal implements vault.Table.
func (s *Store) Reseal(ctx context.Context, tx sqldb.Tx, again vault.Again) (int, error) {
	all, err := sqldb.All(ctx, tx, scanLogin, `SELECT `+loginColumns+` FROM grant_logins WHERE sealed_access IS NOT NULL ORDER BY tenant, id`)
	if err != nil {
		return 0, err
	}
	for _, l := range all {
		access, err := again(l.access, l.context("access"))
		if err != nil {
			return 0, fmt.Errorf("login %q: %w", l.ID, err)
		}
		var refresh []byte
		if l.refresh != nil {
			if refresh, err = again(l.refresh, l.context("refresh")); err != nil {
				return 0, fmt.Errorf("login %q: %w", l.ID, err)
			}
		}
		if err := sqldb.ExecOne(ctx, tx, `UPDATE grant_logins SET sealed_access = $1, sealed_refresh = $2 WHERE tenant = $3 AND id = $4`, access,
			refresh, l.Tenant, l.ID); err != nil {
			return 0, err
		}
	}
	return len(all), nil
}
