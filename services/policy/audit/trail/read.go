package trail

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

const (
	// window is how many places one statement examines, windows how many statements one List runs.
	window  = 5000
	windows = 10
)

// Filter selects records; all conditions that are set must hold.
type Filter struct {
	// Since and Until bound the time, Until exclusively.
	Since, Until time.Time
	// Subject, Resource and TurnID must be equal. Action too, unless it ends with "*", which stands for any text.
	Subject, Action, Resource, TurnID string
	// Outcome is one of the outcomes.
	Outcome string
	// OldestFirst lists from the beginning of the chain.
	OldestFirst bool
}

// Page is a part of a list.
type Page struct {
	Records []Record
	// Position is the place of the last record that was examined, from which the next page continues; 0 = this was the last page.
	Position int64
}

// List returns at most limit records after a position, 0 = from the start. The work is bounded: a page may have fewer records, even none,
// although others follow.
func (t *Trail) List(ctx context.Context, tenant string, f Filter, position int64, limit int) (Page, error) {
	end, err := t.end(ctx, t.db.Reader(), tenant)
	if err != nil {
		return Page{}, fmt.Errorf("list audit records: %w", err)
	}
	oldest, err := anchorOf(ctx, t.db.Reader(), tenant)
	if err != nil {
		return Page{}, fmt.Errorf("list audit records: %w", err)
	}
	var p Page
	low, high := oldest.Seq, end.seq // what is left: after low, up to high
	if position > 0 && f.OldestFirst {
		low = max(low, position)
	} else if position > 0 {
		high = position - 1
	}
	for range windows {
		if low >= high {
			p.Position = 0
			return p, nil
		}
		from, to := low, min(low+window, high)
		if !f.OldestFirst {
			from, to = max(high-window, low), high
		}
		found, err := t.window(ctx, tenant, f, from, to, limit-len(p.Records))
		if err != nil {
			return p, fmt.Errorf("list audit records: %w", err)
		}
		p.Records = append(p.Records, found...)
		if p.Position = to; !f.OldestFirst {
			p.Position = from + 1
		}
		if len(p.Records) == limit {
			p.Position = p.Records[limit-1].Seq
			return p, nil
		}
		if low = to; !f.OldestFirst {
			low, high = oldest.Seq, from
		}
	}
	return p, nil
}

// window reads records after one place and up to another.
func (t *Trail) window(ctx context.Context, tenant string, f Filter, from, to int64, limit int) ([]Record, error) {
	query := `SELECT ` + columns + ` FROM audit_records WHERE tenant = $1 AND seq > 0 AND seq > $2 AND seq <= $3`
	args := []any{tenant, from, to}
	and := func(condition string, v any) {
		args = append(args, v)
		query += fmt.Sprintf(" AND "+condition, len(args))
	}
	for _, c := range [][2]string{{"subject", f.Subject}, {"resource", f.Resource}, {"turn_id", f.TurnID}, {"outcome", f.Outcome}} {
		if c[1] != "" {
			and(c[0]+" = $%d", c[1])
		}
	}
	if prefix, pattern := strings.CutSuffix(f.Action, "*"); pattern {
		and("action >= $%d", prefix)
		and("action < $%d", prefix+"\U0010FFFF")
	} else if f.Action != "" {
		and("action = $%d", f.Action)
	}
	if !f.Since.IsZero() {
		and("time_us >= $%d", sqldb.Micros(f.Since))
	}
	if !f.Until.IsZero() {
		and("time_us < $%d", sqldb.Micros(f.Until))
	}
	order := "DESC"
	if f.OldestFirst {
		order = "ASC"
	}
	args = append(args, limit)
	return sqldb.All(ctx, t.db.Reader(), scan, query+fmt.Sprintf(` ORDER BY seq %s LIMIT $%d`, order, len(args)), args...)
}
