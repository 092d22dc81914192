package sqldb

import (
	"context"
	"regexp"
	"strings"
)

// Plan is SQLite's plan of a statement: the output of EXPLAIN QUERY PLAN, one line per step.
type Plan struct{ Statement, Steps string }

var parameter = regexp.MustCompile(`\$\d+`)

// Plans returns the plans of all statements that a SQLite database has prepared so far, for tests that look for inefficient ones.
// PostgreSQL plans by table statistics, so there it returns none.
func (db *DB) Plans(ctx context.Context) ([]Plan, error) {
	if db.dialect != SQLite {
		return nil, nil
	}
	var out []Plan
	step := func(s Scanner) (text string, err error) {
		var id, parent, unused int
		err = s.Scan(&id, &parent, &unused, &text)
		return text, err
	}
	for _, statement := range append(db.writer.texts(), db.reader.texts()...) {
		steps, err := All(ctx, db.read, step, "EXPLAIN QUERY PLAN "+parameter.ReplaceAllString(steady(statement), "'x'"))
		if err != nil {
			return nil, err
		}
		out = append(out, Plan{Statement: statement, Steps: strings.Join(steps, "\n")})
	}
	return out, nil
}

// texts returns the prepared statements.
func (p *prepared) texts() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]string, 0, len(p.stmts))
	for text := range p.stmts {
		out = append(out, text)
	}
	return out
}
