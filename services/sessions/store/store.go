// Package store keeps agents, sessions, messages, turns, steps and the journal in a database. Its one SQL text runs on SQLite and
// PostgreSQL; storetest holds both to the same behaviour.
//
// A transaction that touches a session takes the session's lock first (Tx.LockSession, Tx.LockTurn), so that changes of one
// session happen one after the other and its sequence numbers have no gap. No method locks a second session.
package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/budgetdb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
	"github.com/windlass-dev/windlass/services/sessions/store/scheduledb"
	"github.com/windlass-dev/windlass/services/sessions/store/totalsdb"
	"github.com/windlass-dev/windlass/services/sessions/store/usagedb"
	"github.com/windlass-dev/windlass/services/sessions/store/webhookdb"
)

//go:embed migrations/*.sql
var migrations embed.FS

var (
	// ErrNotFound means that no row fits.
	ErrNotFound = sqldb.ErrNotFound
	// ErrExists means that a row with the same key exists. The transaction cannot continue after it.
	ErrExists = rows.ErrExists
	// ErrNotNew means that a step that was assumed to be new is not: the transaction has to run again and read it.
	ErrNotNew = rows.ErrNotNew
)

// Page says which rows of a list to read.
type Page = rows.Page

// Store is the sessions service's part of a database. It is safe for concurrent use. Every method may fail with
// a fault of code UNAVAILABLE when the database is away, full or cannot be written.
type Store struct {
	rows.Reader
	sessionReader
	turnReader
	waitReader
	childReader
	outboxReader
	agentReader
	fileReader
	webhookReader
	scheduleReader
	budgetReader
	usageReader
	totalsReader
	domain *eventlog.Table
}

// Open brings the tables up to date and returns the store. The database stays its owner's to close.
func Open(ctx context.Context, db *sqldb.DB) (*Store, error) {
	if db == nil {
		return nil, errors.New("sessions store needs a database")
	}
	if err := db.Migrate(ctx, migrations, "migrations"); err != nil {
		return nil, fmt.Errorf("open sessions store: %w", err)
	}
	return newStore(rows.Reader{DB: db}), nil
}

// The parts of a transaction and of the store, one for each group of tables.
type (
	webhookTx      = webhookdb.Tx
	webhookReader  = webhookdb.Reader
	scheduleTx     = scheduledb.Tx
	scheduleReader = scheduledb.Reader
	budgetTx       = budgetdb.Tx
	budgetReader   = budgetdb.Reader
	usageReader    = usagedb.Reader
	totalsReader   = totalsdb.Reader

	sessionTx struct{ rows.Tx }
	turnTx    struct{ rows.Tx }
	waitTx    struct{ rows.Tx }
	childTx   struct{ rows.Tx }
	outboxTx  struct{ rows.Tx }
	agentTx   struct{ rows.Tx }
	fileTx    struct{ rows.Tx }

	sessionReader struct{ rows.Reader }
	turnReader    struct{ rows.Reader }
	waitReader    struct{ rows.Reader }
	childReader   struct{ rows.Reader }
	outboxReader  struct{ rows.Reader }
	agentReader   struct{ rows.Reader }
	fileReader    struct{ rows.Reader }
)

// Tx is a writing transaction. It belongs to one goroutine and ends with the function it was given to.
type Tx struct {
	rows.Tx
	sessionTx
	turnTx
	waitTx
	childTx
	outboxTx
	agentTx
	fileTx
	webhookTx
	scheduleTx
	budgetTx

	domain   *eventlog.Table
	recorded int // domain events
}

// Write runs f in one transaction: all of it stands, or nothing after an error. f may run again, for example after a
// conflict, so it must set all its results.
func (s *Store) Write(ctx context.Context, f func(*Tx) error) error {
	recorded := 0
	err := s.Transact(ctx, func(row *rows.Tx) error {
		tx := newTx(*row)
		tx.domain = s.domain
		err := f(tx)
		recorded = tx.recorded
		return err
	})
	if err == nil && recorded > 0 {
		s.domain.Added()
	}
	return err
}

// Now is the database's time, in whole microseconds as columns have them: all that is stored and judged by time uses it.
func (s *Store) Now() time.Time { return sqldb.Time(sqldb.Micros(s.DB.Now())) }

func newTx(tx rows.Tx) *Tx {
	return &Tx{
		Tx: tx, sessionTx: sessionTx{tx}, turnTx: turnTx{tx}, waitTx: waitTx{tx}, childTx: childTx{tx}, outboxTx: outboxTx{tx},
		agentTx: agentTx{tx}, fileTx: fileTx{tx},
		webhookTx: webhookTx{Tx: tx}, scheduleTx: scheduleTx{Tx: tx}, budgetTx: budgetTx{Tx: tx},
	}
}

func newStore(r rows.Reader) *Store {
	return &Store{
		Reader: r, sessionReader: sessionReader{r}, turnReader: turnReader{r}, waitReader: waitReader{r}, childReader: childReader{r},
		outboxReader: outboxReader{r}, agentReader: agentReader{r}, fileReader: fileReader{r}, webhookReader: webhookReader{Reader: r},
		scheduleReader: scheduleReader{Reader: r},
		budgetReader:   budgetReader{Reader: r},
		usageReader:    usageReader{Reader: r},
		totalsReader:   totalsReader{Reader: r},
		domain:         eventlog.NewTable(r.DB, "sessions"),
	}
}
