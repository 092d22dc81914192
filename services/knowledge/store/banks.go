package store

import (
	"context"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// Bank is a named set of documents.
type Bank struct {
	// Tenant and ID name it; Subject created it.
	Tenant, ID, Subject string
	// DisplayName and Description are for people and models.
	DisplayName, Description string
	// Documents and Chunks count what searches find, and Length the words of all these chunks.
	Documents, Chunks, Length int64
	// Paused banks ingest nothing.
	Paused bool
	// CreateTime and UpdateTime are of the bank itself, whatever becomes of its documents.
	CreateTime, UpdateTime time.Time
}

// bankRows are the banks.
type bankRows struct{ base }

const bankColumns = "tenant, id, display_name, description, subject, documents, chunks, length, create_us, update_us, paused"

var insertBanks = sqldb.Insert("banks", bankColumns)

func scanBank(s sqldb.Scanner) (b Bank, err error) {
	var paused int
	err = s.Scan(&b.Tenant, &b.ID, &b.DisplayName, &b.Description, &b.Subject, &b.Documents, &b.Chunks, &b.Length,
		sqldb.TimeColumn(&b.CreateTime), sqldb.TimeColumn(&b.UpdateTime), &paused)
	b.Paused = paused != 0
	return b, err
}

// CreateBank adds a bank without documents. ErrExists if its id is taken, ErrTooMany if the tenant has limit banks.
func (s bankRows) CreateBank(ctx context.Context, b Bank, limit int) error {
	err := s.db.Write(ctx, func(tx sqldb.Tx) error {
		n, err := sqldb.One(ctx, tx, sqldb.Column[int], "SELECT count(*) FROM banks WHERE tenant = $1", b.Tenant)
		if err != nil {
			return err
		}
		known, err := sqldb.One(ctx, tx, sqldb.Column[int], "SELECT count(*) FROM banks WHERE tenant = $1 AND id = $2", b.Tenant, b.ID)
		switch {
		case err != nil:
			return err
		case known > 0:
			return ErrExists
		case n >= limit:
			return ErrTooMany
		}
		return sqldb.ExecOne(ctx, tx, insertBanks, b.Tenant, b.ID, b.DisplayName, b.Description, b.Subject, 0, 0, 0,
			sqldb.Micros(b.CreateTime), sqldb.Micros(b.UpdateTime), 0)
	})
	if sqldb.IsUnique(err) {
		err = ErrExists
	}
	if err != nil {
		return fmt.Errorf("bank %q: %w", b.ID, err)
	}
	return nil
}

// Bank reads a bank; ErrNotFound.
func (s bankRows) Bank(ctx context.Context, tenant, id string) (Bank, error) {
	return sqldb.One(ctx, s.db.Reader(), scanBank, "SELECT "+bankColumns+" FROM banks WHERE tenant = $1 AND id = $2", tenant, id)
}

// Banks returns at most limit banks of a tenant whose id is after the given one, by id.
func (s bankRows) Banks(ctx context.Context, tenant, after string, limit int) ([]Bank, error) {
	return sqldb.All(ctx, s.db.Reader(), scanBank, "SELECT "+bankColumns+` FROM banks
		WHERE tenant = $1 AND id > $2 ORDER BY id LIMIT $3`, tenant, after, limit)
}

// UpdateBank stores names, description and update time of a bank after change has modified it; ErrNotFound, or change's error.
func (s bankRows) UpdateBank(ctx context.Context, tenant, id string, change func(*Bank) error) (b Bank, err error) {
	err = s.db.Write(ctx, func(tx sqldb.Tx) (err error) {
		if b, err = lockBank(ctx, s.db, tx, tenant, id); err != nil {
			return err
		}
		if err := change(&b); err != nil {
			return err
		}
		return sqldb.ExecOne(ctx, tx, "UPDATE banks SET display_name = $3, description = $4, update_us = $5 WHERE tenant = $1 AND id = $2",
			tenant, id, b.DisplayName, b.Description, sqldb.Micros(b.UpdateTime))
	})
	return b, err
}

// PauseBank keeps documents of a bank from being ingested and its sources from being synced, or lets them again; ErrNotFound.
func (s bankRows) PauseBank(ctx context.Context, tenant, id string, paused bool) (b Bank, err error) {
	err = s.db.Write(ctx, func(tx sqldb.Tx) (err error) {
		if b, err = lockBank(ctx, s.db, tx, tenant, id); err != nil || b.Paused == paused {
			return err
		}
		b.Paused = paused
		return sqldb.ExecOne(ctx, tx, "UPDATE banks SET paused = $3 WHERE tenant = $1 AND id = $2", tenant, id, flag(paused))
	})
	return b, err
}

// Counts returns how many documents of a bank are in each state.
func (s bankRows) Counts(ctx context.Context, tenant, id string) (map[State]int64, error) {
	type count struct {
		state State
		n     int64
	}
	rows, err := sqldb.All(ctx, s.db.Reader(), func(row sqldb.Scanner) (c count, err error) {
		err = row.Scan(&c.state, &c.n)
		return c, err
	}, "SELECT state, count(*) FROM documents WHERE tenant = $1 AND bank = $2 GROUP BY state", tenant, id)
	if err != nil {
		return nil, err
	}
	out := map[State]int64{}
	for _, c := range rows {
		out[c.state] = c.n
	}
	return out, nil
}

// DeleteBank deletes a bank with all that belongs to it; ErrNotFound.
func (s bankRows) DeleteBank(ctx context.Context, tenant, id string) error {
	return s.db.WriteAlone(ctx, func(tx sqldb.Tx) error {
		if _, err := lockBank(ctx, s.db, tx, tenant, id); err != nil {
			return err
		}
		for _, statement := range []string{
			"DELETE FROM chunk_vectors WHERE tenant = $1 AND bank = $2",
			"DELETE FROM bank_spaces WHERE tenant = $1 AND bank = $2",
			"DELETE FROM chunks WHERE tenant = $1 AND bank = $2",
			"DELETE FROM terms WHERE tenant = $1 AND bank = $2",
			"DELETE FROM document_labels WHERE tenant = $1 AND bank = $2",
			"DELETE FROM document_attributes WHERE tenant = $1 AND bank = $2",
			`UPDATE document_blobs SET refs = refs - (SELECT count(*) FROM document_versions v
				WHERE v.tenant = $1 AND v.bank = $2 AND v.sha256 = document_blobs.sha256)
				WHERE tenant = $1 AND sha256 IN (SELECT sha256 FROM document_versions WHERE tenant = $1 AND bank = $2)`,
			`DELETE FROM document_blobs WHERE tenant = $1 AND refs <= 0
				AND sha256 IN (SELECT sha256 FROM document_versions WHERE tenant = $1 AND bank = $2)`,
			"DELETE FROM document_versions WHERE tenant = $1 AND bank = $2",
			"DELETE FROM documents WHERE tenant = $1 AND bank = $2",
			"DELETE FROM source_items WHERE tenant = $1 AND bank = $2",
			"DELETE FROM bank_sources WHERE tenant = $1 AND bank = $2",
			"DELETE FROM banks WHERE tenant = $1 AND id = $2",
		} {
			if _, err := sqldb.Exec(ctx, tx, statement, tenant, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// lockBank reads a bank and keeps other transactions from changing it or its documents; ErrNotFound.
func lockBank(ctx context.Context, db *sqldb.DB, tx sqldb.Tx, tenant, id string) (Bank, error) {
	return sqldb.One(ctx, tx, scanBank, "SELECT "+bankColumns+" FROM banks WHERE tenant = $1 AND id = $2"+db.ForUpdate(), tenant, id)
}
