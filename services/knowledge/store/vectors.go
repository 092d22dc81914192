package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// Space is an embedding model with the length of its vectors. Vectors of different spaces are never compared.
type Space struct {
	// ID identifies the space in the database.
	ID int64
	// Model is "provider/model".
	Model string
	// Dimensions is the length of its vectors.
	Dimensions int
}

func scanSpace(row sqldb.Scanner) (s Space, err error) {
	err = row.Scan(&s.ID, &s.Model, &s.Dimensions)
	return s, err
}

// vectorRows are vectors of chunks.
type vectorRows struct{ base }

// Space returns the newest space of a model whose vectors have the given length, 0 = any; ErrNotFound.
func (s vectorRows) Space(ctx context.Context, model string, dimensions int) (Space, error) {
	return sqldb.One(ctx, s.db.Reader(), scanSpace, `SELECT id, model, dimensions FROM spaces
		WHERE model = $1 AND ($2 = 0 OR dimensions = $2) ORDER BY id DESC LIMIT 1`, model, dimensions)
}

// AddSpace returns the space of a model and a length, and makes it if there is none.
func (s vectorRows) AddSpace(ctx context.Context, model string, dimensions int) (out Space, err error) {
	err = s.db.Write(ctx, func(tx sqldb.Tx) (err error) {
		if _, err = sqldb.Exec(ctx, tx, `INSERT INTO spaces (model, dimensions) VALUES ($1, $2) ON CONFLICT (model, dimensions) DO NOTHING`,
			model, dimensions); err != nil {
			return err
		}
		out, err = sqldb.One(ctx, tx, scanSpace, "SELECT id, model, dimensions FROM spaces WHERE model = $1 AND dimensions = $2", model,
			dimensions)
		return err
	})
	return out, err
}

// BankKey names a bank.
type BankKey struct {
	// Tenant has it; Bank is its id.
	Tenant, Bank string
}

// Unfilled returns at most limit banks after the given one, in their order, that lack vectors in a space, do not use it yet, or still have
// vectors in another one.
func (s vectorRows) Unfilled(ctx context.Context, space int64, after BankKey, limit int) ([]BankKey, error) {
	scan := func(row sqldb.Scanner) (k BankKey, err error) {
		err = row.Scan(&k.Tenant, &k.Bank)
		return k, err
	}
	return sqldb.All(ctx, s.db.Reader(), scan, `SELECT b.tenant, b.id FROM banks b
		LEFT JOIN bank_spaces s ON s.tenant = b.tenant AND s.bank = b.id AND s.space = $1
		WHERE (b.tenant > $2 OR b.tenant = $2 AND b.id > $3) AND b.chunks > 0 AND (s.vectors IS NULL OR s.vectors < b.chunks OR NOT s.live
			OR EXISTS (SELECT 1 FROM bank_spaces o WHERE o.tenant = b.tenant AND o.bank = b.id AND o.space <> $1))
		ORDER BY b.tenant, b.id LIMIT $4`, space, after.Tenant, after.Bank, limit)
}

// Filler is who makes the vectors of a bank in a space.
type Filler struct {
	BankKey
	// Space is the id of the space.
	Space int64
	// Owner is a process; its lease is Lease long from each call on.
	Owner string
	Lease time.Duration
}

