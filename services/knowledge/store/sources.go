package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// SyncState says how far the latest sync of a source is.
type SyncState string

// States of a sync.
const (
	// SyncQueued syncs wait to begin.
	SyncQueued SyncState = "queued"
	// Syncing ones run.
	Syncing SyncState = "syncing"
	// Synced ones have ended.
	Synced SyncState = "synced"
	// SyncFailed ones could not read their source.
	SyncFailed SyncState = "failed"
	// Deleting sources are on their way out.
	Deleting SyncState = "deleting"
)

// Source is where documents of a bank are read from.
type Source struct {
	// Tenant and ID name it; Bank has its documents; Subject created it.
	Tenant, ID, Bank, Subject string
	// Principal is who created it, marshalled, for kinds that are read as that user; nil for others.
	Principal []byte
	// Spec says what it is.
	Spec SourceSpec
	// Paused sources are not synced.
	Paused bool
	// State, Problem, Progress and Problems are of the latest sync, whose id is Sync.
	State    SyncState
	Problem  string
	Sync     string
	Progress Progress
	Problems []ItemProblem
	// CreateTime is when it was made, SyncTime when its latest sync ended, NextTime when the next one is due; zero = never.
	CreateTime, SyncTime, NextTime time.Time
}

// SourceSpec says what a source is. It is stored as JSON.
type SourceSpec struct {
	// Kind is the name of its kind.
	Kind string `json:"kind"`
	// URL, Folder, MCPSource and URI are for the kinds that have them.
	URL       string `json:"url,omitempty"`
	Folder    string `json:"folder,omitempty"`
	MCPSource string `json:"mcp_source,omitempty"`
	URI       string `json:"uri,omitempty"`
	// Labels and Attributes are those of all its documents.
	Labels     []string          `json:"labels,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
	// Interval is the pause between two syncs; 0 = none begins by itself.
	Interval time.Duration `json:"interval,omitempty"`
}

// Progress counts what a sync did. It is stored as JSON.
type Progress struct {
	// Added, Updated, Unchanged and Failed count items, Removed documents, Total the items that the source is known to have.
	Added     int `json:"added,omitempty"`
	Updated   int `json:"updated,omitempty"`
	Unchanged int `json:"unchanged,omitempty"`
	Removed   int `json:"removed,omitempty"`
	Failed    int `json:"failed,omitempty"`
	Total     int `json:"total,omitempty"`
}

// ItemProblem says why an item could not be stored. It is stored as JSON.
type ItemProblem struct {
	// Item is its key.
	Item string `json:"item"`
	// Problem is for people.
	Problem string `json:"problem"`
}

// sourceRows are the sources of banks.
type sourceRows struct{ base }

const sourceColumns = "tenant, id, bank, subject, spec, paused, state, problem, sync, progress, problems, create_us, sync_us, next_us, " +
	"principal"

var insertSources = sqldb.Insert("bank_sources", sourceColumns+", start_us, attempts")

func scanSource(row sqldb.Scanner) (s Source, err error) {
	var spec, progress, problems []byte
	var paused int
	err = row.Scan(&s.Tenant, &s.ID, &s.Bank, &s.Subject, &spec, &paused, &s.State, &s.Problem, &s.Sync, &progress, &problems,
		sqldb.TimeColumn(&s.CreateTime), sqldb.TimeColumn(&s.SyncTime), sqldb.TimeColumn(&s.NextTime), &s.Principal)
	if err != nil {
		return s, err
	}
	s.Paused = paused != 0
	err = errors.Join(json.Unmarshal(spec, &s.Spec), json.Unmarshal(progress, &s.Progress), json.Unmarshal(problems, &s.Problems))
	if err != nil {
		return s, fmt.Errorf("decode source %s: %w", s.ID, err)
	}
	if len(s.Problems) == 0 {
		s.Problems = nil
	}
	return s, nil
}

// CreateSource adds a source whose first sync is queued. ErrNotFound for the bank, ErrTooMany if the tenant has limit sources.
func (s sourceRows) CreateSource(ctx context.Context, in Source, limit int) error {
	spec, err := json.Marshal(in.Spec)
	if err != nil {
		return fmt.Errorf("encode source: %w", err)
	}
	return s.db.Write(ctx, func(tx sqldb.Tx) error {
		if _, err := lockBank(ctx, s.db, tx, in.Tenant, in.Bank); err != nil {
			return err
		}
		n, err := sqldb.One(ctx, tx, sqldb.Column[int], "SELECT count(*) FROM bank_sources WHERE tenant = $1", in.Tenant)
		if err != nil {
			return err
		}
		if n >= limit {
			return ErrTooMany
		}
		return sqldb.ExecOne(ctx, tx, insertSources, in.Tenant, in.ID, in.Bank, in.Subject, string(spec), 0, string(SyncQueued), "", in.Sync,
			"{}", "[]", sqldb.Micros(in.CreateTime), 0, 0, in.Principal, 0, 0)
	})
}

// Source reads a source of a bank; ErrNotFound.
func (s sourceRows) Source(ctx context.Context, tenant, bank, id string) (Source, error) {
	return sqldb.One(ctx, s.db.Reader(), scanSource, "SELECT "+sourceColumns+` FROM bank_sources
		WHERE tenant = $1 AND id = $2 AND bank = $3`, tenant, id, bank)
}

// Sources returns at most limit sources of a bank whose id is after the given one, oldest first.
func (s sourceRows) Sources(ctx context.Context, tenant, bank, after string, limit int) ([]Source, error) {
	return sqldb.All(ctx, s.db.Reader(), scanSource, "SELECT "+sourceColumns+` FROM bank_sources
		WHERE tenant = $1 AND bank = $2 AND id > $3 ORDER BY id LIMIT $4`, tenant, bank, after, limit)
}

// QueueSync queues a sync with an id, unless one is queued or runs. It returns the source as it is then; ErrNotFound also when it is being
// deleted.
func (s sourceRows) QueueSync(ctx context.Context, tenant, bank, id, sync string) (Source, error) {
	return s.changeSource(ctx, tenant, bank, id, func(tx sqldb.Tx, now *Source) error {
		if now.State == SyncQueued || now.State == Syncing {
			return nil
		}
		now.State, now.Sync, now.Progress, now.Problem, now.Problems, now.NextTime = SyncQueued, sync, Progress{}, "", nil, time.Time{}
		return queueSync(ctx, tx, *now)
	})
}

// queueSync stores a new sync.
func queueSync(ctx context.Context, tx sqldb.Tx, s Source) error {
	return setSource(ctx, tx, s, `state = 'queued', sync = $3, start_us = 0, attempts = 0, next_us = 0, progress = '{}', problem = '',
		problems = '[]'`, s.Sync)
}

// PauseSource keeps syncs of a source from running, or lets them run again; ErrNotFound also when it is being deleted.
func (s sourceRows) PauseSource(ctx context.Context, tenant, bank, id string, paused bool) (Source, error) {
	return s.changeSource(ctx, tenant, bank, id, func(tx sqldb.Tx, now *Source) error {
		if now.Paused == paused {
			return nil
		}
		now.Paused = paused
		return setSource(ctx, tx, *now, "paused = $3", flag(paused))
	})
}

// changeSource runs f for a source that is not being deleted.
func (s sourceRows) changeSource(ctx context.Context, tenant, bank, id string, f func(sqldb.Tx, *Source) error) (out Source, err error) {
	err = s.db.Write(ctx, func(tx sqldb.Tx) (err error) {
		out, err = sqldb.One(ctx, tx, scanSource, "SELECT "+sourceColumns+` FROM bank_sources
			WHERE tenant = $1 AND id = $2 AND bank = $3 AND state <> 'deleting'`+s.db.ForUpdate(), tenant, id, bank)
		if err != nil {
			return err
		}
		return f(tx, &out)
	})
	return out, err
}

// MarkDeleting ends the syncs of a source, which is to be deleted, and returns it; ErrNotFound.
func (s sourceRows) MarkDeleting(ctx context.Context, tenant, bank, id string) (out Source, err error) {
	err = s.db.Write(ctx, func(tx sqldb.Tx) (err error) {
		out, err = sqldb.One(ctx, tx, scanSource, "SELECT "+sourceColumns+` FROM bank_sources
			WHERE tenant = $1 AND id = $2 AND bank = $3`+s.db.ForUpdate(), tenant, id, bank)
		if err != nil {
			return err
		}
		out.State, out.Sync, out.NextTime = Deleting, "", time.Time{}
		return setSource(ctx, tx, out, "state = 'deleting', sync = '', next_us = 0")
	})
	return out, err
}

// DeletingSources returns sources that are being deleted.
func (s sourceRows) DeletingSources(ctx context.Context, limit int) ([]Source, error) {
	return sqldb.All(ctx, s.db.Reader(), scanSource, "SELECT "+sourceColumns+` FROM bank_sources
		WHERE state = 'deleting' ORDER BY id LIMIT $1`, limit)
}

// DropSource deletes a source that is being deleted, one document in a transaction, and then itself. It may run several times at once.
func (s sourceRows) DropSource(ctx context.Context, src Source) error {
	items, err := s.Items(ctx, src)
	if err != nil {
		return err
	}
	for _, item := range items {
		err := s.db.WriteAlone(ctx, func(tx sqldb.Tx) error {
			if _, err := lockBank(ctx, s.db, tx, src.Tenant, src.Bank); err != nil {
				return err
			}
			return dropItem(ctx, s.db, tx, src, item)
		})
		if errors.Is(err, ErrNotFound) {
			return nil // with its bank
		}
		if err != nil {
			return err
		}
	}
	return s.db.Write(ctx, func(tx sqldb.Tx) error {
		if _, err := sqldb.Exec(ctx, tx, "DELETE FROM source_items WHERE tenant = $1 AND source = $2", src.Tenant, src.ID); err != nil {
			return err
		}
		_, err := sqldb.Exec(ctx, tx, "DELETE FROM bank_sources WHERE tenant = $1 AND id = $2 AND state = 'deleting'", src.Tenant, src.ID)
		return err
	})
}

// setSource changes columns of a source, whose values follow as parameters from $3 on.
func setSource(ctx context.Context, tx sqldb.Tx, s Source, columns string, values ...any) error {
	values = append([]any{s.Tenant, s.ID}, values...)
	return sqldb.ExecOne(ctx, tx, "UPDATE bank_sources SET "+columns+" WHERE tenant = $1 AND id = $2", values...)
}

// flag returns a bool as columns have it.
func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}
