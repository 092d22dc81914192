// Package vault stores secrets encrypted: their values under data keys, and the data keys under a master key that is not in the database.
package vault

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/keyset"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/sqldb"
)

var (
	// ErrNotFound means that the tenant has no such secret.
	ErrNotFound = sqldb.ErrNotFound
	// ErrExists means that the name is taken.
	ErrExists = errors.New("the tenant has a secret of this name")
	// ErrFull means that the tenant has too many secrets.
	ErrFull = errors.New("the tenant has too many secrets")
	// ErrNoMaster means that no master key is configured.
	ErrNoMaster = errors.New("no master key is configured")
)

const (
	// MaxSecrets is how many secrets a tenant may have.
	MaxSecrets = 1000
	// maxReads is how often a value is read again whose key is not known: each time the keys may have been rotated between the reads of both.
	maxReads = 10
	// wrapContext binds the wrapped data keys to their use.
	wrapContext = "windlass vault data keys"
)

// Secret is a stored secret without its value.
type Secret struct {
	// Tenant and Name identify it.
	Tenant, Name string
	// Description is for display, SetBy the subject that set the value.
	Description, SetBy string
	// Version counts the values.
	Version uint32
	// Created and Updated are the times of the first and the present value.
	Created, Updated time.Time
}

// Vault stores secrets. Several may use one database at the same time. It is safe for concurrent use.
type Vault struct {
	db      *sqldb.DB
	masters []keyset.Master // the newest first

	others []Table

	mu      sync.Mutex
	keys    *keyset.Set
	wrapped []byte // what keys were unwrapped from
}

// Again decrypts a value and encrypts it for the same context with the newest data key.
type Again func(sealed []byte, context string) ([]byte, error)

// Table is another table with values that the vault encrypted.
type Table interface {
	// Reseal replaces each value with what again returns, in the transaction, and returns how many there are.
	Reseal(ctx context.Context, tx sqldb.Tx, again Again) (int, error)
}

// Include makes Rotate replace the values of another table too. It is called before the vault is used.
func (v *Vault) Include(t Table) { v.others = append(v.others, t) }

// Seal encrypts a value.
type Seal func(plain []byte, context string) ([]byte, error)

// Write runs a transaction that stores values in another table. A rotation of the keys waits for it.
func (v *Vault) Write(ctx context.Context, do func(tx sqldb.Tx, seal Seal) error) error {
	return v.write(ctx, func(tx sqldb.Tx, keys *keyset.Set) error { return do(tx, keys.Seal) })
}

// Open decrypts a value of another table. read returns its ciphertext, and is called again if the keys were rotated meanwhile.
func (v *Vault) Open(ctx context.Context, read func(context.Context) (sealed []byte, context string, err error)) ([]byte, error) {
	if len(v.masters) == 0 {
		return nil, ErrNoMaster
	}
	for attempt := 0; ; attempt++ {
		sealed, where, err := read(ctx)
		if err != nil {
			return nil, err
		}
		v.mu.Lock()
		keys := v.keys
		v.mu.Unlock()
		if keys != nil {
			plain, err := keys.Open(sealed, where)
			if !errors.Is(err, keyset.ErrUnknownKey) || attempt == maxReads {
				return plain, err
			}
		}
		w, err := wrapped(ctx, v.db.Reader())
		if err != nil {
			return nil, err
		}
		if _, err := v.unwrap(w); err != nil {
			return nil, err
		}
	}
}

// New returns a vault. The newest master key encrypts the data keys, the older ones only decrypt them. Without any, all methods but List,
// Get and Delete return ErrNoMaster.
func New(db *sqldb.DB, masters ...keyset.Master) *Vault { return &Vault{db: db, masters: masters} }

// Check reads the data keys, and encrypts them with the newest master key if they are not. It does nothing without a master key.
func (v *Vault) Check(ctx context.Context) error {
	if len(v.masters) == 0 {
		return nil
	}
	return v.write(ctx, func(tx sqldb.Tx, keys *keyset.Set) error {
		w, err := wrapped(ctx, tx)
		if err != nil {
			return err
		}
		_, err = keyset.Unwrap(w, v.masters[0], wrapContext)
		if err == nil || errors.Is(err, keyset.ErrAway) {
			return err
		}
		return v.save(ctx, tx, keys)
	})
}

