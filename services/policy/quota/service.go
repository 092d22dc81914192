package quota

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/timestamp"
	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/events"
	"github.com/windlass-dev/windlass/services/policy/store"
)

// maxQuotas limits the quotas of a tenant, all of which are kept in memory.
const maxQuotas = 10_000

// Turns asks the sessions service what turns use.
type Turns interface {
	// GetQuotaUse returns what the turns of a tenant and of one of its users use.
	GetQuotaUse(ctx context.Context, in *executionv1.GetQuotaUseRequest, opts ...grpc.CallOption) (*executionv1.GetQuotaUseResponse, error)
}

// Server implements QuotaService. It is safe for concurrent use.
type Server struct {
	policyv1.UnimplementedQuotaServiceServer

	book   *Book
	db     *sqldb.DB
	turns  Turns
	events *eventlog.Table
	// changed is notified of tenants whose quotas have changed.
	changed func(ctx context.Context, tenant string)
}

// New returns the service. Without turns, their use is reported as 0.
func New(book *Book, turns Turns, log *eventlog.Table, changed func(ctx context.Context, tenant string)) *Server {
	return &Server{book: book, db: book.db, turns: turns, events: log, changed: changed}
}

const columns = `tenant, id, requests, turns, tokens, tool_calls, created_us, updated_us`

// row is a stored quota.
type row struct {
	tenant, id       string
	limits           Limits
	created, updated time.Time
}

func scan(from sqldb.Scanner) (r row, err error) {
	err = from.Scan(&r.tenant, &r.id, &r.limits.Requests, &r.limits.Turns, &r.limits.Tokens, &r.limits.ToolCalls,
		sqldb.TimeColumn(&r.created), sqldb.TimeColumn(&r.updated))
	return r, err
}

func (r row) proto() *policyv1.Quota {
	return &policyv1.Quota{
		Id: r.id, RequestsPerMinute: r.limits.Requests, ConcurrentTurns: r.limits.Turns, TokensPerDay: r.limits.Tokens,
		ToolCallsPerDay: r.limits.ToolCalls, CreateTime: timestamp.Of(r.created), UpdateTime: timestamp.Of(r.updated),
	}
}

const selectOne = `SELECT ` + columns + ` FROM quotas WHERE tenant = $1 AND id = $2`

func missing(id string) error { return fault.NotFound("there is no quota %q", id) }

// SetQuota implements QuotaService.
func (s *Server) SetQuota(ctx context.Context, req *policyv1.SetQuotaRequest) (*policyv1.Quota, error) {
	if !valid(req.GetQuotaId()) {
		return nil, fault.Invalid("quota_id", `must be "tenant", "users", or "user:" and a subject`)
	}
	var set row
	err := s.change(ctx, func(tx sqldb.Tx, now time.Time) error {
		var err error
		set, err = sqldb.One(ctx, tx, scan, selectOne, authn.Tenant(ctx), req.GetQuotaId())
		if errors.Is(err, sqldb.ErrNotFound) {
			set = row{tenant: authn.Tenant(ctx), id: req.GetQuotaId(), created: now}
			err = s.room(ctx, tx, set.tenant)
		}
		if err != nil {
			return err
		}
		set.updated = now
		for limit, value := range map[*int64]*int64{
			&set.limits.Requests: req.RequestsPerMinute, &set.limits.Turns: req.ConcurrentTurns, &set.limits.Tokens: req.TokensPerDay,
			&set.limits.ToolCalls: req.ToolCallsPerDay,
		} {
			if value != nil {
				*limit = *value
			}
		}
		if err := put(ctx, tx, set); err != nil {
			return err
		}
		return s.record(ctx, tx, "dev.windlass.quota.set.v1", set)
	})
	if err != nil {
		return nil, err
	}
	return set.proto(), nil
}

var insertQuotas = sqldb.Insert("quotas", columns) + ` ON CONFLICT (tenant, id) DO UPDATE SET requests = excluded.requests,
	turns = excluded.turns, tokens = excluded.tokens, tool_calls = excluded.tool_calls, updated_us = excluded.updated_us`

func put(ctx context.Context, tx sqldb.Tx, r row) error {
	return sqldb.ExecOne(ctx, tx, insertQuotas, r.tenant, r.id, r.limits.Requests, r.limits.Turns, r.limits.Tokens, r.limits.ToolCalls,
		sqldb.Micros(r.created), sqldb.Micros(r.updated))
}

