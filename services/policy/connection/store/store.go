// Package store stores connections of users to sources, and the attempts to make them.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/policy/vault"
)

var (
	// ErrNotFound means that there is no such row, or that it is not in the state that a change needs.
	ErrNotFound = sqldb.ErrNotFound
	// ErrFull means that a user has too many open attempts.
	ErrFull = errors.New("too many open attempts")
)

// Key identifies a connection.
type Key struct {
	// Tenant and Subject are those of the user, SourceID is that of the source.
	Tenant, Subject, SourceID string
}

// Login is how users log in, as it was when they consented. It holds no secrets.
type Login struct {
	// AuthorizationURL and TokenURL are the endpoints, RevocationURL that of revocation, if there is one.
	AuthorizationURL string `json:"authorization_url,omitempty"`
	TokenURL         string `json:"token_url"`
	RevocationURL    string `json:"revocation_url,omitempty"`
	// Issuer is the authorization server; empty = unknown. IssuerRequired means that its responses must name it.
	Issuer         string `json:"issuer,omitempty"`
	IssuerRequired bool   `json:"issuer_required,omitempty"`
	// ClientID is ours there. SecretRef refers to its secret; Registered means that it registered itself. InBody sends both in the body.
	ClientID   string `json:"client_id"`
	SecretRef  string `json:"secret_ref,omitempty"`
	Registered bool   `json:"registered,omitempty"`
	InBody     bool   `json:"in_body,omitempty"`
	// Redirect is the URI of the callback.
	Redirect string `json:"redirect"`
	// Scopes, Audience and Resource are what tokens are requested for.
	Scopes   []string `json:"scopes,omitempty"`
	Audience string   `json:"audience,omitempty"`
	Resource string   `json:"resource,omitempty"`
	// Destination is the origin that tokens are sent to.
	Destination string `json:"destination,omitempty"`
}

// Tokens are the secrets of a connection.
type Tokens struct {
	// Access is the access token, Refresh the refresh token, if there is one.
	Access  string `json:"access"`
	Refresh string `json:"refresh,omitempty"`
}

// Connection is a user's login at a source.
type Connection struct {
	Key
	// Source is the source's name, Target the digest of where it is, when the user consented.
	Source, Target string
	// Login is how the tokens were issued, Issuer the authorization server for display.
	Login  Login
	Issuer string
	// Scopes were granted; Wanted are those that the source wants besides.
	Scopes, Wanted []string
	// Version counts the tokens.
	Version uint32
	// Ended means that the authorization server no longer accepts it, Refreshable that there is a refresh token.
	Ended, Refreshable bool
	// Expires is when the access token does; zero = unknown.
	Expires time.Time
	// RefreshOwner refreshes the tokens until RefreshUntil.
	RefreshOwner string
	RefreshUntil time.Time
	// Created and Updated are the times of the consent and of the present tokens.
	Created, Updated time.Time

	sealed []byte
}

// context binds tokens to their user, source and version: a ciphertext that is copied to another row cannot be opened there.
func (c Connection) context() string {
	return fmt.Sprintf("version %d of the connection of %q to source %q of tenant %q", c.Version, c.Subject, c.SourceID, c.Tenant)
}

// Store stores connections and attempts. Several may use one database at the same time. It is safe for concurrent use.
type Store struct {
	db    *sqldb.DB
	vault *vault.Vault
}

// New returns a store whose secrets the vault encrypts, also after a rotation of its keys.
func New(db *sqldb.DB, v *vault.Vault) *Store {
	s := &Store{db: db, vault: v}
	v.Include(s)
	return s
}

// Now is the database's time.
func (s *Store) Now() time.Time { return s.db.Now() }

const columns = `tenant, subject, source_id, source, target, issuer, client, scopes, version, ended, refreshable, sealed, expires_us, ` +
	`refresh_owner, refresh_until_us, created_us, updated_us, wanted`

var insertConnection = sqldb.Insert("connections", columns)

