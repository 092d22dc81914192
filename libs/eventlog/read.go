package eventlog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/libs/sqldb"
)

const (
	// window is how many numbers one statement examines, windows how many statements one Read runs.
	window  = 5000
	windows = 10
	// maxPage limits the data of a page in bytes. A page has at least one event.
	maxPage = 1 << 20
)

// ErrAhead means that a position is after the end of the log.
var ErrAhead = errors.New("position is ahead of the log")

// Query selects events of a tenant; all conditions that are set must hold.
type Query struct {
	// Tenant is whose events are read.
	Tenant string
	// After and Before bound their numbers, exclusively; Before 0 = up to the end.
	After, Before int64
	// Newest reads from the end.
	Newest bool
	// Types are the types; empty = all.
	Types []string
	// Subject is the subject, or a pattern of it; empty = all.
	Subject string
	// Owner leaves out the events of other owners; empty = none.
	Owner string
	// Since and Until bound the time, Until exclusively; zero = unbounded.
	Since, Until time.Time
	// Limit is the largest number of events; 0 reads none, only the positions.
	Limit int
}

// Page is a part of a log.
type Page struct {
	// Events are in the order of the query.
	Events []Event
	// First and Last bound what the query selects: numbers after First, up to Last.
	First, Last int64
	// Position is how far events were examined: all up to it, or all from it on if the newest come first.
	Position int64
	// Done means that all that the query selects was examined.
	Done bool
	// Head is the number of the last event of the log.
	Head int64

	size int
}

// Read reads a part of a log. Its work is bounded: a page may have less events than there are, even none; continue at its position. It
// returns ErrAhead if After or Before-1 is after the end of the log.
func (t *Table) Read(ctx context.Context, q Query) (Page, error) {
	p, err := t.bounds(ctx, q)
	if err != nil || q.Limit <= 0 {
		return p, err
	}
	for range windows {
		if p.Done = p.done(q.Newest); p.Done {
			return p, nil
		}
		if err := t.window(ctx, q, &p); err != nil {
			return p, fmt.Errorf("read events: %w", err)
		}
		if p.full(q) {
			break
		}
	}
	p.Done = p.done(q.Newest)
	return p, nil
}

func (p Page) full(q Query) bool { return len(p.Events) == q.Limit || p.size >= maxPage }

func (p Page) done(newest bool) bool {
	if newest {
		return p.Position <= p.First+1
	}
	return p.Position >= p.Last
}

// bounds finds the part of the log that the query selects. The end is read first: what is committed later is not part of the page.
func (t *Table) bounds(ctx context.Context, q Query) (p Page, err error) {
	if p.Head, err = t.Head(ctx, q.Tenant); err != nil {
		return p, fmt.Errorf("read events: %w", err)
	}
	if q.After < 0 || q.After > p.Head || q.Before < 0 || q.Before > p.Head+1 {
		return p, ErrAhead
	}
	p.First, p.Last = q.After, p.Head
	if q.Before > 0 {
		p.Last = q.Before - 1
	}
	if !q.Since.IsZero() {
		since, err := t.before(ctx, q.Tenant, q.Since)
		if err != nil {
			return p, fmt.Errorf("read events: %w", err)
		}
		p.First = max(p.First, since)
	}
	if !q.Until.IsZero() {
		until, err := t.before(ctx, q.Tenant, q.Until)
		if err != nil {
			return p, fmt.Errorf("read events: %w", err)
		}
		p.Last = min(p.Last, until)
	}
	p.Last = max(p.Last, p.First)
	if p.Position = p.First; q.Newest {
		p.Position = p.Last + 1
	}
	return p, nil
}

// window examines the next numbers of the page, and moves its position.
func (t *Table) window(ctx context.Context, q Query, p *Page) error {
	low, high, order := p.Position, p.Last, ""
	if q.Newest {
		high, order = p.Position-1, " DESC"
		low = max(high-window, p.First)
	} else { // the oldest may have been deleted
		first, err := t.from(ctx, q.Tenant, low+1)
		if err != nil {
			return err
		}
		if first.seq == 0 || first.seq > p.Last {
			p.Position = p.Last
			return nil
		}
		low, high = first.seq-1, min(first.seq-1+window, high)
	}
	args := []any{q.Tenant, low, high}
	query := `SELECT tenant, id, seq, type, subject, time_us, data FROM ` + t.events + ` WHERE tenant = $1 AND seq > $2 AND seq <= $3 AND seq > 0`
	if len(q.Types) > 0 {
		query += ` AND type IN (` + places(&args, q.Types) + `)`
	}
	pattern := strings.ContainsAny(q.Subject, "*?")
	if q.Subject != "" && !pattern {
		query += ` AND subject = ` + places(&args, []string{q.Subject})
	}
	if q.Owner != "" {
		query += ` AND owner IN ('', ` + places(&args, []string{q.Owner}) + `)`
	}
	limit := q.Limit - len(p.Events)
	if pattern {
		limit = window // all of them are looked at here
	}
	args = append(args, limit)
	query += fmt.Sprintf(` ORDER BY seq%s LIMIT $%d`, order, len(args))
	rows, err := sqldb.All(ctx, t.db.Reader(), scanNumbered, query, args...)
	if err != nil {
		return err
	}
	for _, e := range rows {
		if pattern && !glob.Match(q.Subject, e.Subject) {
			continue
		}
		p.Events, p.size = append(p.Events, e), p.size+len(e.Data)
		if p.full(q) {
			p.Position = e.Seq
			return nil
		}
	}
	if p.Position = high; q.Newest {
		p.Position = low + 1
		return t.skip(ctx, q, p)
	}
	return nil
}

// skip ends a page that reads from the end if no older event is left, since the oldest may have been deleted.
func (t *Table) skip(ctx context.Context, q Query, p *Page) error {
	oldest, err := t.from(ctx, q.Tenant, p.First+1)
	if err == nil && (oldest.seq == 0 || oldest.seq >= p.Position) {
		p.Position = p.First + 1
	}
	return err
}
