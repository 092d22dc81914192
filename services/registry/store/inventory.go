package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// known is a row of tools, present or not.
type known struct {
	name, original, hash, drifted string
	present                       bool
}

func (q sqlTools) SyncFailed(ctx context.Context, s Source, state, why string) error {
	return q.db.record(ctx, q.db.Write, func(tx sqldb.Tx, record recordFunc) error {
		before, err := lockSource(ctx, q.db.DB, tx, s)
		if errors.Is(err, ErrNotFound) || errors.Is(err, ErrChanged) {
			return nil
		}
		if err != nil {
			return err
		}
		err = sqldb.ExecOne(ctx, tx, `UPDATE sources SET state = $1, last_error = $2 WHERE tenant = $3 AND id = $4`,
			state, why, s.Tenant, s.ID)
		if err != nil || before == state {
			return err
		}
		return record(q.db.sourceEvent(ctx, "dev.windlass.source."+state+".v1", s, why))
	})
}

func (q sqlTools) ApplyInventory(ctx context.Context, s Source, found Inventory) (Diff, error) {
	var diff Diff
	err := q.db.record(ctx, q.db.WriteAlone, func(tx sqldb.Tx, record recordFunc) error { // there may be thousands of tools
		diff = Diff{Total: len(found.Tools)} // reset for each attempt
		state, err := lockSource(ctx, q.db.DB, tx, s)
		if errors.Is(err, ErrNotFound) {
			return ErrChanged
		}
		if err != nil {
			return err
		}
		rows, err := sqldb.All(ctx, tx, scanKnown, `SELECT name, original_name, definition_hash, drifted_hash, present FROM tools
			WHERE tenant = $1 AND source_id = $2`, s.Tenant, s.ID)
		if err != nil {
			return err
		}
		a := apply{tx: tx, source: s, found: found, diff: &diff, rows: map[string]known{}}
		for _, r := range rows {
			a.rows[r.original] = r
		}
		if err := a.run(ctx); err != nil {
			return err
		}
		for _, names := range []*[]string{&diff.Added, &diff.Removed, &diff.Changed, &diff.Drifted} {
			slices.Sort(*names)
		}
		return q.ingested(ctx, s, state, diff, record)
	})
	if err != nil {
		return Diff{}, fmt.Errorf("apply inventory of source %q: %w", s.Name, err)
	}
	return diff, nil
}

// ingested records what a sync changed: the source's state before, and its tools.
func (q sqlTools) ingested(ctx context.Context, s Source, before string, diff Diff, record recordFunc) error {
	if before != Ready {
		if err := record(q.db.sourceEvent(ctx, sourceReady, s, "")); err != nil {
			return err
		}
	}
	if len(diff.Added)+len(diff.Removed)+len(diff.Changed)+len(diff.Drifted) == 0 {
		return nil
	}
	return record(q.db.inventoryEvent(s, diff))
}

// apply writes one inventory.
type apply struct {
	tx     sqldb.Tx
	source Source
	found  Inventory
	diff   *Diff
	rows   map[string]known // by original name
	held   int              // number of tools whose definition is held back
}

// refresh records that the source's tools are still those of its digest.
func (a *apply) refresh(ctx context.Context) error {
	a.diff.Total = a.source.ToolCount
	err := sqldb.ExecOne(ctx, a.tx, `UPDATE sources SET state = $1, last_error = '', synced_us = $2 WHERE tenant = $3 AND id = $4 AND digest = $5`,
		Ready, sqldb.Micros(a.found.Time), a.source.Tenant, a.source.ID, a.source.Digest)
	if errors.Is(err, ErrNotFound) {
		return ErrChanged // another replica applied another document
	}
	return err
}

func (a *apply) run(ctx context.Context) error {
	if a.found.Unchanged {
		return a.refresh(ctx)
	}
	warnings, err := encodeList(a.found.Warnings)
	if err != nil {
		return err
	}
	// Of two tools with colliding names the one gets the plain name that has it, and otherwise always the same one: the first by name.
	tools := slices.Clone(a.found.Tools)
	exact := func(t Found) bool { return clean(t.OriginalName) == t.OriginalName }
	slices.SortFunc(tools, func(x, y Found) int {
		switch {
		case exact(x) && !exact(y):
			return -1
		case exact(y) && !exact(x):
			return 1
		}
		return strings.Compare(x.OriginalName, y.OriginalName)
	})
	seen := map[string]bool{}
	for _, t := range tools {
		if seen[t.OriginalName] {
			return fmt.Errorf("duplicate tool %q", t.OriginalName)
		}
		seen[t.OriginalName] = true
		if err := a.tool(ctx, t); err != nil {
			return err
		}
	}
	for original, row := range a.rows {
		if !row.present || seen[original] {
			continue
		}
		a.diff.Removed = append(a.diff.Removed, row.name)
		if err := sqldb.ExecOne(ctx, a.tx, `UPDATE tools SET present = $1, drifted_hash = '', updated_us = $2 WHERE tenant = $3 AND name = $4`,
			false, sqldb.Micros(a.found.Time), a.source.Tenant, row.name); err != nil {
			return err
		}
	}
	return sqldb.ExecOne(ctx, a.tx, `UPDATE sources SET state = $1, last_error = '', synced_us = $2, tool_count = $3, drifted_count = $4,
		server_version = $5, protocol_version = $6, digest = $7, warnings = $8 WHERE tenant = $9 AND id = $10`,
		Ready, sqldb.Micros(a.found.Time), a.diff.Total, a.held, a.found.ServerVersion, a.found.ProtocolVersion, a.found.Digest, warnings,
		a.source.Tenant, a.source.ID)
}