func scan(from sqldb.Scanner) (c Connection, err error) {
	var version, expires, until, created, updated int64
	var client, scopes, wanted string
	err = from.Scan(&c.Tenant, &c.Subject, &c.SourceID, &c.Source, &c.Target, &c.Issuer, &client, &scopes, &version, &c.Ended, &c.Refreshable,
		&c.sealed, &expires, &c.RefreshOwner, &until, &created, &updated, &wanted)
	if err != nil {
		return c, err
	}
	c.Version, c.Scopes, c.Wanted = uint32(version), strings.Fields(scopes), strings.Fields(wanted)
	c.Expires, c.RefreshUntil = optional(expires), sqldb.Time(until)
	c.Created, c.Updated = sqldb.Time(created), sqldb.Time(updated)
	return c, json.Unmarshal([]byte(client), &c.Login)
}

// optional reads a time that may be unknown.
func optional(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return sqldb.Time(micros)
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return sqldb.Micros(t)
}

// Get reads a connection; ErrNotFound.
func (s *Store) Get(ctx context.Context, k Key) (Connection, error) {
	return sqldb.One(ctx, s.db.Reader(), scan,
		`SELECT `+columns+` FROM connections WHERE tenant = $1 AND subject = $2 AND source_id = $3`, k.Tenant, k.Subject, k.SourceID)
}

// Named reads a user's connection by the name or the ID of its source, the newest if sources of one name followed each other; ErrNotFound.
func (s *Store) Named(ctx context.Context, tenant, subject, source string) (Connection, error) {
	return sqldb.One(ctx, s.db.Reader(), scan, `SELECT `+columns+` FROM connections WHERE tenant = $1 AND subject = $2
		AND (source = $3 OR source_id = $3) ORDER BY created_us DESC, source_id LIMIT 1`, tenant, subject, source)
}

// After is a position in the list of a user's connections.
type After struct {
	// Source and ID are those of the last source.
	Source string `json:"s"`
	ID     string `json:"i"`
}

// List returns at most limit connections of a user after a position, by source.
func (s *Store) List(ctx context.Context, tenant, subject string, after After, limit int) ([]Connection, error) {
	return sqldb.All(ctx, s.db.Reader(), scan, `SELECT `+columns+` FROM connections WHERE tenant = $1 AND subject = $2
		AND (source, source_id) > ($3, $4) ORDER BY source, source_id LIMIT $5`, tenant, subject, after.Source, after.ID, limit)
}

// Open returns the tokens of a connection as it is now; ErrNotFound.
func (s *Store) Open(ctx context.Context, k Key) (Connection, Tokens, error) {
	var c Connection
	plain, err := s.vault.Open(ctx, func(ctx context.Context) (_ []byte, _ string, err error) {
		c, err = s.Get(ctx, k)
		return c.sealed, c.context(), err
	})
	if err != nil {
		return c, Tokens{}, err
	}
	var t Tokens
	if err := json.Unmarshal(plain, &t); err != nil {
		return c, Tokens{}, errors.New("the tokens of a connection cannot be decoded") // without the text
	}
	return c, t, nil
}

// seal encrypts tokens for a connection.
func (c Connection) seal(t Tokens, seal vault.Seal) ([]byte, error) {
	plain, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("encode tokens: %w", err)
	}
	return seal(plain, c.context())
}

// put stores a new connection in place of an existing one, whose version it continues, and returns the new version.
func put(ctx context.Context, tx sqldb.Tx, seal vault.Seal, c Connection, t Tokens) (uint32, error) {
	before, err := sqldb.One(ctx, tx, scan,
		`SELECT `+columns+` FROM connections WHERE tenant = $1 AND subject = $2 AND source_id = $3`, c.Tenant, c.Subject, c.SourceID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, err
	}
	c.Version, c.Refreshable = before.Version+1, t.Refresh != ""
	sealed, err := c.seal(t, seal)
	if err != nil {
		return 0, err
	}
	login, err := json.Marshal(c.Login)
	if err != nil {
		return 0, fmt.Errorf("encode login: %w", err)
	}
	if _, err := sqldb.Exec(ctx, tx, `DELETE FROM connections WHERE tenant = $1 AND subject = $2 AND source_id = $3`,
		c.Tenant, c.Subject, c.SourceID); err != nil {
		return 0, err
	}
	return c.Version, sqldb.ExecOne(ctx, tx, insertConnection, c.Tenant, c.Subject, c.SourceID, c.Source, c.Target, c.Issuer, string(login),
		strings.Join(c.Scopes, " "), int64(c.Version), false, c.Refreshable, sealed, micros(c.Expires), "", int64(0),
		sqldb.Micros(c.Created), sqldb.Micros(c.Updated), "")
}

