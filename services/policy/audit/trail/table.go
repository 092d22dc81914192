package trail

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// atOnce limits the records that one transaction adds to a chain.
const atOnce = 500

// Trail is the audit trail in policy's database, whose tables are in the migrations of policy's store. It is safe for concurrent use.
type Trail struct {
	db    *sqldb.DB
	added chan struct{}
}

// Of returns the trail in a database.
func Of(db *sqldb.DB) *Trail { return &Trail{db: db, added: make(chan struct{}, 1)} }

const columns = `tenant, id, seq, time_us, subject, actor, action, resource, outcome, reason, turn_id, session_id, call_id, request_id, ` +
	`links_hash, hash`

var (
	insert     = sqldb.Insert("audit_records", columns) + " ON CONFLICT (tenant, id) DO NOTHING"
	inserts    = sqldb.NewInserts("audit_records", columns)
	insertHead = sqldb.Insert("audit_heads", "tenant, seq, time_us, hash") + " ON CONFLICT (tenant) DO NOTHING"
)

// Add writes a record in the transaction of its fact. Call Added when it is committed.
func Add(ctx context.Context, tx sqldb.Tx, r Record) error {
	r.LinksHash = r.Links.hash(r.ID)
	if _, err := sqldb.Exec(ctx, tx, insert, r.row()...); err != nil {
		return fmt.Errorf("add audit record: %w", err)
	}
	return nil
}

// row returns the values of columns.
func (r Record) row() []any {
	return []any{
		r.Tenant, r.ID, r.Seq, sqldb.Micros(r.Time), r.Subject, r.Actor, r.Action, r.Resource, r.Outcome, r.Reason,
		r.Links.TurnID, r.Links.SessionID, r.Links.CallID, r.Links.RequestID, r.LinksHash, r.Hash,
	}
}

// Add has a record on disk before it returns: what it records is confirmed to its caller then.
func (t *Trail) Add(ctx context.Context, r Record) error {
	if err := t.db.WriteDurable(ctx, func(tx sqldb.Tx) error { return Add(ctx, tx, r) }); err != nil {
		return err
	}
	t.Added()
	return nil
}

// Added says that records or decisions were committed, which are to be added to their chains.
func (t *Trail) Added() {
	select {
	case t.added <- struct{}{}:
	default:
	}
}

// Erase deletes the links of turns from records, in a transaction. The hashes of the links stay, so that the chain can still be verified.
func Erase(ctx context.Context, tx sqldb.Tx, tenant, turn string) error {
	_, err := sqldb.Exec(ctx, tx, `UPDATE audit_records SET turn_id = '', session_id = '', call_id = '', request_id = ''
		WHERE tenant = $1 AND turn_id <> '' AND turn_id = $2`, tenant, turn)
	return err
}

// head is the end of a chain.
type head struct {
	seq, micros int64
	hash        string
}

func scanHead(row sqldb.Scanner) (h head, err error) {
	err = row.Scan(&h.seq, &h.micros, &h.hash)
	return h, err
}

func scan(row sqldb.Scanner) (r Record, err error) {
	var us int64
	err = row.Scan(&r.Tenant, &r.ID, &r.Seq, &us, &r.Subject, &r.Actor, &r.Action, &r.Resource, &r.Outcome, &r.Reason,
		&r.Links.TurnID, &r.Links.SessionID, &r.Links.CallID, &r.Links.RequestID, &r.LinksHash, &r.Hash)
	r.Time = sqldb.Time(us)
	return r, err
}

// Extend adds to the chains all that has been committed.
func (t *Trail) Extend(ctx context.Context) error {
	tenants, err := sqldb.All(ctx, t.db.Reader(), sqldb.Column[string],
		`SELECT tenant FROM audit_records WHERE seq = 0 UNION SELECT tenant FROM decisions WHERE NOT audited`)
	if err != nil {
		return fmt.Errorf("find new audit records: %w", err)
	}
	for _, tenant := range tenants {
		if err := t.extendAll(ctx, tenant); err != nil {
			return err
		}
	}
	return nil
}

// ExtendTenant adds to the tenant's chain all that has been committed.
func (t *Trail) ExtendTenant(ctx context.Context, tenant string) error {
	found, err := sqldb.One(ctx, t.db.Reader(), sqldb.Column[bool], `SELECT EXISTS (SELECT 1 FROM audit_records WHERE tenant = $1 AND seq = 0)
		OR EXISTS (SELECT 1 FROM decisions WHERE tenant = $1 AND NOT audited)`, tenant)
	if err != nil {
		return fmt.Errorf("find new audit records: %w", err)
	}
	if !found {
		return nil // without the lock
	}
	return t.extendAll(ctx, tenant)
}

// extendAll extends a chain until nothing is left.
func (t *Trail) extendAll(ctx context.Context, tenant string) error {
	for {
		n, err := t.extend(ctx, tenant)
		if err != nil {
			return fmt.Errorf("extend the audit trail: %w", err)
		}
		if n < atOnce {
			return nil
		}
	}
}

