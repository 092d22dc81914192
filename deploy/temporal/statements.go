package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"

	"github.com/jmoiron/sqlx"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"modernc.org/sqlite"
)

// maxStatements bounds the statements that a connection keeps; Temporal has about 150.
const maxStatements = 512

// keepStatements has Temporal's plugin keep its statements prepared: it parses each one at every execution otherwise, and starts a goroutine
// that waits for the end of the caller. The plugin opens its pool by the fixed name of a driver, so the pool is exchanged inside it, for all
// users of the database.
func keepStatements(ctx context.Context, db sqlplugin.DB, dsn string) error {
	plugin, err := pluginPool(db)
	if err != nil {
		return err
	}
	if _, done := plugin.Driver().(keeper); done {
		return nil
	}
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	pool := sql.OpenDB(keeper{connector})
	pool.SetMaxOpenConns(1)
	if err := pool.PingContext(ctx); err != nil { // before the old one closes, which would end a database in memory
		return fmt.Errorf("open the database: %w", err)
	}
	old := plugin.DB
	plugin.DB = pool
	return old.Close()
}

// pluginPool returns what the plugin has its pool in.
func pluginPool(db sqlplugin.DB) (*sqlx.DB, error) {
	field := reflect.Indirect(reflect.ValueOf(db)).FieldByName("db")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*sqlx.DB]() {
		return nil, fmt.Errorf("the plugin for SQLite of Temporal's server has no pool where it had one: %T", db)
	}
	return (*sqlx.DB)(field.UnsafePointer()), nil
}

// keeper opens connections that keep their statements.
type keeper struct{ driver.Connector }

// Open implements driver.Driver: keeper is its own, which shows that a pool has it.
func (k keeper) Open(string) (driver.Conn, error) { return k.Connect(context.Background()) }

// Driver implements driver.Connector.
func (k keeper) Driver() driver.Driver { return k }

// Connect implements driver.Connector.
func (k keeper) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := k.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &keptConn{sqliteConn: c.(sqliteConn), statements: map[string]statement{}}, nil
}

// sqliteConn is what database/sql uses of a connection of the driver.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// statement is a prepared statement of the driver.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// keptConn is a connection with its idle statements by their text. database/sql uses it from one goroutine at a time.
type keptConn struct {
	sqliteConn
	statements map[string]statement
}

// take returns a statement that nothing else uses: its rows may still be read while the same text is executed again.
func (c *keptConn) take(ctx context.Context, query string) (statement, error) {
	if s, ok := c.statements[query]; ok {
		delete(c.statements, query)
		return s, nil
	}
	s, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.(statement), nil
}

// give returns a statement.
func (c *keptConn) give(query string, s statement) error {
	if _, twice := c.statements[query]; twice || len(c.statements) >= maxStatements {
		return s.Close()
	}
	c.statements[query] = s
	return nil
}

// BeginTx implements driver.ConnBeginTx. Like ExecContext and QueryContext it does not watch ctx: a statement takes a fraction of a
// millisecond.
func (c *keptConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	return c.sqliteConn.BeginTx(context.WithoutCancel(ctx), opts)
}

// ExecContext implements driver.ExecerContext.
func (c *keptConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	result, err := s.ExecContext(context.WithoutCancel(ctx), args)
	if err != nil {
		_ = s.Close() // the first error is the one to report
		return nil, err
	}
	return result, c.give(query, s)
}

// QueryContext implements driver.QueryerContext.
func (c *keptConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(context.WithoutCancel(ctx), args)
	if err != nil {
		_ = s.Close() // the first error is the one to report
		return nil, err
	}
	return &keptRows{Rows: rows, done: func() error { return c.give(query, s) }}, nil
}

// keptRows give their statement back when they are closed.
type keptRows struct {
	driver.Rows
	done func() error
}

// Close implements driver.Rows.
func (r *keptRows) Close() error { return errors.Join(r.Rows.Close(), r.done()) }

// Close implements driver.Conn.
func (c *keptConn) Close() error {
	for _, s := range c.statements {
		_ = s.Close() // the connection's end ends them
	}
	return c.sqliteConn.Close()
}
