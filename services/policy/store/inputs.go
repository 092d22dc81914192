package store

import (
	"context"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// addInput stores the input of a decision, or when it was used.
func addInput(ctx context.Context, tx sqldb.Tx, d Decision, in *Input) error {
	_, err := sqldb.Exec(ctx, tx, `INSERT INTO decision_inputs (tenant, hash, subject, principal, used_us)
		VALUES ($1, $2, $3, $4, $5) ON CONFLICT (tenant, hash) DO UPDATE SET used_us = excluded.used_us`, d.Tenant, in.Hash, in.Subject, in.Principal, sqldb.Micros(d.Time))
	return err
}

// hashesAtOnce limits the placeholders of one statement.
const hashesAtOnce = 400

func (s sqlStore) Inputs(ctx context.Context, tenant string, hashes []string) (map[string]Input, error) {
	out := make(map[string]Input, len(hashes))
	for len(hashes) > 0 {
		part := hashes[:min(len(hashes), hashesAtOnce)]
		hashes = hashes[len(part):]
		args := []any{tenant}
		for _, h := range part {
			args = append(args, h)
		}
		found, err := sqldb.All(ctx, s.db.Reader(), scanInput, `SELECT hash, subject, principal FROM decision_inputs
			WHERE tenant = $1 AND hash IN (`+sqldb.Placeholders(2, len(part))+`)`, args...)
		if err != nil {
			return nil, fmt.Errorf("read inputs of decisions: %w", err)
		}
		for _, in := range found {
			out[in.Hash] = in
		}
	}
	return out, nil
}

func (s sqlStore) LastInput(ctx context.Context, tenant, subject string) (Input, error) {
	return sqldb.One(ctx, s.db.Reader(), scanInput, `SELECT hash, subject, principal FROM decision_inputs
		WHERE tenant = $1 AND subject = $2 ORDER BY used_us DESC LIMIT 1`, tenant, subject)
}

// prunedAtOnce limits the inputs that one transaction deletes.
const prunedAtOnce = 500

func (s sqlStore) PruneInputs(ctx context.Context, before time.Time) error {
	for {
		var n int64
		err := s.db.Write(ctx, func(tx sqldb.Tx) (err error) {
			n, err = sqldb.Exec(ctx, tx, `DELETE FROM decision_inputs WHERE (tenant, hash) IN (SELECT tenant, hash FROM decision_inputs
				WHERE used_us < $1 ORDER BY used_us LIMIT $2) AND used_us < $1`, sqldb.Micros(before), prunedAtOnce)
			return err
		})
		if err != nil {
			return fmt.Errorf("delete old inputs of decisions: %w", err)
		}
		if n < prunedAtOnce {
			return nil
		}
	}
}

func scanInput(row sqldb.Scanner) (in Input, err error) {
	err = row.Scan(&in.Hash, &in.Subject, &in.Principal)
	return in, err
}
