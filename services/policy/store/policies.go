package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/policy/audit/trail"
)

// Effect says what a policy does. The values are those of the API.
type Effect int32

// Effects.
const (
	Allow Effect = iota + 1
	Deny
)

// Operator says how a claim is compared. The values are those of the API.
type Operator int32

// Operators.
const (
	Equals Operator = iota + 1
	NotEquals
	Contains
	NotContains
	Matches
)

// Matcher is a condition on a claim.
type Matcher struct {
	Path     string   `json:"path"`
	Operator Operator `json:"operator"`
	Values   []string `json:"values"`
}

// Spec is what a policy says.
type Spec struct {
	Description string    `json:"description,omitempty"`
	Priority    int32     `json:"priority,omitempty"`
	Disabled    bool      `json:"disabled,omitempty"`
	Matchers    []Matcher `json:"matchers,omitempty"`
	Expression  string    `json:"expression,omitempty"`
	ToolGroups  []string  `json:"tool_groups,omitempty"`
	Tools       []string  `json:"tools,omitempty"`
	Permissions []string  `json:"permissions,omitempty"`
	Effect      Effect    `json:"effect"`
}

// Policy is a stored access policy.
type Policy struct {
	Tenant, Name string
	Spec         Spec
	// Revision counts the changes of this policy; PolicyRevision is the tenant's after the last of them.
	Revision               uint32
	PolicyRevision         uint64
	CreateTime, UpdateTime time.Time
}

// Snapshot is all policies of a tenant at a revision.
type Snapshot struct {
	Revision uint64
	Policies []Policy
}

// PolicyStore stores access policies. Each change increments the tenant's revision in its transaction, so that a reader of the revision
// sees every change that was committed before.
type PolicyStore interface {
	// Revision reads the tenant's revision; 0 if it never had a policy.
	Revision(ctx context.Context, tenant string) (uint64, error)
	// Snapshot reads the tenant's policies, by name, together with their revision.
	Snapshot(ctx context.Context, tenant string) (Snapshot, error)
	// Policy reads a policy; ErrNotFound.
	Policy(ctx context.Context, tenant, name string) (Policy, error)
	// Policies returns at most limit policies whose name is after the given one, by name.
	Policies(ctx context.Context, tenant, after string, limit int) ([]Policy, error)
	// ChangePolicies passes the present policies to change, and stores what it returns. Concurrent changes of a tenant wait for each other.
	ChangePolicies(ctx context.Context, tenant string, change func(Snapshot) (Change, error)) (Policy, error)
}

// Change is a change of one policy.
type Change struct {
	// Put creates or replaces a policy; its revisions are set by the store.
	Put *Policy
	// Delete removes the policy with this name.
	Delete string
	// Record is the audit record of the change, to which the store adds the revision; without an ID there is none.
	Record trail.Record
	// Event is the domain event of the change; without a type there is none.
	Event eventlog.Event
}

const policyColumns = `tenant, name, spec, revision, policy_revision, created_us, updated_us`

var insertPolicies = sqldb.Insert("access_policies", policyColumns)

func (s sqlStore) Revision(ctx context.Context, tenant string) (uint64, error) {
	revision, err := s.revisions.Get(ctx, tenant)
	if err != nil {
		return 0, fmt.Errorf("read policy revision: %w", err)
	}
	return revision, nil
}

// newRevisions reads revisions, one for each decision.
func newRevisions(db *sqldb.DB) *sqldb.Fresh[string, uint64] {
	const kept = 1024
	return sqldb.NewFresh(db, kept, []string{"policy_revisions"}, func(ctx context.Context, tenant string) (uint64, error) {
		revision, err := sqldb.One(ctx, db.Reader(), sqldb.Column[int64], `SELECT revision FROM policy_revisions WHERE tenant = $1`, tenant)
		if errors.Is(err, ErrNotFound) {
			return 0, nil
		}
		return uint64(revision), err
	})
}

// selectSnapshot reads revision and policies in one statement, and so in one snapshot of the database.
const selectSnapshot = `SELECT r.revision, p.tenant, p.name, p.spec, p.revision, p.policy_revision, p.created_us, p.updated_us
	FROM policy_revisions r LEFT JOIN access_policies p ON p.tenant = r.tenant WHERE r.tenant = $1 ORDER BY p.name`

func (s sqlStore) Snapshot(ctx context.Context, tenant string) (Snapshot, error) {
	return snapshot(ctx, s.db.Reader(), tenant)
}

func snapshot(ctx context.Context, q sqldb.Querier, tenant string) (out Snapshot, err error) {
	_, err = sqldb.All(ctx, q, func(row sqldb.Scanner) (struct{}, error) {
		var f policyFields
		var revision int64
		if err := row.Scan(append([]any{&revision}, f.into()...)...); err != nil {
			return struct{}{}, err
		}
		out.Revision = uint64(revision)
		if f.name == nil {
			return struct{}{}, nil // no policies
		}
		p, err := f.policy()
		out.Policies = append(out.Policies, p)
		return struct{}{}, err
	}, selectSnapshot, tenant)
	if err != nil {
		return Snapshot{}, fmt.Errorf("read access policies: %w", err)
	}
	return out, nil
}

