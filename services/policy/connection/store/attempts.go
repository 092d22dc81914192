package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/policy/vault"
)

// Stages of an attempt.
const (
	Begun     = "begun"
	Consented = "consented"
	Redeeming = "redeeming"
	Connected = "connected"
	Failed    = "failed"
)

const (
	// maxOpen is how many attempts of a user may be open.
	maxOpen = 20
	// kept is how long an expired attempt can be read.
	kept = time.Hour
)

// Attempt is an attempt to connect a source.
type Attempt struct {
	// ID identifies it.
	ID string
	Key
	// Source is the source's name, Target the digest of where it is.
	Source, Target string
	// Login is how the user logs in.
	Login Login
	// Stage is one of those above, Error why it failed.
	Stage, Error string
	// Ticket, Consent, State and Binding are hashes of the secrets of the attempt: that of its address, that of the consent page, the state,
	// and that of the browser.
	Ticket, Consent, State, Binding string
	// Created and Expires bound it in time.
	Created, Expires time.Time

	sealed []byte
}

// context binds the verifier to the attempt.
func (a Attempt) context() string { return fmt.Sprintf("verifier of connection attempt %q", a.ID) }

const attemptColumns = `id, tenant, subject, source_id, source, target, login, stage, error, ticket, consent, state, binding, sealed, ` +
	`created_us, expires_us`

var insertAttempt = sqldb.Insert("connection_attempts", attemptColumns)

func scanAttempt(from sqldb.Scanner) (a Attempt, err error) {
	var created, expires int64
	var login string
	err = from.Scan(&a.ID, &a.Tenant, &a.Subject, &a.SourceID, &a.Source, &a.Target, &login, &a.Stage, &a.Error, &a.Ticket, &a.Consent,
		&a.State, &a.Binding, &a.sealed, &created, &expires)
	if err != nil {
		return a, err
	}
	a.Created, a.Expires = sqldb.Time(created), sqldb.Time(expires)
	return a, json.Unmarshal([]byte(login), &a.Login)
}

// Begin stores a new attempt, and removes those that expired long ago; ErrFull.
func (s *Store) Begin(ctx context.Context, a Attempt) error {
	login, err := json.Marshal(a.Login)
	if err != nil {
		return fmt.Errorf("encode login: %w", err)
	}
	return s.db.Write(ctx, func(tx sqldb.Tx) error {
		if _, err := sqldb.Exec(ctx, tx, `DELETE FROM connection_attempts WHERE expires_us < $1`,
			sqldb.Micros(a.Created.Add(-kept))); err != nil {
			return err
		}
		n, err := sqldb.One(ctx, tx, sqldb.Column[int64], `SELECT count(*) FROM connection_attempts
			WHERE tenant = $1 AND subject = $2 AND expires_us > $3 AND stage IN ('begun', 'consented')`,
			a.Tenant, a.Subject, sqldb.Micros(a.Created))
		if err != nil {
			return err
		}
		if n >= maxOpen {
			return ErrFull
		}
		return sqldb.ExecOne(ctx, tx, insertAttempt, a.ID, a.Tenant, a.Subject, a.SourceID, a.Source, a.Target, string(login), Begun, "",
			a.Ticket, "", "", "", []byte{}, sqldb.Micros(a.Created), sqldb.Micros(a.Expires))
	})
}

// Attempt reads an attempt of a user; ErrNotFound.
func (s *Store) Attempt(ctx context.Context, tenant, subject, id string) (Attempt, error) {
	return sqldb.One(ctx, s.db.Reader(), scanAttempt,
		`SELECT `+attemptColumns+` FROM connection_attempts WHERE id = $1 AND tenant = $2 AND subject = $3`, id, tenant, subject)
}

// Ticket reads an attempt whose user has not decided yet, and that has not expired; ErrNotFound.
func (s *Store) Ticket(ctx context.Context, hash string) (Attempt, error) {
	return sqldb.One(ctx, s.db.Reader(), scanAttempt,
		`SELECT `+attemptColumns+` FROM connection_attempts WHERE ticket = $1 AND stage = 'begun' AND expires_us > $2`,
		hash, sqldb.Micros(s.db.Now()))
}