// Want stores which scopes the source wants besides those of this version of the tokens; ErrNotFound if there is another one by now.
func (s *Store) Want(ctx context.Context, c Connection, scopes []string) error {
	return s.db.Write(ctx, func(tx sqldb.Tx) error {
		return one(sqldb.Exec(ctx, tx, `UPDATE connections SET wanted = $1 WHERE tenant = $2 AND subject = $3 AND source_id = $4 AND version = $5`,
			strings.Join(scopes, " "), c.Tenant, c.Subject, c.SourceID, int64(c.Version)))
	})
}

// Claim makes owner the one that refreshes this version of the tokens until a time; false if another owner does, or has done so.
func (s *Store) Claim(ctx context.Context, c Connection, owner string, until time.Time) (claimed bool, err error) {
	err = s.db.Write(ctx, func(tx sqldb.Tx) error {
		n, err := sqldb.Exec(ctx, tx, `UPDATE connections SET refresh_owner = $1, refresh_until_us = $2
			WHERE tenant = $3 AND subject = $4 AND source_id = $5 AND version = $6 AND NOT ended AND refresh_until_us < $7`,
			owner, sqldb.Micros(until), c.Tenant, c.Subject, c.SourceID, int64(c.Version), sqldb.Micros(s.db.Now()))
		claimed = n == 1
		return err
	})
	return claimed, err
}

// Release ends a claim without new tokens. ended says that the authorization server no longer accepts the connection.
func (s *Store) Release(ctx context.Context, c Connection, owner string, ended bool) error {
	return s.db.Write(ctx, func(tx sqldb.Tx) error {
		_, err := sqldb.Exec(ctx, tx, `UPDATE connections SET refresh_owner = '', refresh_until_us = 0, ended = $1
			WHERE tenant = $2 AND subject = $3 AND source_id = $4 AND version = $5 AND refresh_owner = $6`,
			ended, c.Tenant, c.Subject, c.SourceID, int64(c.Version), owner)
		return err
	})
}

// Refreshed stores new tokens and ends the claim; ErrNotFound if the connection is gone, or the claim is another's.
func (s *Store) Refreshed(ctx context.Context, c Connection, owner string, t Tokens) (Connection, error) {
	err := s.vault.Write(ctx, func(tx sqldb.Tx, seal vault.Seal) error {
		next := c
		next.Version++
		next.Updated, next.Refreshable = s.db.Now(), t.Refresh != ""
		sealed, err := next.seal(t, seal)
		if err != nil {
			return err
		}
		n, err := sqldb.Exec(ctx, tx, `UPDATE connections SET sealed = $1, version = $2, refreshable = $3, expires_us = $4, scopes = $5,
			updated_us = $6, refresh_owner = '', refresh_until_us = 0
			WHERE tenant = $7 AND subject = $8 AND source_id = $9 AND version = $10 AND refresh_owner = $11`,
			sealed, int64(next.Version), next.Refreshable, micros(next.Expires), strings.Join(next.Scopes, " "), sqldb.Micros(next.Updated),
			c.Tenant, c.Subject, c.SourceID, int64(c.Version), owner)
		if err == nil && n == 0 {
			return ErrNotFound
		}
		c = next
		return err
	})
	return c, err
}

// Delete deletes a connection; ErrNotFound.
func (s *Store) Delete(ctx context.Context, k Key) error {
	return s.db.Write(ctx, func(tx sqldb.Tx) error {
		n, err := sqldb.Exec(ctx, tx, `DELETE FROM connections WHERE tenant = $1 AND subject = $2 AND source_id = $3`,
			k.Tenant, k.Subject, k.SourceID)
		if err == nil && n == 0 {
			return ErrNotFound
		}
		return err
	})
}