// room refuses a further quota of a tenant that has very many.
func (s *Server) room(ctx context.Context, tx sqldb.Tx, tenant string) error {
	n, err := sqldb.One(ctx, tx, sqldb.Column[int], `SELECT count(*) FROM quotas WHERE tenant = $1`, tenant)
	if err == nil && n >= maxQuotas {
		return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "there are %d quotas, and no more are possible", n).
			Hint("Delete quotas that are not needed, or set one for all users.")
	}
	return err
}

// change changes quotas of the caller's tenant in one transaction with its revision, and announces that.
func (s *Server) change(ctx context.Context, f func(tx sqldb.Tx, now time.Time) error) error {
	tenant := authn.Tenant(ctx)
	err := s.db.Write(ctx, func(tx sqldb.Tx) error {
		if _, err := store.NextRevision(ctx, tx, tenant); err != nil {
			return err
		}
		return f(tx, s.db.Now())
	})
	if err != nil {
		return fmt.Errorf("change a quota: %w", err)
	}
	s.events.Added()
	s.changed(ctx, tenant)
	return nil
}

// record adds the domain event of a change in its transaction.
func (s *Server) record(ctx context.Context, tx sqldb.Tx, kind string, r row) error {
	e, err := events.New(ctx, s.db.Now(), kind, r.id, &eventv1.QuotaChange{
		QuotaId: r.id, RequestsPerMinute: r.limits.Requests, ConcurrentTurns: r.limits.Turns, TokensPerDay: r.limits.Tokens,
		ToolCallsPerDay: r.limits.ToolCalls, Actor: authn.From(ctx).GetSubject(),
	})
	if err != nil {
		return err
	}
	return s.events.Add(ctx, tx, e, 1)
}

// GetQuota implements QuotaService.
func (s *Server) GetQuota(ctx context.Context, req *policyv1.GetQuotaRequest) (*policyv1.Quota, error) {
	if !valid(req.GetQuotaId()) {
		return nil, missing(req.GetQuotaId())
	}
	r, err := sqldb.One(ctx, s.db.Reader(), scan, selectOne, authn.Tenant(ctx), req.GetQuotaId())
	if errors.Is(err, sqldb.ErrNotFound) {
		return nil, missing(req.GetQuotaId())
	}
	if err != nil {
		return nil, fmt.Errorf("read a quota: %w", err)
	}
	return r.proto(), nil
}

// ListQuotas implements QuotaService.
func (s *Server) ListQuotas(ctx context.Context, req *policyv1.ListQuotasRequest) (*policyv1.ListQuotasResponse, error) {
	const list = "quotas"
	var after string
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &after)
	if err != nil {
		return nil, err
	}
	found, err := sqldb.All(ctx, s.db.Reader(), scan, `SELECT `+columns+` FROM quotas WHERE tenant = $1 AND id > $2 ORDER BY id LIMIT $3`,
		authn.Tenant(ctx), after, size+1)
	if err != nil {
		return nil, fmt.Errorf("list quotas: %w", err)
	}
	resp := &policyv1.ListQuotasResponse{}
	found, resp.NextPageToken = page.Trim(found, size, list, func(r row) any { return r.id })
	for _, r := range found {
		resp.Quotas = append(resp.Quotas, r.proto())
	}
	return resp, nil
}

// DeleteQuota implements QuotaService.
func (s *Server) DeleteQuota(ctx context.Context, req *policyv1.DeleteQuotaRequest) (*policyv1.DeleteQuotaResponse, error) {
	if !valid(req.GetQuotaId()) {
		return nil, missing(req.GetQuotaId())
	}
	err := s.change(ctx, func(tx sqldb.Tx, _ time.Time) error {
		err := sqldb.ExecOne(ctx, tx, `DELETE FROM quotas WHERE tenant = $1 AND id = $2`, authn.Tenant(ctx), req.GetQuotaId())
		if errors.Is(err, sqldb.ErrNotFound) {
			return missing(req.GetQuotaId())
		}
		if err != nil {
			return err
		}
		return s.record(ctx, tx, "dev.windlass.quota.deleted.v1", row{id: req.GetQuotaId()})
	})
	if err != nil {
		return nil, err
	}
	return &policyv1.DeleteQuotaResponse{}, nil
}