// Claim leases the vectors of a bank in a space to a process, and reports whether it has the lease: another one may have it, or the bank
// may be gone.
func (s vectorRows) Claim(ctx context.Context, f Filler) (claimed bool, err error) {
	err = s.db.Write(ctx, func(tx sqldb.Tx) error {
		claimed = false
		if _, err := lockBank(ctx, s.db, tx, f.Tenant, f.Bank); errors.Is(err, ErrNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		if _, err := sqldb.Exec(ctx, tx, `INSERT INTO bank_spaces (tenant, bank, space, vectors, live, owner, lease_us)
			VALUES ($1, $2, $3, 0, $4, '', 0) ON CONFLICT (tenant, bank, space) DO NOTHING`, f.Tenant, f.Bank, f.Space, false); err != nil {
			return err
		}
		claimed, err = s.extend(ctx, tx, f, true)
		return err
	})
	return claimed, err
}

// extend extends a lease, and reports whether the process has it. It takes one that ended only if take is set.
func (s vectorRows) extend(ctx context.Context, tx sqldb.Tx, f Filler, take bool) (bool, error) {
	now := s.db.Now()
	n, err := sqldb.Exec(ctx, tx, `UPDATE bank_spaces SET owner = $4, lease_us = $5 WHERE tenant = $1 AND bank = $2 AND space = $3
		AND (owner = $4 OR ($6 AND lease_us < $7))`, f.Tenant, f.Bank, f.Space, f.Owner, sqldb.Micros(now.Add(f.Lease)), take,
		sqldb.Micros(now))
	return n == 1, err
}

// Release ends the lease of a process, if it has it.
func (s vectorRows) Release(ctx context.Context, f Filler) error {
	return s.db.Write(ctx, func(tx sqldb.Tx) error {
		_, err := sqldb.Exec(ctx, tx, `UPDATE bank_spaces SET owner = '', lease_us = 0
			WHERE tenant = $1 AND bank = $2 AND space = $3 AND owner = $4`, f.Tenant, f.Bank, f.Space, f.Owner)
		return err
	})
}

// Unembedded is a chunk without a vector.
type Unembedded struct {
	// Chunk identifies it in the database.
	Chunk int64
	// Heading has the headings over it, and Text is its text.
	Heading []string
	Text    string
}

// Unembedded returns at most limit chunks of a bank after the given one that have no vector in a space, in the order of their ids.
func (s vectorRows) Unembedded(ctx context.Context, f Filler, after int64, limit int) ([]Unembedded, error) {
	scan := func(row sqldb.Scanner) (u Unembedded, err error) {
		var heading, text []byte
		if err := row.Scan(&u.Chunk, &heading, &text); err != nil {
			return u, err
		}
		if err := json.Unmarshal(heading, &u.Heading); err != nil {
			return u, fmt.Errorf("decode heading of chunk %d: %w", u.Chunk, err)
		}
		u.Text = string(text)
		return u, nil
	}
	return sqldb.All(ctx, s.db.Reader(), scan, `SELECT c.id, c.heading,
			substr(v.text, CAST(c.start_byte + 1 AS INTEGER), CAST(c.end_byte - c.start_byte AS INTEGER))
		FROM chunks c JOIN document_versions v ON v.tenant = c.tenant AND v.id = c.version
		WHERE c.tenant = $1 AND c.bank = $2 AND c.id > $4
			AND NOT EXISTS (SELECT 1 FROM chunk_vectors e WHERE e.chunk = c.id AND e.space = $3)
		ORDER BY c.id LIMIT $5`, f.Tenant, f.Bank, f.Space, after, limit)
}

// Vector is the vector of a chunk.
type Vector struct {
	// Chunk identifies the chunk in the database.
	Chunk int64
	// Hash is that of the text that was embedded.
	Hash string
	// Vector has the numbers, Code their code; both are empty if there is no direction.
	Code, Vector []byte
}

// StoreVectors stores vectors of chunks that still exist, and extends the lease. Those that a chunk has already stay. ErrState if another
// process has the lease, ErrNotFound if the bank is gone.
func (s vectorRows) StoreVectors(ctx context.Context, f Filler, vectors []Vector) error {
	return s.db.Write(ctx, func(tx sqldb.Tx) error {
		if _, err := lockBank(ctx, s.db, tx, f.Tenant, f.Bank); err != nil {
			return err
		}
		switch ours, err := s.extend(ctx, tx, f, false); {
		case err != nil:
			return err
		case !ours:
			return ErrState
		}
		n, err := insertVectors(ctx, tx, f, vectors)
		if err != nil {
			return err
		}
		return countVectors(ctx, tx, f.BankKey, f.Space, n)
	})
}

var chunkVectors = sqldb.NewInserts("chunk_vectors", "tenant, bank, space, chunk, document, ordinal, hash, code, vector")

// insertVectors stores vectors of those chunks of a bank that exist and have none, and returns how many these are. The bank is locked.
func insertVectors(ctx context.Context, tx sqldb.Tx, f Filler, vectors []Vector) (n int64, err error) {
	byChunk := map[int64]Vector{}
	var ids []int64
	for _, v := range vectors {
		byChunk[v.Chunk] = v
		ids = append(ids, v.Chunk)
	}
	var rows [][]any
	scan := func(row sqldb.Scanner) ([]any, error) {
		var chunk, ordinal int64
		var document string
		err := row.Scan(&chunk, &document, &ordinal)
		v := byChunk[chunk]
		return []any{
			f.Tenant, f.Bank, f.Space, chunk, document, ordinal, v.Hash, append([]byte{}, v.Code...), append([]byte{}, v.Vector...),
		}, err
	}
	err = sqldb.Groups(ids, func(ids []int64) error {
		args := []any{f.Tenant, f.Bank, f.Space}
		for _, id := range ids {
			args = append(args, id)
		}
		part, err := sqldb.All(ctx, tx, scan, `SELECT id, document, ordinal FROM chunks c WHERE tenant = $1 AND bank = $2
			AND NOT EXISTS (SELECT 1 FROM chunk_vectors e WHERE e.chunk = c.id AND e.space = $3)
			AND id IN (`+sqldb.Placeholders(4, len(ids))+") ORDER BY id", args...)
		rows = append(rows, part...)
		return err
	})
	if err != nil {
		return 0, err
	}
	return int64(len(rows)), chunkVectors.Exec(ctx, tx, rows)
}

// countVectors adds to the number of vectors of a bank. The bank is locked.
func countVectors(ctx context.Context, tx sqldb.Tx, k BankKey, space, n int64) error {
	_, err := sqldb.Exec(ctx, tx, "UPDATE bank_spaces SET vectors = vectors + $4 WHERE tenant = $1 AND bank = $2 AND space = $3",
		k.Tenant, k.Bank, space, n)
	return err
}

// SwitchSpace has searches of a bank use a space in which all its chunks have vectors, and reports whether they do.
func (s vectorRows) SwitchSpace(ctx context.Context, k BankKey, space int64) (live bool, err error) {
	err = s.db.Write(ctx, func(tx sqldb.Tx) error {
		b, err := lockBank(ctx, s.db, tx, k.Tenant, k.Bank)
		if err != nil {
			return err
		}
		n, err := sqldb.One(ctx, tx, sqldb.Column[int64], "SELECT vectors FROM bank_spaces WHERE tenant = $1 AND bank = $2 AND space = $3",
			k.Tenant, k.Bank, space)
		if live = err == nil && n >= b.Chunks; !live {
			return err
		}
		_, err = sqldb.Exec(ctx, tx, "UPDATE bank_spaces SET live = (space = $3) WHERE tenant = $1 AND bank = $2", k.Tenant, k.Bank, space)
		return err
	})
	return live, err
}

// TrimSpaces deletes at most limit vectors of a bank in other spaces than its live one, and reports whether there may be more.
func (s vectorRows) TrimSpaces(ctx context.Context, k BankKey, live int64, limit int) (more bool, err error) {
	err = s.db.Write(ctx, func(tx sqldb.Tx) error {
		if _, err := lockBank(ctx, s.db, tx, k.Tenant, k.Bank); err != nil {
			return err
		}
		is, err := sqldb.One(ctx, tx, sqldb.Column[int64], `SELECT count(*) FROM bank_spaces
			WHERE tenant = $1 AND bank = $2 AND space = $3 AND live`, k.Tenant, k.Bank, live)
		if more = false; err != nil || is == 0 {
			return err
		}
		gone, err := sqldb.All(ctx, tx, sqldb.Column[int64], `DELETE FROM chunk_vectors WHERE seq IN (SELECT seq FROM chunk_vectors
			WHERE tenant = $1 AND bank = $2 AND space <> $3 LIMIT $4) RETURNING space`, k.Tenant, k.Bank, live, limit)
		if err != nil {
			return err
		}
		if more = len(gone) == limit; more {
			return countTrimmed(ctx, tx, k, gone)
		}
		_, err = sqldb.Exec(ctx, tx, "DELETE FROM bank_spaces WHERE tenant = $1 AND bank = $2 AND space <> $3", k.Tenant, k.Bank, live)
		return err
	})
	return more, err
}

// countTrimmed subtracts deleted vectors of a bank, which are named by their spaces: one of these may become the live one again.
func countTrimmed(ctx context.Context, tx sqldb.Tx, k BankKey, gone []int64) error {
	counts := map[int64]int64{}
	for _, space := range gone {
		counts[space]--
	}
	for space, n := range counts {
		if err := countVectors(ctx, tx, k, space, n); err != nil {
			return err
		}
	}
	return nil
}

// LiveSpaces returns the spaces that searches of some banks of a tenant use. Banks without one are left out.
func (s vectorRows) LiveSpaces(ctx context.Context, tenant string, banks []string) (map[string]Space, error) {
	out := map[string]Space{}
	scan := func(row sqldb.Scanner) (struct{}, error) {
		var bank string
		var sp Space
		err := row.Scan(&bank, &sp.ID, &sp.Model, &sp.Dimensions)
		out[bank] = sp
		return struct{}{}, err
	}
	if len(banks) == 0 {
		return out, nil
	}
	_, err := sqldb.All(ctx, s.db.Reader(), scan, `SELECT b.bank, s.id, s.model, s.dimensions FROM bank_spaces b JOIN spaces s ON s.id = b.space
		WHERE b.tenant = $1 AND b.live AND b.bank IN (`+sqldb.Placeholders(2, len(banks))+")", append([]any{tenant}, texts(banks)...)...)
	return out, err
}
