package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// GroupStore stores tool groups.
type GroupStore interface {
	// CreateGroup adds a group; ErrExists if the name is taken.
	CreateGroup(ctx context.Context, g Group) error
	// Group reads a group; ErrNotFound.
	Group(ctx context.Context, tenant, name string) (Group, error)
	// Groups returns at most limit groups of the tenant whose name is after the given one, by name.
	Groups(ctx context.Context, tenant, after string, limit int) ([]Group, error)
	// UpdateGroup stores spec and update time of a group after change modified it; ErrNotFound, or change's error.
	UpdateGroup(ctx context.Context, tenant, name string, change func(*Group) error) (Group, error)
	// DeleteGroup removes a group; ErrNotFound.
	DeleteGroup(ctx context.Context, tenant, name string) error
}

// Group is a named set of tools.
type Group struct {
	Tenant, Name           string
	Spec                   GroupSpec
	CreateTime, UpdateTime time.Time
}

// sqlGroups implements GroupStore.
type sqlGroups struct{ db eventDB }

const groupColumns = `tenant, name, spec, created_us, updated_us`

var insertToolGroups = sqldb.Insert("tool_groups", groupColumns)

func (q sqlGroups) CreateGroup(ctx context.Context, g Group) error {
	spec, err := json.Marshal(g.Spec)
	if err != nil {
		return fmt.Errorf("encode tool group: %w", err)
	}
	err = q.db.record(ctx, q.db.Write, func(tx sqldb.Tx, record recordFunc) error {
		if err := sqldb.ExecOne(ctx, tx, insertToolGroups,
			g.Tenant, g.Name, string(spec), sqldb.Micros(g.CreateTime), sqldb.Micros(g.UpdateTime)); err != nil {
			return err
		}
		return record(q.db.groupEvent(ctx, groupCreated, g.Tenant, g.Name))
	})
	if sqldb.IsUnique(err) {
		return fmt.Errorf("tool group %q: %w", g.Name, ErrExists)
	}
	return err
}

func (q sqlGroups) Group(ctx context.Context, tenant, name string) (Group, error) {
	return sqldb.One(ctx, q.db.Reader(), scanGroup, `SELECT `+groupColumns+` FROM tool_groups WHERE tenant = $1 AND name = $2`, tenant, name)
}

func (q sqlGroups) Groups(ctx context.Context, tenant, after string, limit int) ([]Group, error) {
	return sqldb.All(ctx, q.db.Reader(), scanGroup, `SELECT `+groupColumns+` FROM tool_groups
		WHERE tenant = $1 AND name > $2 ORDER BY name LIMIT $3`, tenant, after, limit)
}

func (q sqlGroups) UpdateGroup(ctx context.Context, tenant, name string, change func(*Group) error) (Group, error) {
	var g Group
	err := q.db.record(ctx, q.db.Write, func(tx sqldb.Tx, record recordFunc) error {
		var err error
		g, err = sqldb.One(ctx, tx, scanGroup, `SELECT `+groupColumns+` FROM tool_groups WHERE tenant = $1 AND name = $2`+q.db.ForUpdate(),
			tenant, name)
		if err != nil {
			return err
		}
		if err := change(&g); err != nil {
			return err
		}
		spec, err := json.Marshal(g.Spec)
		if err != nil {
			return fmt.Errorf("encode tool group: %w", err)
		}
		if err := sqldb.ExecOne(ctx, tx, `UPDATE tool_groups SET spec = $1, updated_us = $2 WHERE tenant = $3 AND name = $4`,
			string(spec), sqldb.Micros(g.UpdateTime), tenant, name); err != nil {
			return err
		}
		return record(q.db.groupEvent(ctx, groupUpdated, tenant, name))
	})
	return g, err
}

func (q sqlGroups) DeleteGroup(ctx context.Context, tenant, name string) error {
	return q.db.record(ctx, q.db.Write, func(tx sqldb.Tx, record recordFunc) error {
		if err := sqldb.ExecOne(ctx, tx, `DELETE FROM tool_groups WHERE tenant = $1 AND name = $2`, tenant, name); err != nil {
			return err
		}
		return record(q.db.groupEvent(ctx, groupDeleted, tenant, name))
	})
}

func scanGroup(row sqldb.Scanner) (g Group, err error) {
	var spec []byte
	var created, updated int64
	if err := row.Scan(&g.Tenant, &g.Name, &spec, &created, &updated); err != nil {
		return g, err
	}
	g.CreateTime, g.UpdateTime = sqldb.Time(created), sqldb.Time(updated)
	if err := json.Unmarshal(spec, &g.Spec); err != nil {
		return g, fmt.Errorf("decode tool group %s: %w", g.Name, err)
	}
	return g, nil
}
