package trail

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// prunedAtOnce limits the records that one transaction deletes.
const prunedAtOnce = 500

// Prune deletes the records of all tenants from before a time, the oldest first, and keeps the hash of the last one of each chain: what is
// left is verified from there on. Each chain gets a record of what was deleted.
func (t *Trail) Prune(ctx context.Context, before time.Time) error {
	tenants, err := sqldb.All(ctx, t.db.Reader(), sqldb.Column[string], `SELECT tenant FROM audit_heads ORDER BY tenant`)
	if err != nil {
		return fmt.Errorf("find audit records to delete: %w", err)
	}
	for _, tenant := range tenants {
		for {
			n, err := t.prune(ctx, tenant, before)
			if err != nil {
				return fmt.Errorf("delete audit records: %w", err)
			}
			if n < prunedAtOnce {
				break
			}
		}
	}
	return nil
}

// prune deletes from the beginning of a chain, under the lock on its end.
func (t *Trail) prune(ctx context.Context, tenant string, before time.Time) (n int, err error) {
	err = t.db.Write(ctx, func(tx sqldb.Tx) error {
		n = 0 // the transaction may run again
		if _, err := t.lock(ctx, tx, tenant); err != nil {
			return err
		}
		from, err := anchorOf(ctx, tx, tenant)
		if err != nil {
			return err
		}
		found, err := sqldb.All(ctx, tx, scan, `SELECT `+columns+` FROM audit_records
			WHERE tenant = $1 AND seq > 0 AND seq > $2 ORDER BY seq LIMIT $3`, tenant, from.Seq, prunedAtOnce)
		if err != nil {
			return err
		}
		for n < len(found) && found[n].Time.Before(before) && found[n].Seq == from.Seq+int64(n)+1 { // a gap stays, and shows
			n++
		}
		if n == 0 {
			return nil
		}
		last := found[n-1]
		if _, err := sqldb.Exec(ctx, tx, `DELETE FROM audit_records WHERE tenant = $1 AND seq > 0 AND seq <= $2`, tenant, last.Seq); err != nil {
			return err
		}
		if _, err := sqldb.Exec(ctx, tx, `INSERT INTO audit_anchors (tenant, seq, hash) VALUES ($1, $2, $3)
			ON CONFLICT (tenant) DO UPDATE SET seq = excluded.seq, hash = excluded.hash`, tenant, last.Seq, last.Hash); err != nil {
			return err
		}
		return Add(ctx, tx, New(tenant, t.db.Now(), "policy", "policy", "audit.prune", fmt.Sprintf("%d-%d", from.Seq+1, last.Seq), Done,
			"older than policy.audit_retention; the last one has the hash "+last.Hash, Links{}))
	})
	if err == nil && n > 0 {
		t.Added()
	}
	return n, err
}

// anchorOf returns the last record that was deleted from a chain; Genesis if none was.
func anchorOf(ctx context.Context, q sqldb.Querier, tenant string) (Anchor, error) {
	a, err := sqldb.One(ctx, q, func(row sqldb.Scanner) (a Anchor, err error) {
		return a, row.Scan(&a.Seq, &a.Hash)
	}, `SELECT seq, hash FROM audit_anchors WHERE tenant = $1`, tenant)
	if errors.Is(err, sqldb.ErrNotFound) {
		return Anchor{Hash: Genesis}, nil
	}
	return a, err
}