// extend adds to a tenant's chain. The lock on its head makes replicas wait for each other; a transaction that has it sees all records that
// others added.
func (t *Trail) extend(ctx context.Context, tenant string) (n int, err error) {
	err = t.db.Write(ctx, func(tx sqldb.Tx) error {
		end, err := t.lock(ctx, tx, tenant)
		if err != nil {
			return err
		}
		found, err := t.pending(ctx, tx, tenant)
		if n = len(found); err != nil || n == 0 {
			return err
		}
		for i := range found {
			r := &found[i].Record
			if r.Time = sqldb.Time(max(sqldb.Micros(r.Time), end.micros)); r.LinksHash == "" {
				r.LinksHash = r.Links.hash(r.ID)
			}
			r.Seq = end.seq + 1
			r.Hash = r.hashAfter(end.hash)
			end = head{seq: r.Seq, micros: sqldb.Micros(r.Time), hash: r.Hash}
		}
		if err := place(ctx, tx, found); err != nil {
			return err
		}
		return sqldb.ExecOne(ctx, tx, `UPDATE audit_heads SET seq = $2, time_us = $3, hash = $4 WHERE tenant = $1`, tenant, end.seq, end.micros,
			end.hash)
	})
	return n, err
}

// lock locks the end of a tenant's chain.
func (t *Trail) lock(ctx context.Context, tx sqldb.Tx, tenant string) (head, error) {
	for {
		end, err := sqldb.One(ctx, tx, scanHead, `SELECT seq, time_us, hash FROM audit_heads WHERE tenant = $1`+t.db.ForUpdate(), tenant)
		if !errors.Is(err, sqldb.ErrNotFound) {
			return end, err
		}
		if _, err := sqldb.Exec(ctx, tx, insertHead, tenant, 0, 0, Genesis); err != nil {
			return head{}, err
		}
	}
}

// pending is a record without a place, which may be a decision.
type pending struct {
	Record
	decision bool
}

// pending reads records that are not in the chain, in the order of their times.
func (t *Trail) pending(ctx context.Context, q sqldb.Querier, tenant string) ([]pending, error) {
	added, err := sqldb.All(ctx, q, scan, `SELECT `+columns+` FROM audit_records WHERE tenant = $1 AND seq = 0 ORDER BY time_us, id LIMIT $2`,
		tenant, atOnce)
	if err != nil {
		return nil, err
	}
	decided, err := sqldb.All(ctx, q, scanDecision, `SELECT tenant, id, created_us, subject, actor, kind, resource, method, allowed, reason,
		turn_id, call_id FROM decisions WHERE tenant = $1 AND NOT audited ORDER BY created_us, id LIMIT $2`, tenant, atOnce)
	if err != nil {
		return nil, err
	}
	all := make([]pending, 0, len(added)+len(decided))
	for _, r := range added {
		all = append(all, pending{Record: r})
	}
	for _, r := range decided {
		all = append(all, pending{Record: r, decision: true})
	}
	slices.SortFunc(all, func(a, b pending) int {
		if c := a.Time.Compare(b.Time); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all[:min(len(all), atOnce)], nil
}

// place stores the places of records. Decisions are copied.
func place(ctx context.Context, tx sqldb.Tx, all []pending) error {
	var copied [][]any
	var decisions []any
	for _, r := range all {
		if r.decision {
			copied, decisions = append(copied, r.row()), append(decisions, r.ID)
			continue
		}
		if err := sqldb.ExecOne(ctx, tx, `UPDATE audit_records SET seq = $3, time_us = $4, links_hash = $5, hash = $6
			WHERE tenant = $1 AND id = $2`, r.Tenant, r.ID, r.Seq, sqldb.Micros(r.Time), r.LinksHash, r.Hash); err != nil {
			return err
		}
	}
	if err := inserts.Exec(ctx, tx, copied); err != nil {
		return err
	}
	return sqldb.Groups(decisions, func(ids []any) error {
		n, err := sqldb.Exec(ctx, tx, `UPDATE decisions SET audited = TRUE WHERE tenant = $1 AND id IN (`+sqldb.Placeholders(2, len(ids))+`)`,
			slices.Concat([]any{all[0].Tenant}, ids)...)
		if err == nil && n != int64(len(ids)) {
			err = fmt.Errorf("%d of %d decisions were marked", n, len(ids))
		}
		return err
	})
}

// scanDecision reads a decision as a record.
func scanDecision(row sqldb.Scanner) (r Record, err error) {
	var us int64
	var kind, method string
	var allowed bool
	err = row.Scan(&r.Tenant, &r.ID, &us, &r.Subject, &r.Actor, &kind, &r.Resource, &method, &allowed, &r.Reason, &r.Links.TurnID,
		&r.Links.CallID)
	r.Time, r.Outcome = sqldb.Time(us), Refused
	if allowed {
		r.Outcome = Allowed
	}
	switch kind {
	case "permission": // the resource is the permission that was missing
		r.Action, r.Resource = r.Resource, method
	case "secret":
		r.Action = "secret." + strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(method, "s"), "Secret"))
	default:
		r.Action = kind + ".call"
	}
	return r, err
}

// end reads the end of a tenant's chain; the zero value of seq if there is none.
func (t *Trail) end(ctx context.Context, q sqldb.Querier, tenant string) (head, error) {
	h, err := sqldb.One(ctx, q, scanHead, `SELECT seq, time_us, hash FROM audit_heads WHERE tenant = $1`, tenant)
	if errors.Is(err, sqldb.ErrNotFound) {
		return head{hash: Genesis}, nil
	}
	return h, err
}
