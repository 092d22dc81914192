// Package store stores sources, their tools and definitions, and the ledger of executions.
package store

import (
	"context"
	"embed"
	"errors"
	"time"

	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/sqldb"
)

var (
	// ErrNotFound means that the tenant has no such resource.
	ErrNotFound = sqldb.ErrNotFound
	// ErrExists means that the name or key is taken.
	ErrExists = errors.New("exists already")
	// ErrChanged means that the row changed since the caller read it.
	ErrChanged = errors.New("changed meanwhile")
	// ErrForgotten means that the turn or session that a row belongs to was erased.
	ErrForgotten = errors.New("erased meanwhile")
)

// SourceStore stores sources.
type SourceStore interface {
	// CreateSource adds a source; ErrExists if the name is taken.
	CreateSource(ctx context.Context, s Source) error
	// Source reads a source by id or name, with its document; ErrNotFound.
	Source(ctx context.Context, tenant, idOrName string) (Source, error)
	// Sources returns at most limit sources of the tenant whose name is after the given one, by name.
	Sources(ctx context.Context, tenant, after string, limit int) ([]Source, error)
	// AllSources returns the sources of all tenants, by tenant and name.
	AllSources(ctx context.Context) ([]Source, error)
	// UpdateSource writes spec, document, disabled and update time of the source if its revision is still s.Revision, and increments it;
	// ErrChanged if it differs, ErrNotFound.
	UpdateSource(ctx context.Context, s Source) error
	// SetLoginSubject says whose login lists the source's tools, without a new revision. It ignores a source that is gone.
	SetLoginSubject(ctx context.Context, tenant, id, subject string) error
	// DeleteSource removes the source and its tools; ErrNotFound.
	DeleteSource(ctx context.Context, tenant, id string) error
}

// ToolStore stores inventories.
type ToolStore interface {
	// SyncFailed records that a sync failed, so that the source is Unreachable or Invalid. It ignores a source that is gone or has another
	// revision.
	SyncFailed(ctx context.Context, s Source, state, why string) error
	// ApplyInventory replaces the tools of a source by the result of a sync, in one transaction, and marks the source ready. ErrChanged if the
	// source is gone or has another revision than s, or another digest if the result is that nothing changed.
	ApplyInventory(ctx context.Context, s Source, found Inventory) (Diff, error)
	// Drifted returns the tools of a source whose changed definition is held back, by name.
	Drifted(ctx context.Context, s Source) ([]Drift, error)
	// Accept makes the definitions held back those of their tools. ErrChanged if one is no longer held back, or the source is gone or has
	// another revision than s.
	Accept(ctx context.Context, s Source, drifts []Drift, at time.Time) error
	// ToolNames returns the names of present tools of enabled sources after the given name, by name, at most limit; of one
	// source (by name) if that is not empty.
	ToolNames(ctx context.Context, tenant, source, after string, limit int) ([]string, error)
	// ToolsVersion identifies the enabled sources and those of their present tools that are not drifted: it changes with any of them.
	ToolsVersion(ctx context.Context, tenant string) (string, error)
	// ToolTexts returns what people and models read of the tools that ToolsVersion covers, after the given name, by name, at most limit.
	ToolTexts(ctx context.Context, tenant, after string, limit int) ([]ToolText, error)
	// Tool reads a present tool with its source, without its definition; ErrNotFound. Callers share it and must not change it.
	Tool(ctx context.Context, tenant, name string) (Tool, error)
	// Tools reads the existing ones of the named present tools, with sources and definitions, by name.
	Tools(ctx context.Context, tenant string, names []string) ([]Tool, error)
	// Definitions reads the existing ones of the given definitions, in no particular order.
	Definitions(ctx context.Context, tenant string, hashes []string) ([]Definition, error)
	// Counts returns the number of present tools of enabled sources that are ready, and of those sources, over all tenants.
	Counts(ctx context.Context) (tools, sources int, err error)
}