// Create stores a new secret.
func (v *Vault) Create(ctx context.Context, s Secret, value secret.Value, also ...Also) (Secret, error) {
	err := v.write(ctx, func(tx sqldb.Tx, keys *keyset.Set) error {
		n, err := sqldb.One(ctx, tx, sqldb.Column[int64], `SELECT count(*) FROM secrets WHERE tenant = $1`, s.Tenant)
		if err != nil {
			return err
		}
		if n >= MaxSecrets {
			return ErrFull
		}
		s.Version, s.Created = 1, v.db.Now()
		s.Updated = s.Created
		sealed, err := keys.Seal([]byte(value.Reveal()), s.context())
		if err != nil {
			return err
		}
		err = sqldb.ExecOne(ctx, tx, insertSecrets, s.Tenant, s.Name, s.Description, int64(s.Version), sealed, s.SetBy,
			sqldb.Micros(s.Created), sqldb.Micros(s.Updated))
		if sqldb.IsUnique(err) {
			return ErrExists
		}
		return run(tx, s, also, err)
	})
	return s, err
}

// Update replaces the value of a secret. An empty description leaves the present one.
func (v *Vault) Update(ctx context.Context, s Secret, value secret.Value, also ...Also) (out Secret, err error) {
	err = v.write(ctx, func(tx sqldb.Tx, keys *keyset.Set) error {
		have, err := one(ctx, tx, s.Tenant, s.Name)
		if err != nil {
			return err
		}
		out = have.Secret
		out.Version, out.SetBy, out.Updated = out.Version+1, s.SetBy, v.db.Now()
		if s.Description != "" {
			out.Description = s.Description
		}
		sealed, err := keys.Seal([]byte(value.Reveal()), out.context())
		if err != nil {
			return err
		}
		err = sqldb.ExecOne(ctx, tx, `UPDATE secrets SET description = $1, version = $2, sealed = $3, set_by = $4, updated_us = $5
			WHERE tenant = $6 AND name = $7`, out.Description, int64(out.Version), sealed, out.SetBy, sqldb.Micros(out.Updated), s.Tenant, s.Name)
		return run(tx, out, also, err)
	})
	return out, err
}

// Value returns the value of a secret.
func (v *Vault) Value(ctx context.Context, tenant, name string) (secret.Value, Secret, error) {
	var row row
	plain, err := v.Open(ctx, func(ctx context.Context) (_ []byte, _ string, err error) {
		row, err = one(ctx, v.db.Reader(), tenant, name)
		return row.sealed, row.context(), err
	})
	switch {
	case errors.Is(err, ErrNotFound):
		return secret.Value{}, Secret{}, err
	case err != nil:
		return secret.Value{}, Secret{}, fmt.Errorf("secret %q: %w", name, err)
	}
	return secret.New(string(plain)), row.Secret, nil
}

// Rotate makes a new data key, encrypts all values with it, and removes the other data keys. It returns how many values there are, and the
// id of the key.
func (v *Vault) Rotate(ctx context.Context, also ...func(tx sqldb.Tx, keyID string) error) (n int, keyID string, err error) {
	err = v.write(ctx, func(tx sqldb.Tx, keys *keyset.Set) error {
		both, err := keys.Rotate()
		if err != nil {
			return err
		}
		rows, err := sqldb.All(ctx, tx, scan, `SELECT `+columns+` FROM secrets ORDER BY tenant, name`)
		if err != nil {
			return err
		}
		for _, r := range rows {
			sealed, err := resealer(both)(r.sealed, r.context())
			if err != nil {
				return fmt.Errorf("secret %q of tenant %q: %w", r.Name, r.Tenant, err)
			}
			if err := sqldb.ExecOne(ctx, tx, `UPDATE secrets SET sealed = $1 WHERE tenant = $2 AND name = $3`,
				sealed, r.Tenant, r.Name); err != nil {
				return err
			}
		}
		n = len(rows)
		for _, t := range v.others {
			more, err := t.Reseal(ctx, tx, resealer(both))
			if err != nil {
				return err
			}
			n += more
		}
		only, err := both.OnlyPrimary()
		if err != nil {
			return err
		}
		keyID = only.PrimaryID()
		err = v.save(ctx, tx, only)
		for _, do := range also {
			if err == nil {
				err = do(tx, keyID)
			}
		}
		return err
	})
	return n, keyID, err
}

func resealer(keys *keyset.Set) Again {
	return func(sealed []byte, context string) ([]byte, error) {
		plain, err := keys.Open(sealed, context)
		if err != nil {
			return nil, err
		}
		return keys.Seal(plain, context)
	}
}