// Shown records which consent page was shown last; ErrNotFound if the user has decided.
func (s *Store) Shown(ctx context.Context, a Attempt, consent string) error {
	return s.db.Write(ctx, func(tx sqldb.Tx) error {
		return one(sqldb.Exec(ctx, tx, `UPDATE connection_attempts SET consent = $1 WHERE id = $2 AND stage = 'begun' AND expires_us > $3`,
			consent, a.ID, sqldb.Micros(s.db.Now())))
	})
}

// Consent records the user's consent with hashes of the state and of the browser's secret, and the verifier; ErrNotFound if the user has
// decided, or another page was shown since.
func (s *Store) Consent(ctx context.Context, a Attempt, state, binding, verifier string) error {
	return s.vault.Write(ctx, func(tx sqldb.Tx, seal vault.Seal) error {
		sealed, err := seal([]byte(verifier), a.context())
		if err != nil {
			return err
		}
		return one(sqldb.Exec(ctx, tx, `UPDATE connection_attempts SET stage = 'consented', state = $1, binding = $2, sealed = $3
			WHERE id = $4 AND stage = 'begun' AND consent = $5 AND consent <> '' AND expires_us > $6`,
			state, binding, sealed, a.ID, a.Consent, sqldb.Micros(s.db.Now())))
	})
}

// State reads an attempt with the user's consent that has not expired, by the hash of its state; ErrNotFound.
func (s *Store) State(ctx context.Context, hash string) (Attempt, error) {
	return sqldb.One(ctx, s.db.Reader(), scanAttempt,
		`SELECT `+attemptColumns+` FROM connection_attempts WHERE state = $1 AND state <> '' AND stage = 'consented' AND expires_us > $2`,
		hash, sqldb.Micros(s.db.Now()))
}

// Redeem uses the state of an attempt up, and returns the verifier; ErrNotFound if that was done before.
func (s *Store) Redeem(ctx context.Context, a Attempt) (verifier string, err error) {
	plain, err := s.vault.Open(ctx, func(ctx context.Context) ([]byte, string, error) {
		now, err := s.State(ctx, a.State)
		return now.sealed, now.context(), err
	})
	if err != nil {
		return "", err
	}
	return string(plain), s.move(ctx, a, Consented, Redeeming, "")
}

// Connect stores the connection of an attempt that is being redeemed.
func (s *Store) Connect(ctx context.Context, a Attempt, c Connection, t Tokens) (version uint32, err error) {
	err = s.vault.Write(ctx, func(tx sqldb.Tx, seal vault.Seal) (err error) {
		if err := moveIn(ctx, tx, a, Redeeming, Connected, ""); err != nil {
			return err
		}
		version, err = put(ctx, tx, seal, c, t)
		return err
	})
	return version, err
}

// Fail ends an attempt at a stage; ErrNotFound if it is at another one.
func (s *Store) Fail(ctx context.Context, a Attempt, stage, why string) error {
	return s.move(ctx, a, stage, Failed, why)
}

func (s *Store) move(ctx context.Context, a Attempt, from, to, why string) error {
	return s.db.Write(ctx, func(tx sqldb.Tx) error { return moveIn(ctx, tx, a, from, to, why) })
}

func moveIn(ctx context.Context, tx sqldb.Tx, a Attempt, from, to, why string) error {
	return one(sqldb.Exec(ctx, tx, `UPDATE connection_attempts SET stage = $1, error = $2 WHERE id = $3 AND stage = $4`, to, why, a.ID, from))
}

// one turns a change of no row into ErrNotFound.
func one(n int64, err error) error {
	if err == nil && n == 0 {
		return ErrNotFound
	}
	return err
}

// Client is a client that registered itself.
type Client struct {
	// Tenant, Issuer and Redirect identify it.
	Tenant, Issuer, Redirect string
	// ID is its client_id, Method how it authenticates at the token endpoint.
	ID, Method string

	sealed []byte
}

func (c Client) context() string {
	return fmt.Sprintf("secret of client %q at %q for %q of tenant %q", c.ID, c.Issuer, c.Redirect, c.Tenant)
}

const clientColumns = `tenant, issuer, redirect, client_id, sealed, created_us, method`