var insertTools = sqldb.Insert("tools", "tenant, name, source_id, original_name, definition_hash, present, created_us, updated_us")

// tool writes one found tool if it changed.
func (a *apply) tool(ctx context.Context, t Found) error {
	row, old := a.rows[t.OriginalName]
	if !old {
		name, err := a.freeName(ctx, t.OriginalName)
		if err != nil {
			return err
		}
		row.name = name
	}
	hash := DefinitionHash(row.name, t.Raw)
	if old && a.source.Spec.Pin && row.hash != hash {
		return a.hold(ctx, row, hash, t)
	}
	if old && row.present && row.hash == hash && row.drifted == "" {
		return nil
	}
	if err := a.define(ctx, row.name, hash, t); err != nil {
		return err
	}
	at := sqldb.Micros(a.found.Time)
	if !old {
		a.diff.Added = append(a.diff.Added, row.name)
		return sqldb.ExecOne(ctx, a.tx, insertTools, a.source.Tenant, row.name, a.source.ID, t.OriginalName, hash, true, at, at)
	}
	switch {
	case !row.present:
		a.diff.Added = append(a.diff.Added, row.name)
	case row.hash != hash:
		a.diff.Changed = append(a.diff.Changed, row.name)
	}
	return sqldb.ExecOne(ctx, a.tx, `UPDATE tools SET definition_hash = $1, drifted_hash = '', present = $2, updated_us = $3
		WHERE tenant = $4 AND name = $5`, hash, true, at, a.source.Tenant, row.name)
}

// hold records the changed definition of a pinned tool beside the accepted one, also if the tool was gone in between.
func (a *apply) hold(ctx context.Context, row known, hash string, t Found) error {
	a.held++
	if row.present && row.drifted == hash {
		return nil
	}
	if err := a.define(ctx, row.name, hash, t); err != nil {
		return err
	}
	a.diff.Drifted = append(a.diff.Drifted, row.name)
	return sqldb.ExecOne(ctx, a.tx, `UPDATE tools SET drifted_hash = $1, present = $2 WHERE tenant = $3 AND name = $4`,
		hash, true, a.source.Tenant, row.name)
}

var insertToolDefinitions = sqldb.Insert("tool_definitions", `tenant, hash, name, source, original_name, title, description, raw_json,
		input_schema, output_schema, effect, created_us, tags, deprecated`) + ` ON CONFLICT DO NOTHING`

func (a *apply) define(ctx context.Context, name, hash string, t Found) error {
	tags, err := encodeList(t.Tags)
	if err != nil {
		return err
	}
	_, err = sqldb.Exec(ctx, a.tx, insertToolDefinitions,
		a.source.Tenant, hash, name, a.source.Name, t.OriginalName, t.Title, t.Description, notNil(t.Raw), notNil(t.InputSchema),
		notNil(t.OutputSchema), int(t.Effect), sqldb.Micros(a.found.Time), tags, t.Deprecated)
	return err
}

// freeName returns the name for a new tool: the plain one, or one with a hash if another tool has it.
func (a *apply) freeName(ctx context.Context, original string) (string, error) {
	for _, name := range []string{ToolName(a.source.Name, original), hashedName(a.source.Name, original)} {
		n, err := sqldb.One(ctx, a.tx, sqldb.Column[int], `SELECT COUNT(*) FROM tools WHERE tenant = $1 AND name = $2`, a.source.Tenant, name)
		if err != nil {
			return "", err
		}
		if n == 0 {
			return name, nil
		}
	}
	return "", fmt.Errorf("tool %q: no free name", original)
}

func scanKnown(row sqldb.Scanner) (k known, err error) {
	return k, row.Scan(&k.name, &k.original, &k.hash, &k.drifted, &k.present)
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
