package eventlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// batch limits the events that one transaction numbers or deletes.
const batch = 500

// Table is the table of a service's events, NAME_events, and the table of the end of each tenant's log, NAME_event_heads. Their columns are
// in the migrations of the services. It is safe for concurrent use.
type Table struct {
	db                  *sqldb.DB
	events, heads       string
	insert              *sqldb.Inserts
	insertHead, numbers string
	added               chan struct{}
}

const eventColumns = "tenant, id, seq, place, type, subject, time_us, data, owner, erase_with"

// NewTable returns the table of the events of a service.
func NewTable(db *sqldb.DB, name string) *Table {
	t := &Table{db: db, events: name + "_events", heads: name + "_event_heads", added: make(chan struct{}, 1)}
	t.insert = sqldb.NewInserts(t.events, eventColumns)
	t.insertHead = sqldb.Insert(t.heads, "tenant, seq, time_us") + " ON CONFLICT DO NOTHING"
	t.numbers = `UPDATE ` + t.events + ` SET seq = $2 + numbered.n, time_us = CASE WHEN time_us < $3 THEN $3 ELSE time_us END
		FROM (SELECT id AS event_id, row_number() OVER (ORDER BY time_us, place, id) AS n FROM ` + t.events + `
			WHERE tenant = $1 AND seq = 0 ORDER BY time_us, place, id LIMIT $4) AS numbered
		WHERE tenant = $1 AND seq = 0 AND id = numbered.event_id RETURNING tenant, id, seq, type, subject, time_us, data`
	return t
}

// Add writes an event in a transaction; place orders those of one transaction. Call Added when it is committed.
func (t *Table) Add(ctx context.Context, tx sqldb.Tx, e Event, place int) error {
	return t.insert.Exec(ctx, tx, [][]any{values(e, place)})
}

// values are those of eventColumns of an event without a number.
func values(e Event, place int) []any {
	return []any{e.Tenant, e.ID, 0, place, e.Type, e.Subject, sqldb.Micros(e.Time), string(e.Data), e.Owner, e.EraseWith}
}

// Added says that events were committed, which are to be numbered.
func (t *Table) Added() {
	select {
	case t.added <- struct{}{}:
	default:
	}
}

// Write runs f in a transaction of write, with a function that adds events to it, and calls Added when they are committed. Events are
// written at the end of the transaction.
func (t *Table) Write(ctx context.Context, write func(context.Context, func(sqldb.Tx) error) error,
	f func(tx sqldb.Tx, add func(Event, error) error) error,
) error {
	var rows [][]any
	err := write(ctx, func(tx sqldb.Tx) error {
		rows = nil
		err := f(tx, func(e Event, err error) error {
			if err == nil {
				rows = append(rows, values(e, len(rows)+1))
			}
			return err
		})
		if err != nil {
			return err
		}
		return t.insert.Exec(ctx, tx, rows)
	})
	if err == nil && len(rows) > 0 {
		t.Added()
	}
	return err
}

// head is the end of a tenant's log.
type head struct{ seq, micros int64 }

func scanHead(row sqldb.Scanner) (h head, err error) {
	err = row.Scan(&h.seq, &h.micros)
	return h, err
}

// Head returns the number of the last event of a tenant, 0 if there is none.
func (t *Table) Head(ctx context.Context, tenant string) (int64, error) {
	h, err := sqldb.One(ctx, t.db.Reader(), scanHead, `SELECT seq, time_us FROM `+t.heads+` WHERE tenant = $1`, tenant)
	if errors.Is(err, sqldb.ErrNotFound) {
		return 0, nil
	}
	return h.seq, err
}

