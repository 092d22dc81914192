// Package store keeps sources, their tools and definitions, and the ledger of executions.
package store

import (
	"context"
	"embed"
	"errors"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

var (
	// ErrNotFound means that the tenant has no such thing.
	ErrNotFound = sqldb.ErrNotFound
	// ErrExists means that the name or key is taken.
	ErrExists = errors.New("exists already")
	// ErrChanged means that the row is no longer what the caller had read.
	ErrChanged = errors.New("changed meanwhile")
)

// SourceStore keeps sources.
type SourceStore interface {
	// CreateSource adds one; ErrExists when the name is taken.
	CreateSource(ctx context.Context, s Source) error
	// Source reads one by id or name; ErrNotFound.
	Source(ctx context.Context, tenant, idOrName string) (Source, error)
	// Sources returns at most limit sources of the tenant whose name is after the given one, by name.
	Sources(ctx context.Context, tenant, after string, limit int) ([]Source, error)
	// AllSources returns the sources of all tenants, by tenant and name.
	AllSources(ctx context.Context) ([]Source, error)
	// UpdateSource writes spec, disabled and update time of the source if its revision is still s.Revision, which it raises;
	// ErrChanged if it is another, ErrNotFound.
	UpdateSource(ctx context.Context, s Source) error
	// DeleteSource removes the source and its tools; ErrNotFound.
	DeleteSource(ctx context.Context, tenant, id string) error
}

// ToolStore keeps inventories.
type ToolStore interface {
	// Unreachable notes that a look at the source failed. A source that is gone or has another revision is left alone.
	Unreachable(ctx context.Context, s Source, why string) error
	// ApplyInventory makes the tools of a source what a look at it found, in one transaction, and marks the source ready.
	// ErrChanged when the source is gone or has another revision than s.
	ApplyInventory(ctx context.Context, s Source, found Inventory) (Diff, error)
	// ToolNames returns the names of present tools of enabled sources after the given name, by name, at most limit; of one
	// source (by name) if that is not empty.
	ToolNames(ctx context.Context, tenant, source, after string, limit int) ([]string, error)
	// Tool reads a present tool with its source, without its definition; ErrNotFound.
	Tool(ctx context.Context, tenant, name string) (Tool, error)
	// Tools reads those of the named present tools there are, with sources and definitions, by name.
	Tools(ctx context.Context, tenant string, names []string) ([]Tool, error)
	// Definitions reads those of the definitions there are, in no particular order.
	Definitions(ctx context.Context, tenant string, hashes []string) ([]Definition, error)
	// Counts returns the number of present tools of enabled sources that are ready, and of those sources, over all tenants.
	Counts(ctx context.Context) (tools, sources int, err error)
}

// Ledger keeps executions. Every change is conditional on the row being as the caller saw it: several replicas work on it.
type Ledger interface {
	// Execution reads a row by its key; ErrNotFound.
	Execution(ctx context.Context, tenant, key string) (Execution, error)
	// Open commits a new open row, to disk if its effect may not be repeated; ErrExists when the key is taken.
	Open(ctx context.Context, e Execution) error
	// Reopen makes the row open again, as Open does, for owner until lease, with one attempt more and with decision, definition, effect,
	// approval and resolution of e, if it still has the state, owner and attempts of e; else ErrChanged. It gives the row as it is then.
	Reopen(ctx context.Context, e Execution, owner string, lease time.Time) (Execution, error)
	// Attempt notes that the call is about to be sent once more; ErrChanged when the row is no longer e's.
	Attempt(ctx context.Context, e Execution) error
	// Close writes the end: state, is_error, code, result, latency and end time of e. The row must still be open (or given
	// up as unresolved) with e's owner and attempts; else ErrChanged.
	Close(ctx context.Context, e Execution) error
	// Resolve writes what somebody said of an unresolved row: the resolution, and state, is_error, code, result and end time of e.
	// ErrChanged when the row is no longer unresolved with e's owner and attempts.
	Resolve(ctx context.Context, e Execution) error
	// GiveUp marks an open row unresolved if its owner and attempts are still those of e; else ErrChanged.
	GiveUp(ctx context.Context, e Execution, at time.Time) error
	// GiveUpOrphans marks the open rows unresolved whose lease ended before the given time, and tells how many.
	GiveUpOrphans(ctx context.Context, before, at time.Time) (int64, error)
	// Extend prolongs the leases of those of the rows that are open and the owner's, and gives the ids of those that AskStop marked.
	Extend(ctx context.Context, owner string, ids []string, lease time.Time) (stopped []string, err error)
	// AskStop marks an open row whose lease holds, so that its owner stops the call; false when there is none. Reopen takes the mark off.
	AskStop(ctx context.Context, tenant, key string, at time.Time) (bool, error)
	// Forget erases from the executions of turns what they say of the conversation, and gives how many are still open; see forget.go.
	Forget(ctx context.Context, tenant string, turns []string) (open int, err error)
	// Executions returns at most limit rows after the cursor, newest first, without results.
	Executions(ctx context.Context, tenant string, f ExecutionFilter, after Cursor, limit int) ([]Execution, error)
}

// Store is everything.
type Store interface {
	SourceStore
	ToolStore
	Ledger
	GroupStore
}

//go:embed migrations/*.sql
var migrations embed.FS

// Migrate brings the schema up to date.
func Migrate(ctx context.Context, db *sqldb.DB) error {
	return db.Migrate(ctx, migrations, "migrations")
}

// New returns the store in a database that Migrate has prepared.
func New(db *sqldb.DB) Store { return sqlStore{db} }

type sqlStore struct{ db *sqldb.DB }
