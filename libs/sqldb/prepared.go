package sqldb

import (
	"context"
	"database/sql"
	"regexp"
	"strconv"
	"sync"
)

// maxPrepared limits the prepared statements of a pool; further ones are parsed each time.
const maxPrepared = 512

// prepared caches the compiled statements of a SQLite pool: parsing is a third of the cost of a small statement. The pool closes them.
type prepared struct {
	pool *sql.DB

	mu     sync.Mutex
	stmts  map[string]*statement
	wanted []string // seen in a transaction, while the only writing connection was busy
}

func newPrepared(pool *sql.DB) *prepared {
	return &prepared{pool: pool, stmts: map[string]*statement{}}
}

func (p *prepared) find(query string) *statement {
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

func (p *prepared) add(ctx context.Context, query string) *statement {
	text, order := positional(steady(query))
	stmt, err := p.pool.PrepareContext(ctx, text)
	if err != nil {
		return nil // running it as text reports why
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if first := p.stmts[query]; first != nil || len(p.stmts) >= maxPrepared {
		_ = stmt.Close() //nolint:sqlclosecheck // another goroutine was faster; nothing ran on it
		return first
	}
	p.stmts[query] = &statement{stmt, order}
	return p.stmts[query]
}

// statement is a prepared statement whose parameters have no names; order has the number of the argument for each of them, nil if they are
// in the order of the arguments.
type statement struct {
	*sql.Stmt
	order []int
}

// args returns arguments in the order of the parameters.
func (s *statement) args(args []any) []any {
	if s.order == nil || len(args) != len(s.order) {
		return args
	}
	out := make([]any, len(args))
	for i, n := range s.order {
		out[i] = args[n-1]
	}
	return out
}

// inText matches what may be in a statement with a question mark or dollar sign that is no parameter.
var inText = regexp.MustCompile(`'[^']*[$?][^']*'|[?]|--`)

// positional replaces the parameters of a statement by question marks, and returns the numbers that they had; nil if these are 1, 2, 3 and
// so on. The driver asks SQLite for the name of each parameter at each execution, which searches all names before it and copies it. A
// statement is returned as it is if it uses a parameter twice.
func positional(query string) (text string, order []int) {
	if inText.MatchString(query) {
		return query, nil
	}
	ascending, seen := true, map[int]bool{}
	for _, name := range parameter.FindAllString(query, -1) {
		n, err := strconv.Atoi(name[1:])
		if err != nil || n < 1 || seen[n] {
			return query, nil
		}
		order = append(order, n)
		ascending, seen[n] = ascending && n == len(order), true
	}
	for n := range order {
		if !seen[n+1] {
			return query, nil
		}
	}
	if ascending {
		order = nil
	}
	return parameter.ReplaceAllString(query, "?"), order
}

var limit = regexp.MustCompile(`(?i)\bLIMIT (\$\d+)`)

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
func (t preparedTx) find(query string) *statement {
	*t.ran = append(*t.ran, query)
	return t.kept.find(query)
}

// ExecContext implements Tx.
func (t preparedTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	ctx = unwatched(ctx)
	if stmt := t.find(query); stmt != nil {
		return t.StmtContext(ctx, stmt.Stmt).ExecContext(ctx, stmt.args(args)...) //nolint:sqlclosecheck // it ends with the transaction
	}
	t.kept.want(query)
	return t.Tx.ExecContext(ctx, query, args...)
}

// QueryContext implements Querier.
func (t preparedTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	ctx = unwatched(ctx)
	if stmt := t.find(query); stmt != nil {
		return t.StmtContext(ctx, stmt.Stmt).QueryContext(ctx, stmt.args(args)...) //nolint:sqlclosecheck // it ends with the transaction
	}
	t.kept.want(query)
	return t.Tx.QueryContext(ctx, query, args...)
}

// QueryRowContext implements Querier.
func (t preparedTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	ctx = unwatched(ctx)
	if stmt := t.find(query); stmt != nil {
		return t.StmtContext(ctx, stmt.Stmt).QueryRowContext(ctx, stmt.args(args)...) //nolint:sqlclosecheck // it ends with the transaction
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
	stmt := r.stmt(ctx, query)
	if stmt == nil {
		return r.DB.QueryContext(ctx, query, args...)
	}
	return stmt.QueryContext(ctx, stmt.args(args)...)
}

// QueryRowContext implements Querier.
func (r preparedReader) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	stmt := r.stmt(ctx, query)
	if stmt == nil {
		return r.DB.QueryRowContext(ctx, query, args...)
	}
	return stmt.QueryRowContext(ctx, stmt.args(args)...)
}

func (r preparedReader) stmt(ctx context.Context, query string) *statement {
	if stmt := r.kept.find(query); stmt != nil {
		return stmt
	}
	return r.kept.add(ctx, query)
}
