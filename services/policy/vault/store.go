package vault

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/windlass-dev/windlass/libs/keyset"
	"github.com/windlass-dev/windlass/libs/sqldb"
)

const columns = `tenant, name, description, version, sealed, set_by, created_us, updated_us`

var insertSecrets = sqldb.Insert("secrets", columns)

// row is a stored secret.
type row struct {
	Secret
	sealed []byte
}

// context binds a value to its secret and version: a ciphertext that is copied to another row cannot be opened there.
func (s Secret) context() string {
	return fmt.Sprintf("version %d of secret %q of tenant %q", s.Version, s.Name, s.Tenant)
}

func scan(from sqldb.Scanner) (r row, err error) {
	var version, created, updated int64
	err = from.Scan(&r.Tenant, &r.Name, &r.Description, &version, &r.sealed, &r.SetBy, &created, &updated)
	r.Version, r.Created, r.Updated = uint32(version), sqldb.Time(created), sqldb.Time(updated)
	return r, err
}

func one(ctx context.Context, q sqldb.Querier, tenant, name string) (row, error) {
	return sqldb.One(ctx, q, scan, `SELECT `+columns+` FROM secrets WHERE tenant = $1 AND name = $2`, tenant, name)
}

// Get describes a secret.
func (v *Vault) Get(ctx context.Context, tenant, name string) (Secret, error) {
	r, err := one(ctx, v.db.Reader(), tenant, name)
	return r.Secret, err
}

// List describes at most limit secrets after a name, ordered by name.
func (v *Vault) List(ctx context.Context, tenant, after string, limit int) ([]Secret, error) {
	rows, err := sqldb.All(ctx, v.db.Reader(), scan,
		`SELECT `+columns+` FROM secrets WHERE tenant = $1 AND name > $2 ORDER BY name LIMIT $3`, tenant, after, limit)
	out := make([]Secret, len(rows))
	for i, r := range rows {
		out[i] = r.Secret
	}
	return out, err
}

// Delete deletes a secret.
func (v *Vault) Delete(ctx context.Context, tenant, name string, also ...Also) error {
	return v.db.Write(ctx, func(tx sqldb.Tx) error {
		n, err := sqldb.Exec(ctx, tx, `DELETE FROM secrets WHERE tenant = $1 AND name = $2`, tenant, name)
		if err == nil && n == 0 {
			return ErrNotFound
		}
		return run(tx, Secret{Tenant: tenant, Name: name}, also, err)
	})
}

// Also is done in the transaction of a change, which fails with it. s is what the change has made of a secret.
type Also func(tx sqldb.Tx, s Secret) error

// run does what belongs to a change, unless that has failed.
func run(tx sqldb.Tx, s Secret, also []Also, err error) error {
	for _, do := range also {
		if err == nil {
			err = do(tx, s)
		}
	}
	return err
}

// wrapped reads the encrypted data keys.
func wrapped(ctx context.Context, q sqldb.Querier) ([]byte, error) {
	return sqldb.One(ctx, q, sqldb.Column[[]byte], `SELECT wrapped FROM vault_keys WHERE id = 1`)
}

// write runs a transaction that holds the lock on the data keys, so that no value is encrypted with a key that a rotation removes.
func (v *Vault) write(ctx context.Context, do func(sqldb.Tx, *keyset.Set) error) error {
	if len(v.masters) == 0 {
		return ErrNoMaster
	}
	return v.db.WriteAlone(ctx, func(tx sqldb.Tx) error { // it may ask a key server
		n, err := sqldb.Exec(ctx, tx, `UPDATE vault_keys SET revision = revision WHERE id = 1`)
		if err == nil && n == 0 {
			err = v.create(ctx, tx)
		}
		if err != nil {
			return err
		}
		w, err := wrapped(ctx, tx)
		if err != nil {
			return err
		}
		keys, err := v.unwrap(w)
		if err != nil {
			return err
		}
		return do(tx, keys)
	})
}

// create stores the first data key, unless another replica is faster: its row is locked then.
func (v *Vault) create(ctx context.Context, tx sqldb.Tx) error {
	keys, err := keyset.Generate()
	if err != nil {
		return err
	}
	sealed, err := keys.Wrap(v.masters[0], wrapContext)
	if err != nil {
		return err
	}
	_, err = sqldb.Exec(ctx, tx, `INSERT INTO vault_keys (id, wrapped, revision, updated_us) VALUES (1, $1, 1, $2) ON CONFLICT (id) DO NOTHING`,
		sealed, sqldb.Micros(v.db.Now()))
	if err != nil {
		return err
	}
	_, err = sqldb.Exec(ctx, tx, `UPDATE vault_keys SET revision = revision WHERE id = 1`)
	return err
}

// save stores other data keys.
func (v *Vault) save(ctx context.Context, tx sqldb.Tx, keys *keyset.Set) error {
	sealed, err := keys.Wrap(v.masters[0], wrapContext)
	if err != nil {
		return err
	}
	return sqldb.ExecOne(ctx, tx, `UPDATE vault_keys SET wrapped = $1, revision = revision + 1, updated_us = $2 WHERE id = 1`,
		sealed, sqldb.Micros(v.db.Now()))
}

// unwrap decrypts data keys. The cache is of exactly these bytes: they may be of a transaction that is rolled back. Nothing is locked
// while a master key is used, which may be far away: readers go on with the keys that they have.
func (v *Vault) unwrap(w []byte) (*keyset.Set, error) {
	v.mu.Lock()
	keys, of := v.keys, v.wrapped
	v.mu.Unlock()
	if keys != nil && bytes.Equal(of, w) {
		return keys, nil
	}
	var away error
	for _, m := range v.masters {
		keys, err := keyset.Unwrap(w, m, wrapContext)
		if err == nil {
			v.mu.Lock()
			v.keys, v.wrapped = keys, w
			v.mu.Unlock()
			return keys, nil
		}
		if errors.Is(err, keyset.ErrAway) {
			away = err
		}
	}
	if away != nil {
		return nil, away
	}
	return nil, errors.New("no master key decrypts the data keys of the vault: add the previous one to policy.vault.old_master_keys, or to " +
		"policy.vault.old_kms")
}