// Ledger stores executions. Every change is conditional on the state that the caller read, since several replicas work on it.
type Ledger interface {
	// Execution reads a row by its key; ErrNotFound.
	Execution(ctx context.Context, tenant, key string) (Execution, error)
	// Open commits a new open row, to disk if its effect may not be repeated; ErrExists if the key is taken.
	Open(ctx context.Context, e Execution) error
	// OpenLate is Open for a call that is under way. ErrForgotten if its turn or session was erased meanwhile.
	OpenLate(ctx context.Context, e Execution) error
	// Reopen opens the row again, as Open does, for owner until lease, with one more attempt and with decision, definition, effect, approval
	// and resolution of e, if it still has the state, owner and attempts of e; else ErrChanged. It returns the new row.
	Reopen(ctx context.Context, e Execution, owner string, lease time.Time) (Execution, error)
	// Attempt records that the call is about to be sent again; ErrChanged if the row is no longer e's.
	Attempt(ctx context.Context, e Execution) error
	// Close writes the end: state, is_error, code, result, latency and end time of e. The row must still be open (or given up as unresolved)
	// with e's owner and attempts; else ErrChanged.
	Close(ctx context.Context, e Execution) error
	// Resolve writes a person's resolution of an unresolved row: the resolution, and state, is_error, code, result and end time of e.
	// ErrChanged if the row is no longer unresolved with e's owner and attempts.
	Resolve(ctx context.Context, e Execution) error
	// GiveUp marks an open row unresolved if its owner and attempts are still those of e; else ErrChanged.
	GiveUp(ctx context.Context, e Execution, at time.Time) error
	// GiveUpOrphans marks open rows as unresolved whose lease ended before the given time, and returns how many.
	GiveUpOrphans(ctx context.Context, before, at time.Time) (int64, error)
	// GiveUpAll marks all rows as unresolved that are open or wait for an answer, of any owner, and returns them: after a restore
	// no process runs them.
	GiveUpAll(ctx context.Context, at time.Time) ([]Execution, error)
	// Extend extends the leases of the given rows that are open and belong to owner, and returns the ids of those that AskStop marked.
	Extend(ctx context.Context, owner string, ids []string, lease time.Time) (stopped []string, err error)
	// AskStop marks an open row with a valid lease, so that its owner stops the call; false if there is none. Reopen clears the mark.
	AskStop(ctx context.Context, tenant, key string, at time.Time) (bool, error)
	// Undelivered returns at most limit rows, the oldest first, with decisions that policy may not have: those of owner, and those that were
	// created before a time. Delivered removes the decisions from rows, Refused sets one aside that policy cannot read.
	Undelivered(ctx context.Context, owner string, before time.Time, limit int) ([]Execution, error)
	Delivered(ctx context.Context, rows []Execution) error
	Refused(ctx context.Context, e Execution) error
	// Record commits a finished row of a call that was answered from the cache; ErrExists if the key is taken.
	Record(ctx context.Context, e Execution) error
	// RecordLater commits a finished row, whose key is new, within a moment; what reads executions through this store waits for it. A crash
	// before that loses it. It blocks while too many rows wait, and returns an error only if ctx ends.
	RecordLater(ctx context.Context, e Execution) error
	// Flush waits until the rows of RecordLater are committed, or until ctx ends.
	Flush(ctx context.Context) error
	// Repeated reports whether there is an execution with the turn, tool and arguments of e.
	Repeated(ctx context.Context, e Execution) (bool, error)
	// CacheUse counts the executions that were created since a time.
	CacheUse(ctx context.Context, tenant string, since time.Time) (CacheUse, error)
	// Kept returns source and tool of the executions of turns whose results may be in the cache.
	Kept(ctx context.Context, tenant string, turns []string) ([]Execution, error)
	// Forget erases the conversation from the executions of turns, and returns how many are left for later; see forget.go.
	Forget(ctx context.Context, tenant string, turns []string) (open int, err error)
	// Executions returns at most limit rows after the cursor, newest first, without results.
	Executions(ctx context.Context, tenant string, f ExecutionFilter, after Cursor, limit int) ([]Execution, error)
}

// Store is the whole store. Each change that is a domain event is recorded as one in the same transaction.
type Store interface {
	SourceStore
	ToolStore
	Ledger
	Insight
	GroupStore
	// EventLog returns the table of the domain events.
	EventLog() *eventlog.Table
}

//go:embed migrations/*.sql
var migrations embed.FS

// Migrate applies pending migrations.
func Migrate(ctx context.Context, db *sqldb.DB) error {
	return db.Migrate(ctx, migrations, "migrations")
}

// New returns the store in a database that Migrate has prepared.
func New(db *sqldb.DB) Store {
	recorder := eventDB{DB: db, events: eventlog.NewTable(db, "registry")}
	ledger := recorder.ledger()
	return sqlStore{
		eventDB: recorder, sqlSources: sqlSources{recorder}, sqlTools: recorder.tools(), sqlLedger: ledger,
		sqlInsight: sqlInsight{db, ledger.later}, sqlGroups: sqlGroups{recorder},
	}
}

// sqlStore implements Store with one part per group of tables.
type sqlStore struct {
	eventDB
	sqlSources
	sqlTools
	sqlLedger
	sqlInsight
	sqlGroups
}
