package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// ErrPaused means that the source, or its bank, is paused.
var ErrPaused = errors.New("paused")

// PendingSync is a sync that is to run.
type PendingSync struct {
	// Tenant has it; Sync is its id.
	Tenant, Sync string
}

func scanSync(s sqldb.Scanner) (p PendingSync, err error) {
	err = s.Scan(&p.Tenant, &p.Sync)
	return p, err
}

// running is the condition that syncs of a row of bank_sources may run.
const running = `paused = 0 AND NOT EXISTS (SELECT 1 FROM banks b
	WHERE b.tenant = bank_sources.tenant AND b.id = bank_sources.bank AND b.paused = 1)`

// StartableSyncs returns the syncs whose workflows are to be started: those that were started before the given time and have no outcome
// yet, and the ones that wait longest of those never started, so that no more than open are under way with those started since. Those of
// paused sources and banks are left out.
func (s sourceRows) StartableSyncs(ctx context.Context, before time.Time, open int) ([]PendingSync, error) {
	const pending = "FROM bank_sources WHERE state IN ('queued', 'syncing')"
	const columns = "SELECT tenant, sync " + pending + " AND " + running
	again, err := sqldb.All(ctx, s.db.Reader(), scanSync, columns+" AND start_us > 0 AND start_us < $1 ORDER BY start_us LIMIT $2",
		sqldb.Micros(before), open)
	if err != nil {
		return nil, err
	}
	started, err := sqldb.One(ctx, s.db.Reader(), sqldb.Column[int], "SELECT count(*) "+pending+" AND start_us > 0")
	if err != nil || started >= open {
		return again, err
	}
	first, err := sqldb.All(ctx, s.db.Reader(), scanSync, columns+" AND start_us = 0 ORDER BY sync LIMIT $1", open-started)
	return append(again, first...), err
}

// MarkSyncStarted notes that the workflow of a sync was started. It ignores one that has an outcome.
func (s sourceRows) MarkSyncStarted(ctx context.Context, p PendingSync, at time.Time) error {
	return s.changeSync(ctx, p, func(tx sqldb.Tx, now Source) error {
		return setSource(ctx, tx, now, "start_us = $3", sqldb.Micros(at))
	})
}

// QueueDue queues syncs of at most limit sources whose time has come, with ids that newID makes, and returns how many.
func (s sourceRows) QueueDue(ctx context.Context, at time.Time, limit int, newID func() string) (int, error) {
	const due = `next_us > 0 AND next_us <= $1 AND state IN ('synced', 'failed') AND paused = 0`
	list, err := sqldb.All(ctx, s.db.Reader(), scanSource, "SELECT "+sourceColumns+" FROM bank_sources WHERE "+due+
		" ORDER BY next_us LIMIT $2", sqldb.Micros(at), limit)
	if err != nil {
		return 0, err
	}
	for _, src := range list {
		if _, err := s.QueueSync(ctx, src.Tenant, src.Bank, src.ID, newID()); err != nil && !errors.Is(err, ErrNotFound) {
			return 0, err
		}
	}
	return len(list), nil
}

// BeginSync notes that a sync runs, and returns its source with how many attempts have begun, this one included. ErrNotFound when there is
// a later sync or this one has an outcome; ErrPaused, and then it is queued until its source is resumed.
func (s sourceRows) BeginSync(ctx context.Context, p PendingSync) (out Source, attempts int, err error) {
	var paused bool
	err = s.db.Write(ctx, func(tx sqldb.Tx) (err error) {
		if out, err = s.lockSync(ctx, tx, p); err != nil {
			return err
		}
		bank, err := sqldb.One(ctx, tx, scanBank, "SELECT "+bankColumns+" FROM banks WHERE tenant = $1 AND id = $2", out.Tenant, out.Bank)
		if err != nil {
			return err
		}
		if paused = out.Paused || bank.Paused; paused {
			return setSource(ctx, tx, out, "state = 'queued', start_us = 0, attempts = 0")
		}
		out.State = Syncing
		attempts, err = sqldb.One(ctx, tx, sqldb.Column[int], `UPDATE bank_sources SET state = 'syncing', attempts = attempts + 1
			WHERE tenant = $1 AND id = $2 RETURNING attempts`, out.Tenant, out.ID)
		return err
	})
	if err == nil && paused {
		err = ErrPaused
	}
	return out, attempts, err
}

