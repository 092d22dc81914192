// Package rows is what the tables of the sessions service have in common: transactions, reads, statements and stored messages.
package rows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/sqldb"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// ErrExists means that a row with the same key exists. The transaction cannot continue after it.
var ErrExists = errors.New("exists already")

// ErrNotNew means that a step that was assumed to be new is not: the transaction has to run again and read it.
var ErrNotNew = errors.New("the step is there already")

// Tx is a writing transaction. It belongs to one goroutine and ends with the function it was given to.
type Tx struct {
	sqldb.Tx
	// DB is the transaction's database.
	DB *sqldb.DB
}

// Now is the database's time, in whole microseconds as columns have them.
func (tx *Tx) Now() time.Time { return sqldb.Time(sqldb.Micros(tx.DB.Now())) }

// Reader reads outside a transaction.
type Reader struct{ DB *sqldb.DB }

// Transact runs f in one transaction; see store.Store.Write.
func (r Reader) Transact(ctx context.Context, f func(*Tx) error) error {
	return Meaning(r.DB.Write(ctx, func(tx sqldb.Tx) error { return f(&Tx{Tx: tx, DB: r.DB}) }))
}

// Flush returns when everything that was committed before is on disk, so that a power failure does not take it.
func (r Reader) Flush() error { return Meaning(r.DB.Flush()) }

// One reads one row outside a transaction.
func One[T any](ctx context.Context, q sqldb.Querier, scan func(sqldb.Scanner) (T, error), query string, args ...any) (T, error) {
	v, err := sqldb.One(ctx, q, scan, query, args...)
	return v, Meaning(err)
}

// All reads rows outside a transaction.
func All[T any](ctx context.Context, q sqldb.Querier, scan func(sqldb.Scanner) (T, error), query string, args ...any) ([]T, error) {
	v, err := sqldb.All(ctx, q, scan, query, args...)
	return v, Meaning(err)
}

// Of returns columns as those of one of the tables of a statement.
func Of(table, columns string) string {
	return table + "." + strings.Join(strings.Fields(strings.ReplaceAll(columns, ",", " ")), ", "+table+".")
}

// More scans a row that has more columns.
type More struct {
	sqldb.Scanner
	// Last are where the further columns go.
	Last []any
}

// Scan implements sqldb.Scanner.
func (m More) Scan(dest ...any) error { return m.Scanner.Scan(append(dest, m.Last...)...) }

// Selection is a statement that is put together from the conditions that are asked for.
type Selection struct {
	Text string
	Args []any
}

// NewSelection begins a statement with a text; see Add.
func NewSelection(text string, args ...any) *Selection {
	out := &Selection{}
	out.Add(text, args...)
	return out
}

// Add appends a text in which one question mark stands for all of the values, separated by commas.
func (s *Selection) Add(text string, values ...any) {
	s.Text += strings.ReplaceAll(text, "?", sqldb.Placeholders(len(s.Args)+1, len(values)))
	s.Args = append(s.Args, values...)
}

// Page says which rows of a list to read, by the time at which they were created and their id: the newest first.
type Page struct {
	// Since and Until narrow to rows that were created from Since on and before Until; zero = no bound.
	Since, Until time.Time
	// By is the expression by whose value rows are ordered, the highest first; "" = by the time.
	By string
	// OldestFirst reverses the order.
	OldestFirst bool
	// After, which stands for the value of By if there is one, and AfterID name the last row of the page before; zero = the first page.
	After   time.Time
	AfterID string
	// Limit bounds the page.
	Limit int
}

// AddPage ends the statement of a list with the conditions, the order and the limit of a page.
func (s *Selection) AddPage(p Page) {
	if !p.Since.IsZero() {
		s.Add(" AND create_us >= ?", sqldb.Micros(p.Since))
	}
	if !p.Until.IsZero() {
		s.Add(" AND create_us < ?", sqldb.Micros(p.Until))
	}
	beyond, direction := "<", " DESC"
	if p.OldestFirst {
		beyond, direction = ">", ""
	}
	by := cmp.Or(p.By, "create_us")
	if !p.After.IsZero() || p.By != "" && p.AfterID != "" {
		s.Add(" AND ("+by+", id) "+beyond+" (?)", sqldb.Micros(p.After), p.AfterID)
	}
	s.Add(" ORDER BY "+by+direction+", id"+direction+" LIMIT ?", p.Limit)
}

// Flag is a boolean as both engines store it.
func Flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Unique turns a violation of uniqueness into ErrExists.
func Unique(err error) error {
	if sqldb.IsUnique(err) {
		return fmt.Errorf("%w: %w", ErrExists, err)
	}
	return err
}

// Meaning turns the database's troubles that a caller can wait for into faults. Others pass.
func Meaning(err error) error {
	switch {
	case err == nil, fault.As(err) != nil:
		return err
	case errors.Is(err, sqldb.ErrUnavailable), errors.Is(err, sqldb.ErrConflict):
		return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "the sessions database is not available").
			RetryAfter(time.Second).Cause(err)
	case errors.Is(err, sqldb.ErrDiskFull), errors.Is(err, sqldb.ErrReadOnly):
		return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "the sessions database cannot be written").
			Hint("An operator must look at the disk and the permissions of the database.").Cause(err)
	}
	return err
}

// Blob is never NULL.
func Blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
