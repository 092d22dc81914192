package sqldb

import (
	"context"
	"database/sql"
	"regexp"
	"sync"
)

// maxPrepared limits the prepared statements of a pool; further ones are parsed each time.
const maxPrepared = 512

// prepared caches the compiled statements of a SQLite pool: parsing is a third of the cost of a small statement. The pool closes them.
type prepared struct {
	pool *sql.DB

	mu     sync.Mutex
	stmts  map[string]*sql.Stmt
	wanted []string // seen in a transaction, while the only writing connection was busy
}

func newPrepared(pool *sql.DB) *prepared {
	return &prepared{pool: pool, stmts: map[string]*sql.Stmt{}}
}

func (p *prepared) find(query string) *sql.Stmt {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stmts[query]
}

// want queues a statement for the next call of prepareWanted.
func (p *prepared) want(query string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.stmts)+len(p.wanted) < maxPrepared {
		p.wanted = append(p.wanted, query)
	}
}

// prepareWanted prepares the queued statements. It needs a connection of the pool. A statement that cannot be prepared is run as text.
func (p *prepared) prepareWanted(ctx context.Context) {
	p.mu.Lock()
	wanted := p.wanted
	p.wanted = nil
	p.mu.Unlock()
	for _, query := range wanted {
		if p.find(query) == nil {
			p.add(ctx, query)
		}
	}
}

func (p *prepared) add(ctx context.Context, query string) *sql.Stmt {
	stmt, err := p.pool.PrepareContext(ctx, steady(query))
	if err != nil {
		return nil // running it as text reports why
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if first := p.stmts[query]; first != nil || len(p.stmts) >= maxPrepared {
		_ = stmt.Close() //nolint:sqlclosecheck // another goroutine was faster; nothing ran on it
		return first
	}
	p.stmts[query] = stmt
	return stmt
}

var limit = regexp.MustCompile(`(?i)\bLIMIT (\$\d+)`) //nolint:gochecknoglobals // compiled once

// steady turns a statement's limits into expressions. If a limit is a bare parameter, SQLite's planner uses its value, and re-plans the
// statement each time the parameter is bound (sqlite3ExprIsInteger, since 3.47), which doubles the cost of a small query.
func steady(query string) string { return limit.ReplaceAllString(query, "LIMIT ($1 + 0)") }

// preparedTx is a transaction with prepared statements. A statement cannot have two open sets of rows, so callers must read all rows before
// they query again, as All does.
type preparedTx struct {
	*sql.Tx
	kept *prepared
	ran  *[]string // the statements of the transaction
}

// find returns the prepared statement of a query; nil if there is none. It notes the query.
func (t preparedTx) find(query string) *sql.Stmt {
	*t.ran = append(*t.ran, query)
	return t.kept.find(query)
}

// ExecContext implements Tx.
func (t preparedTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	ctx = unwatched(ctx)
	if stmt := t.find(query); stmt != nil {
		return t.StmtContext(ctx, stmt).ExecContext(ctx, args...) //nolint:sqlclosecheck // it ends with the transaction
	}
	t.kept.want(query)
	return t.Tx.ExecContext(ctx, query, args...)
}

// QueryContext implements Querier.
func (t preparedTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	ctx = unwatched(ctx)
	if stmt := t.find(query); stmt != nil {
		return t.StmtContext(ctx, stmt).QueryContext(ctx, args...) //nolint:sqlclosecheck // it ends with the transaction
	}
	t.kept.want(query)
	return t.Tx.QueryContext(ctx, query, args...)
}

// QueryRowContext implements Querier.
func (t preparedTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	ctx = unwatched(ctx)
	if stmt := t.find(query); stmt != nil {
		return t.StmtContext(ctx, stmt).QueryRowContext(ctx, args...) //nolint:sqlclosecheck // it ends with the transaction
	}
	t.kept.want(query)
	return t.Tx.QueryRowContext(ctx, query, args...)
}

// preparedReader reads with prepared statements. Open rows hold their own connection, and its statements.
type preparedReader struct {
	*sql.DB
	kept *prepared
}

// QueryContext implements Querier.
func (r preparedReader) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt := r.stmt(ctx, query) //nolint:sqlclosecheck // the pool closes it at its end
	if stmt == nil {
		return r.DB.QueryContext(ctx, query, args...)
	}
	return stmt.QueryContext(ctx, args...)
}

// QueryRowContext implements Querier.
func (r preparedReader) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	stmt := r.stmt(ctx, query) //nolint:sqlclosecheck // the pool closes it at its end
	if stmt == nil {
		return r.DB.QueryRowContext(ctx, query, args...)
	}
	return stmt.QueryRowContext(ctx, args...)
}

func (r preparedReader) stmt(ctx context.Context, query string) *sql.Stmt {
	if stmt := r.kept.find(query); stmt != nil {
		return stmt
	}
	return r.kept.add(ctx, query)
}