// ReleaseSync takes back an attempt that was stopped before it had an outcome. It ignores a sync that has one.
func (s sourceRows) ReleaseSync(ctx context.Context, p PendingSync) error {
	return s.changeSync(ctx, p, func(tx sqldb.Tx, now Source) error {
		return setSource(ctx, tx, now, "attempts = attempts - 1")
	})
}

// SetProgress stores how far a sync is; ErrNotFound when it has an outcome or there is a later one, ErrPaused.
func (s sourceRows) SetProgress(ctx context.Context, p PendingSync, progress Progress) error {
	return s.db.Write(ctx, func(tx sqldb.Tx) error {
		_, err := s.advance(ctx, tx, p, progress)
		return err
	})
}

// SyncResult is how a sync ended.
type SyncResult struct {
	// State is Synced or SyncFailed; Problem says why it failed.
	State   SyncState
	Problem string
	// Progress and Problems are those of the source.
	Progress Progress
	Problems []ItemProblem
	// Time is when it ended.
	Time time.Time
}

// FinishSync stores how a sync ended; ErrNotFound when it has an outcome or there is a later one.
func (s sourceRows) FinishSync(ctx context.Context, p PendingSync, r SyncResult) error {
	progress, err := json.Marshal(r.Progress)
	if err != nil {
		return fmt.Errorf("encode progress: %w", err)
	}
	problems, err := json.Marshal(append([]ItemProblem{}, r.Problems...))
	if err != nil {
		return fmt.Errorf("encode problems: %w", err)
	}
	return s.db.Write(ctx, func(tx sqldb.Tx) error {
		now, err := s.lockSync(ctx, tx, p)
		if err != nil {
			return err
		}
		var next time.Time
		if now.Spec.Interval > 0 {
			next = r.Time.Add(now.Spec.Interval)
		}
		return setSource(ctx, tx, now, "state = $3, problem = $4, progress = $5, problems = $6, sync_us = $7, next_us = $8", string(r.State),
			r.Problem, string(progress), string(problems), sqldb.Micros(r.Time), sqldb.Micros(next))
	})
}

// advance locks the source of a sync that may go on, and stores its progress.
func (s sourceRows) advance(ctx context.Context, tx sqldb.Tx, p PendingSync, progress Progress) (Source, error) {
	now, err := s.lockSync(ctx, tx, p)
	if err != nil {
		return now, err
	}
	if now.Paused {
		return now, ErrPaused
	}
	raw, err := json.Marshal(progress)
	if err != nil {
		return now, fmt.Errorf("encode progress: %w", err)
	}
	return now, setSource(ctx, tx, now, "progress = $3", string(raw))
}

// changeSync runs f for the source whose latest sync is p, if that has no outcome.
func (s sourceRows) changeSync(ctx context.Context, p PendingSync, f func(sqldb.Tx, Source) error) error {
	return s.db.Write(ctx, func(tx sqldb.Tx) error {
		now, err := s.lockSync(ctx, tx, p)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return f(tx, now)
	})
}

// lockSync reads and locks the source whose latest sync is p and has no outcome; ErrNotFound.
func (s sourceRows) lockSync(ctx context.Context, tx sqldb.Tx, p PendingSync) (Source, error) {
	return sqldb.One(ctx, tx, scanSource, "SELECT "+sourceColumns+` FROM bank_sources
		WHERE tenant = $1 AND sync = $2 AND state IN ('queued', 'syncing')`+s.db.ForUpdate(), p.Tenant, p.Sync)
}