// Sequence numbers some of the events that have been committed, and returns them by tenant and number; none when all are numbered.
func (t *Table) Sequence(ctx context.Context) ([]Event, error) {
	tenants, err := sqldb.All(ctx, t.db.Reader(), sqldb.Column[string], `SELECT DISTINCT tenant FROM `+t.events+` WHERE seq = 0`)
	if err != nil {
		return nil, fmt.Errorf("find new events: %w", err)
	}
	var all []Event
	for _, tenant := range tenants {
		some, err := t.sequence(ctx, tenant)
		if err != nil {
			return all, fmt.Errorf("number events: %w", err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// sequence numbers events of one tenant. The lock on the head makes numbers visible in their order: a transaction that holds it sees all
// numbers given before, and everything that was committed before.
func (t *Table) sequence(ctx context.Context, tenant string) (out []Event, err error) {
	err = t.db.Write(ctx, func(tx sqldb.Tx) error {
		h, err := t.lockHead(ctx, tx, tenant)
		if err != nil {
			return err
		}
		out, err = sqldb.All(ctx, tx, scanNumbered, t.numbers, tenant, h.seq, h.micros, batch)
		if err != nil || len(out) == 0 {
			return err
		}
		slices.SortFunc(out, func(a, b Event) int { return cmp.Compare(a.Seq, b.Seq) })
		last := out[len(out)-1]
		return sqldb.ExecOne(ctx, tx, `UPDATE `+t.heads+` SET seq = $2, time_us = $3 WHERE tenant = $1`, tenant, last.Seq,
			sqldb.Micros(last.Time))
	})
	return out, err
}

// lockHead locks and returns the end of a tenant's log, and makes it for the first event.
func (t *Table) lockHead(ctx context.Context, tx sqldb.Tx, tenant string) (head, error) {
	query := `SELECT seq, time_us FROM ` + t.heads + ` WHERE tenant = $1` + t.db.ForUpdate()
	h, err := sqldb.One(ctx, tx, scanHead, query, tenant)
	if !errors.Is(err, sqldb.ErrNotFound) {
		return h, err
	}
	if _, err := sqldb.Exec(ctx, tx, t.insertHead, tenant, 0, 0); err != nil {
		return head{}, err
	}
	return sqldb.One(ctx, tx, scanHead, query, tenant)
}

func scanNumbered(row sqldb.Scanner) (e Event, err error) {
	err = row.Scan(&e.Tenant, &e.ID, &e.Seq, &e.Type, &e.Subject, sqldb.TimeColumn(&e.Time), &e.Data)
	return e, err
}

// Erase deletes the events to be erased with any of the given names, in a transaction.
func (t *Table) Erase(ctx context.Context, tx sqldb.Tx, tenant string, with []string) error {
	for part := range slices.Chunk(with, batch) {
		args := []any{tenant}
		for _, name := range part {
			args = append(args, name)
		}
		if _, err := sqldb.Exec(ctx, tx, `DELETE FROM `+t.events+` WHERE tenant = $1 AND erase_with <> '' AND erase_with IN (`+
			sqldb.Placeholders(2, len(part))+`)`, args...); err != nil {
			return fmt.Errorf("erase events: %w", err)
		}
	}
	return nil
}

// Prune deletes numbered events recorded before the given time.
func (t *Table) Prune(ctx context.Context, before time.Time) error {
	tenants, err := sqldb.All(ctx, t.db.Reader(), sqldb.Column[string], `SELECT tenant FROM `+t.heads)
	if err != nil {
		return fmt.Errorf("prune events: %w", err)
	}
	for _, tenant := range tenants {
		if err := t.prune(ctx, tenant, before); err != nil {
			return fmt.Errorf("prune events: %w", err)
		}
	}
	return nil
}

func (t *Table) prune(ctx context.Context, tenant string, before time.Time) error {
	last, err := t.before(ctx, tenant, before)
	if err != nil {
		return err
	}
	for {
		first, err := t.from(ctx, tenant, 1)
		if err != nil || first.seq == 0 || first.seq > last {
			return err
		}
		err = t.db.Write(ctx, func(tx sqldb.Tx) error {
			_, err := sqldb.Exec(ctx, tx, `DELETE FROM `+t.events+` WHERE tenant = $1 AND seq >= $2 AND seq <= $3 AND seq > 0`, tenant, first.seq,
				min(first.seq+batch-1, last))
			return err
		})
		if err != nil {
			return err
		}
	}
}

// from returns the first event whose number is at least seq; the zero value if there is none.
func (t *Table) from(ctx context.Context, tenant string, seq int64) (head, error) {
	h, err := sqldb.One(ctx, t.db.Reader(), scanHead, `SELECT seq, time_us FROM `+t.events+`
		WHERE tenant = $1 AND seq >= $2 AND seq > 0 ORDER BY seq LIMIT 1`, tenant, seq)
	if errors.Is(err, sqldb.ErrNotFound) {
		return head{}, nil
	}
	return h, err
}

// before returns the number of the last event recorded before a time, 0 if there is none. Times rise with numbers, so it searches by
// halves. Times are stored in microseconds; a time between two is rounded up.
func (t *Table) before(ctx context.Context, tenant string, at time.Time) (int64, error) {
	end, err := t.Head(ctx, tenant)
	if err != nil {
		return 0, err
	}
	low, high, micros := int64(0), end, sqldb.Micros(at.Add(999)) // those up to low are before, those after high are not
	for low < high {
		middle := low + (high-low+1)/2
		h, err := t.from(ctx, tenant, middle)
		if err != nil {
			return 0, err
		}
		if h.seq == 0 || h.micros >= micros { // nothing from middle on is before the time
			high = middle - 1
			continue
		}
		low = min(h.seq, high)
	}
	return low, nil
}

// places returns placeholders for values that are added to args.
func places(args *[]any, values []string) string {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteString(", ")
		}
		*args = append(*args, v)
		fmt.Fprintf(&b, "$%d", len(*args))
	}
	return b.String()
}

// Scans are texts of the statements that read whole small tables: one row per tenant, or the events that have no number yet. For plantest.
func Scans() []string { return []string{"_event_heads", "AS numbered", "WHERE seq = 0"} }
