// Package store stores the routes that tenants create with the API.
package store

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// ErrNotFound means that the tenant has no such route.
var ErrNotFound = sqldb.ErrNotFound

// Target is a model of a route.
type Target struct {
	Model  string `json:"model"`
	Weight int32  `json:"weight,omitempty"`
}

// Spec is what a route says.
type Spec struct {
	Description    string   `json:"description,omitempty"`
	Priority       int32    `json:"priority,omitempty"`
	Disabled       bool     `json:"disabled,omitempty"`
	When           string   `json:"when,omitempty"`
	Targets        []Target `json:"targets"`
	SwitchOnFilter bool     `json:"switch_on_filter,omitempty"`
}

// Route is a stored route.
type Route struct {
	Tenant, Name string
	Spec         Spec
	// Revision counts the changes of this route, from 1.
	Revision               uint32
	CreateTime, UpdateTime time.Time
}

// Snapshot is all routes of a tenant at a revision.
type Snapshot struct {
	// Revision grows with each change; 0 if the tenant never had a route.
	Revision uint64
	// Routes are ordered by name.
	Routes []Route
}

// Change is a change of one route. Exactly one field is set.
type Change struct {
	// Put creates or replaces a route; its revision is set by the store.
	Put *Route
	// Delete removes the route with this name.
	Delete string
}

// Store stores routes. Each change increments the tenant's revision in its transaction, so that a reader of the revision sees every change
// that was committed before. Errors of the database are those of libs/sqldb.
type Store interface {
	// Revision reads the tenant's revision; 0 if it never had a route.
	Revision(ctx context.Context, tenant string) (uint64, error)
	// Snapshot reads the tenant's routes together with their revision.
	Snapshot(ctx context.Context, tenant string) (Snapshot, error)
	// Change passes the present routes to change, and stores what it returns: the route as it was put, or the one that was deleted.
	// Concurrent changes of a tenant wait for each other. ErrNotFound if there is nothing to delete.
	Change(ctx context.Context, tenant string, change func(Snapshot) (Change, error)) (Route, error)
}

//go:embed migrations/*.sql
var migrations embed.FS

// Migrate applies pending migrations.
func Migrate(ctx context.Context, db *sqldb.DB) error {
	return db.Migrate(ctx, migrations, "migrations")
}

// New returns the store in a database that Migrate has prepared.
func New(db *sqldb.DB) Store {
	const kept = 1024
	return sqlStore{db, sqldb.NewFresh(db, kept, []string{"route_revisions"}, func(ctx context.Context, tenant string) (uint64, error) {
		revision, err := sqldb.One(ctx, db.Reader(), sqldb.Column[int64], `SELECT revision FROM route_revisions WHERE tenant = $1`, tenant)
		if errors.Is(err, ErrNotFound) {
			return 0, nil
		}
		return uint64(revision), err
	})}
}

// sqlStore implements Store.
type sqlStore struct {
	db        *sqldb.DB
	revisions *sqldb.Fresh[string, uint64] // one is read for each turn
}

func (s sqlStore) Revision(ctx context.Context, tenant string) (uint64, error) {
	revision, err := s.revisions.Get(ctx, tenant)
	if err != nil {
		return 0, fmt.Errorf("read revision of routes: %w", err)
	}
	return revision, nil
}

func (s sqlStore) Snapshot(ctx context.Context, tenant string) (Snapshot, error) {
	return snapshot(ctx, s.db.Reader(), tenant)
}

// selectSnapshot reads revision and routes in one statement, and so in one snapshot of the database.
const selectSnapshot = `SELECT r.revision, t.name, t.spec, t.revision, t.created_us, t.updated_us
	FROM route_revisions r LEFT JOIN routes t ON t.tenant = r.tenant WHERE r.tenant = $1 ORDER BY t.name`

func snapshot(ctx context.Context, q sqldb.Querier, tenant string) (out Snapshot, err error) {
	_, err = sqldb.All(ctx, q, func(row sqldb.Scanner) (struct{}, error) {
		var all int64
		var name *string // NULL if the tenant has no routes
		var spec []byte
		var revision, created, updated *int64
		if err := row.Scan(&all, &name, &spec, &revision, &created, &updated); err != nil {
			return struct{}{}, err
		}
		out.Revision = uint64(all)
		if name == nil {
			return struct{}{}, nil
		}
		r := Route{
			Tenant: tenant, Name: *name, Revision: uint32(*revision), CreateTime: sqldb.Time(*created), UpdateTime: sqldb.Time(*updated),
		}
		if err := json.Unmarshal(spec, &r.Spec); err != nil {
			return struct{}{}, fmt.Errorf("decode route %s: %w", r.Name, err)
		}
		out.Routes = append(out.Routes, r)
		return struct{}{}, nil
	}, selectSnapshot, tenant)
	if err != nil {
		return Snapshot{}, fmt.Errorf("read routes: %w", err)
	}
	return out, nil
}

func (s sqlStore) Change(ctx context.Context, tenant string, change func(Snapshot) (Change, error)) (Route, error) {
	var out Route
	err := s.db.Write(ctx, func(tx sqldb.Tx) error {
		// This comes first: it locks the tenant's row, so that the next change sees this one.
		if err := sqldb.ExecOne(ctx, tx, `INSERT INTO route_revisions (tenant, revision) VALUES ($1, 1)
			ON CONFLICT (tenant) DO UPDATE SET revision = route_revisions.revision + 1`, tenant); err != nil {
			return err
		}
		now, err := snapshot(ctx, tx, tenant)
		if err != nil {
			return err
		}
		c, err := change(now)
		if err != nil {
			return err
		}
		out, err = apply(ctx, tx, tenant, c, now)
		return err
	})
	return out, err
}

// apply stores a change and returns the route that was put or deleted.
func apply(ctx context.Context, tx sqldb.Tx, tenant string, c Change, now Snapshot) (Route, error) {
	var out, old Route
	if c.Put != nil {
		out = *c.Put
	} else {
		out.Name = c.Delete
	}
	for _, r := range now.Routes {
		if r.Name == out.Name {
			old = r
		}
	}
	if c.Put == nil {
		return old, sqldb.ExecOne(ctx, tx, `DELETE FROM routes WHERE tenant = $1 AND name = $2`, tenant, c.Delete)
	}
	spec, err := json.Marshal(out.Spec)
	if err != nil {
		return out, fmt.Errorf("encode route: %w", err)
	}
	out.Tenant, out.Revision = tenant, old.Revision+1
	if old.Revision > 0 {
		return out, sqldb.ExecOne(ctx, tx, `UPDATE routes SET spec = $1, revision = $2, updated_us = $3 WHERE tenant = $4 AND name = $5`,
			string(spec), int64(out.Revision), sqldb.Micros(out.UpdateTime), tenant, out.Name)
	}
	return out, sqldb.ExecOne(ctx, tx, insertRoutes, tenant, out.Name, string(spec), int64(1), sqldb.Micros(out.CreateTime),
		sqldb.Micros(out.UpdateTime))
}

var insertRoutes = sqldb.Insert("routes", `tenant, name, spec, revision, created_us, updated_us`)