func scanClient(from sqldb.Scanner) (c Client, err error) {
	var created int64
	err = from.Scan(&c.Tenant, &c.Issuer, &c.Redirect, &c.ID, &c.sealed, &created, &c.Method)
	return c, err
}

// Client reads the registered client of a tenant with its secret, which may be empty; ErrNotFound.
func (s *Store) Client(ctx context.Context, tenant, issuer, redirect string) (c Client, secret string, err error) {
	plain, err := s.vault.Open(ctx, func(ctx context.Context) (_ []byte, _ string, err error) {
		c, err = sqldb.One(ctx, s.db.Reader(), scanClient,
			`SELECT `+clientColumns+` FROM connection_clients WHERE tenant = $1 AND issuer = $2 AND redirect = $3`, tenant, issuer, redirect)
		return c.sealed, c.context(), err
	})
	return c, string(plain), err
}

// AddClient stores a registered client, unless another replica was faster.
func (s *Store) AddClient(ctx context.Context, c Client, secret string) error {
	return s.vault.Write(ctx, func(tx sqldb.Tx, seal vault.Seal) error {
		sealed, err := seal([]byte(secret), c.context())
		if err != nil {
			return err
		}
		_, err = sqldb.Exec(ctx, tx, sqldb.Insert("connection_clients", clientColumns)+` ON CONFLICT (tenant, issuer, redirect) DO NOTHING`,
			c.Tenant, c.Issuer, c.Redirect, c.ID, sealed, sqldb.Micros(s.db.Now()), c.Method)
		return err
	})
}

// DeleteClient deletes a registered client, unless another one has taken its place.
func (s *Store) DeleteClient(ctx context.Context, c Client) error {
	return s.db.Write(ctx, func(tx sqldb.Tx) error {
		_, err := sqldb.Exec(ctx, tx, `DELETE FROM connection_clients WHERE tenant = $1 AND issuer = $2 AND redirect = $3 AND client_id = $4`,
			c.Tenant, c.Issuer, c.Redirect, c.ID)
		return err
	})
}

// Reseal implements vault.Table.
func (s *Store) Reseal(ctx context.Context, tx sqldb.Tx, again vault.Again) (int, error) {
	connections, err := sqldb.All(ctx, tx, scan, `SELECT `+columns+` FROM connections ORDER BY tenant, subject, source_id`)
	if err != nil {
		return 0, err
	}
	for _, c := range connections {
		sealed, err := again(c.sealed, c.context())
		if err == nil {
			err = sqldb.ExecOne(ctx, tx, `UPDATE connections SET sealed = $1 WHERE tenant = $2 AND subject = $3 AND source_id = $4`,
				sealed, c.Tenant, c.Subject, c.SourceID)
		}
		if err != nil {
			return 0, fmt.Errorf("connection of %q to %q: %w", c.Subject, c.Source, err)
		}
	}
	clients, err := sqldb.All(ctx, tx, scanClient, `SELECT `+clientColumns+` FROM connection_clients ORDER BY tenant, issuer, redirect`)
	if err != nil {
		return 0, err
	}
	for _, c := range clients {
		sealed, err := again(c.sealed, c.context())
		if err == nil {
			err = sqldb.ExecOne(ctx, tx, `UPDATE connection_clients SET sealed = $1 WHERE tenant = $2 AND issuer = $3 AND redirect = $4`,
				sealed, c.Tenant, c.Issuer, c.Redirect)
		}
		if err != nil {
			return 0, fmt.Errorf("client at %q: %w", c.Issuer, err)
		}
	}
	return len(connections) + len(clients), s.resealAttempts(ctx, tx, again)
}

// resealAttempts replaces the verifiers of open attempts.
func (s *Store) resealAttempts(ctx context.Context, tx sqldb.Tx, again vault.Again) error {
	open, err := sqldb.All(ctx, tx, scanAttempt, `SELECT `+attemptColumns+` FROM connection_attempts WHERE expires_us > $1 AND stage = 'consented'`,
		sqldb.Micros(s.db.Now()))
	if err != nil {
		return err
	}
	var failed error
	for _, a := range open {
		sealed, err := again(a.sealed, a.context())
		if err == nil {
			err = sqldb.ExecOne(ctx, tx, `UPDATE connection_attempts SET sealed = $1 WHERE id = $2`, sealed, a.ID)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}
