// Package quota keeps the quotas of tenants and their users: the limits that an operator has configured, those that administrators set, and
// how many tool calls have been made.
package quota

import (
	"context"
	"fmt"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/windlass-dev/windlass/libs/sqldb"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// IDs of quotas, besides those of single users.
const (
	ofTenant = "tenant"
	ofUsers  = "users"
	ofUser   = "user:"
)

// tenantsKept limits the tenants whose quotas are in memory.
const tenantsKept = 4096

// Book knows which limits apply to whom. It is safe for concurrent use.
type Book struct {
	cfg       Config
	db        *sqldb.DB
	revisions Revisions
	held      *lru.Cache[string, heldQuotas]
}

// heldQuotas are the stored limits of a tenant, by ID, at a revision of its policies.
type heldQuotas struct {
	revision uint64
	limits   map[string]Limits
}

// Revisions reads the revisions of tenants' policies.
type Revisions interface {
	// Revision returns one with each change that was committed before; 0 if there was none.
	Revision(ctx context.Context, tenant string) (uint64, error)
}

// NewBook returns a book over the database of policy, which has been migrated.
func NewBook(cfg Config, db *sqldb.DB, revisions Revisions) (*Book, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	held, err := lru.New[string, heldQuotas](tenantsKept)
	if err != nil {
		return nil, fmt.Errorf("make cache of quotas: %w", err)
	}
	return &Book{cfg: cfg, db: db, revisions: revisions, held: held}, nil
}

// Of returns the limits that apply to a user; nil for none. revision is that of the tenant's policies, which each change of a quota
// increments.
func (b *Book) Of(ctx context.Context, tenant, subject string, revision uint64) (*policyv1.EffectiveQuota, error) {
	stored, err := b.stored(ctx, tenant, revision)
	if err != nil {
		return nil, err
	}
	all, each := b.cfg.of(tenant)
	if len(stored) > 0 {
		all = all.lower(stored[ofTenant])
		own, ok := stored[ofUser+subject]
		if !ok {
			own = stored[ofUsers]
		}
		each = each.lower(own)
	}
	if all.none() && each.none() {
		return nil, nil
	}
	return &policyv1.EffectiveQuota{Tenant: all.proto(), User: each.proto()}, nil
}

// stored returns the stored limits of a tenant. A tenant without a revision has none.
func (b *Book) stored(ctx context.Context, tenant string, revision uint64) (map[string]Limits, error) {
	if revision == 0 {
		return nil, nil
	}
	if known, ok := b.held.Get(tenant); ok && known.revision >= revision {
		return known.limits, nil
	}
	type row struct {
		id     string
		limits Limits
	}
	rows, err := sqldb.All(ctx, b.db.Reader(), func(from sqldb.Scanner) (r row, err error) {
		err = from.Scan(&r.id, &r.limits.Requests, &r.limits.Turns, &r.limits.Tokens, &r.limits.ToolCalls)
		return r, err
	}, `SELECT id, requests, turns, tokens, tool_calls FROM quotas WHERE tenant = $1`, tenant)
	if err != nil {
		return nil, fmt.Errorf("read quotas: %w", err)
	}
	limits := make(map[string]Limits, len(rows))
	for _, r := range rows {
		limits[r.id] = r.limits
	}
	b.held.Add(tenant, heldQuotas{revision: revision, limits: limits})
	return limits, nil
}

// now returns the limits that apply to a user, with each change that was committed before.
func (b *Book) now(ctx context.Context, tenant, subject string) (*policyv1.EffectiveQuota, error) {
	revision, err := b.revisions.Revision(ctx, tenant)
	if err != nil {
		return nil, fmt.Errorf("read policy revision: %w", err)
	}
	return b.Of(ctx, tenant, subject, revision)
}

// valid reports whether an ID can be that of a quota.
func valid(id string) bool {
	return id == ofTenant || id == ofUsers || strings.HasPrefix(id, ofUser) && len(id) > len(ofUser) && !strings.ContainsRune(id, 0)
}
