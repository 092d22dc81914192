package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Querier reads from the database. Statements use $1 placeholders on both engines.
type Querier interface {
	// QueryContext runs a query; prefer All, which also closes the rows and translates errors.
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	// QueryRowContext runs a query for at most one row; Scan returns sql.ErrNoRows if there is none.
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Tx is a writing transaction. It belongs to one goroutine and ends when the function it was passed to returns.
type Tx interface {
	Querier
	// ExecContext runs a statement that returns no rows.
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Scanner is a row to scan: *sql.Row or *sql.Rows.
type Scanner interface {
	// Scan copies the row's columns into dest.
	Scan(dest ...any) error
}

// All runs a query and collects its rows through scan. Without rows it returns a nil slice and no error. Errors are translated.
func All[T any](ctx context.Context, q Querier, scan func(Scanner) (T, error), query string, args ...any) (out []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, translate(err)
	}
	defer func() { _ = rows.Close() }() // read errors are in rows.Err
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, translate(err)
		}
		out = append(out, v)
	}
	if err := rows.Err(); err != nil {
		return nil, translate(err)
	}
	return out, nil
}

// One runs a query and scans its first row. It returns ErrNotFound if there is none. Errors are translated.
func One[T any](ctx context.Context, q Querier, scan func(Scanner) (T, error), query string, args ...any) (T, error) {
	v, err := scan(q.QueryRowContext(ctx, query, args...))
	if err != nil {
		var zero T
		return zero, translate(err)
	}
	return v, nil
}

// Column scans a row of one column, for example a count or an id; pass it to All and One.
func Column[T any](s Scanner) (v T, err error) {
	err = s.Scan(&v)
	return v, err
}

// Exec runs a statement and returns the number of rows it changed.
func Exec(ctx context.Context, tx Tx, query string, args ...any) (int64, error) {
	res, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, translate(err)
	}
	n, err := res.RowsAffected()
	return n, translate(err)
}

// ExecOne runs a statement that must change exactly one row: it returns ErrNotFound for none, and a plain error for more than one.
func ExecOne(ctx context.Context, tx Tx, query string, args ...any) error {
	switch n, err := Exec(ctx, tx, query, args...); {
	case err != nil:
		return err
	case n == 0:
		return ErrNotFound
	case n > 1:
		return fmt.Errorf("statement changed %d rows, not one", n)
	default:
		return nil
	}
}

// Reader returns a handle for single reads outside a transaction: each query sees what was committed when it began. Inside a transaction
// use the transaction's handle: Reader would take a second connection and not see the transaction's writes.
func (db *DB) Reader() Querier {
	refuseNested("Reader")
	if db.dialect == SQLite {
		return preparedReader{db.read, db.reader}
	}
	return db.read
}

// Read runs f in a read-only transaction: all its queries see one snapshot of the database. Errors are translated.
func (db *DB) Read(ctx context.Context, f func(Querier) error) error {
	end := nested("Read")
	defer end()
	opts := &sql.TxOptions{ReadOnly: true}
	if db.dialect == Postgres {
		opts.Isolation = sql.LevelRepeatableRead
	}
	tx, err := db.read.BeginTx(ctx, opts)
	if err != nil {
		return fmt.Errorf("begin read: %w", translate(err))
	}
	defer func() { _ = tx.Rollback() }() // nothing was changed
	return translate(f(tx))
}

// isDone reports whether a rollback failed only because the transaction was already over.
func isDone(err error) bool { return errors.Is(err, sql.ErrTxDone) }