func (s sqlStore) Policy(ctx context.Context, tenant, name string) (Policy, error) {
	return sqldb.One(ctx, s.db.Reader(), scanPolicy, `SELECT `+policyColumns+` FROM access_policies WHERE tenant = $1 AND name = $2`,
		tenant, name)
}

func (s sqlStore) Policies(ctx context.Context, tenant, after string, limit int) ([]Policy, error) {
	return sqldb.All(ctx, s.db.Reader(), scanPolicy, `SELECT `+policyColumns+` FROM access_policies
		WHERE tenant = $1 AND name > $2 ORDER BY name LIMIT $3`, tenant, after, limit)
}

// NextRevision begins a change of a tenant's policies or quotas and returns its revision. It comes first in the transaction: it locks the
// tenant's row, so that the next change sees this one.
func NextRevision(ctx context.Context, tx sqldb.Tx, tenant string) (int64, error) {
	return sqldb.One(ctx, tx, sqldb.Column[int64], `INSERT INTO policy_revisions (tenant, revision) VALUES ($1, 1)
		ON CONFLICT (tenant) DO UPDATE SET revision = policy_revisions.revision + 1 RETURNING revision`, tenant)
}

func (s sqlStore) ChangePolicies(ctx context.Context, tenant string, change func(Snapshot) (Change, error)) (Policy, error) {
	var out Policy
	err := s.db.Write(ctx, func(tx sqldb.Tx) error {
		revision, err := NextRevision(ctx, tx, tenant)
		if err != nil {
			return err
		}
		now, err := snapshot(ctx, tx, tenant)
		if err != nil {
			return err
		}
		c, err := change(now)
		if err != nil {
			return err
		}
		if c.Record.ID != "" {
			c.Record.Reason = fmt.Sprintf("policy revision %d", revision)
			if err := trail.Add(ctx, tx, c.Record); err != nil {
				return err
			}
		}
		if c.Event.Type != "" {
			if err := s.events.Add(ctx, tx, c.Event, 1); err != nil {
				return err
			}
		}
		if c.Delete != "" {
			return sqldb.ExecOne(ctx, tx, `DELETE FROM access_policies WHERE tenant = $1 AND name = $2`, tenant, c.Delete)
		}
		out = *c.Put
		out.Tenant, out.PolicyRevision = tenant, uint64(revision)
		return putPolicy(ctx, tx, &out, now.Policies)
	})
	if err == nil {
		s.trail.Added()
		s.events.Added()
	}
	return out, err
}

func putPolicy(ctx context.Context, tx sqldb.Tx, p *Policy, present []Policy) error {
	spec, err := json.Marshal(p.Spec)
	if err != nil {
		return fmt.Errorf("encode access policy: %w", err)
	}
	for _, old := range present {
		if old.Name == p.Name {
			p.Revision = old.Revision + 1
			return sqldb.ExecOne(ctx, tx, `UPDATE access_policies SET spec = $1, revision = $2, policy_revision = $3, updated_us = $4
				WHERE tenant = $5 AND name = $6`,
				string(spec), int64(p.Revision), int64(p.PolicyRevision), sqldb.Micros(p.UpdateTime), p.Tenant, p.Name)
		}
	}
	p.Revision = 1
	return sqldb.ExecOne(ctx, tx, insertPolicies, p.Tenant, p.Name, string(spec), int64(1), int64(p.PolicyRevision),
		sqldb.Micros(p.CreateTime), sqldb.Micros(p.UpdateTime))
}

// policyFields are the columns of a policy, which are NULL if a join finds none.
type policyFields struct {
	tenant, name                               *string
	spec                                       []byte
	revision, policyRevision, created, updated *int64
}

func (f *policyFields) into() []any {
	return []any{&f.tenant, &f.name, &f.spec, &f.revision, &f.policyRevision, &f.created, &f.updated}
}

func (f *policyFields) policy() (Policy, error) {
	p := Policy{
		Tenant: *f.tenant, Name: *f.name, Revision: uint32(*f.revision), PolicyRevision: uint64(*f.policyRevision),
		CreateTime: sqldb.Time(*f.created), UpdateTime: sqldb.Time(*f.updated),
	}
	if err := json.Unmarshal(f.spec, &p.Spec); err != nil {
		return p, fmt.Errorf("decode access policy %s: %w", p.Name, err)
	}
	return p, nil
}

func scanPolicy(row sqldb.Scanner) (Policy, error) {
	var f policyFields
	if err := row.Scan(f.into()...); err != nil {
		return Policy{}, err
	}
	return f.policy()
}
