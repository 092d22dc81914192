package store

import (
	"context"
	"errors"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// Drift is a tool of a pinned source whose definition changed.
type Drift struct {
	// Name is the tool's namespaced name.
	Name string
	// Accepted is the hash of the tool's definition, Found that of the one which its source has now.
	Accepted, Found string
}

func (q sqlTools) Drifted(ctx context.Context, s Source) ([]Drift, error) {
	return sqldb.All(ctx, q.db.Reader(), func(row sqldb.Scanner) (d Drift, err error) {
		return d, row.Scan(&d.Name, &d.Accepted, &d.Found)
	}, `SELECT name, definition_hash, drifted_hash FROM tools
		WHERE tenant = $1 AND source_id = $2 AND present = $3 AND drifted_hash <> '' ORDER BY name`, s.Tenant, s.ID, true)
}

func (q sqlTools) Accept(ctx context.Context, s Source, drifts []Drift, at time.Time) error {
	return q.db.record(ctx, q.db.Write, func(tx sqldb.Tx, record recordFunc) error {
		_, err := lockSource(ctx, q.db.DB, tx, s)
		if errors.Is(err, ErrNotFound) {
			return ErrChanged
		}
		if err != nil {
			return err
		}
		for _, d := range drifts {
			err := sqldb.ExecOne(ctx, tx, `UPDATE tools SET definition_hash = drifted_hash, drifted_hash = '', updated_us = $1
				WHERE tenant = $2 AND source_id = $3 AND name = $4 AND drifted_hash = $5`, sqldb.Micros(at), s.Tenant, s.ID, d.Name, d.Found)
			if errors.Is(err, ErrNotFound) {
				return ErrChanged
			}
			if err != nil {
				return err
			}
		}
		err = sqldb.ExecOne(ctx, tx, `UPDATE sources SET drifted_count = drifted_count - $1 WHERE tenant = $2 AND id = $3`,
			len(drifts), s.Tenant, s.ID)
		if err != nil || len(drifts) == 0 {
			return err
		}
		return record(q.db.acceptedEvent(ctx, s, drifts))
	})
}
