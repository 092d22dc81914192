package quota

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/quota"
	"github.com/windlass-dev/windlass/libs/sqldb"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// keysKept is how long a counted call is remembered. A call that is tried again after that is counted again.
const keysKept = 48 * time.Hour

// counted is whose calls are counted: those of the tenant (subject "") or of a user.
type counted struct {
	scope   quota.Scope
	subject string
	max     int64
}

// CountToolCall implements QuotaService. All replicas count in the database: the rows of the tenant and the user are updated in one
// transaction with the key of the call, or not at all.
func (s *Server) CountToolCall(ctx context.Context, req *policyv1.CountToolCallRequest) (*policyv1.CountToolCallResponse, error) {
	q, err := s.book.now(ctx, req.GetTenant(), req.GetUser())
	if err != nil {
		return nil, err
	}
	if !quota.ToolCalls.AnyOf(q) {
		return &policyv1.CountToolCallResponse{}, nil
	}
	now := s.db.Now()
	var over *quota.Excess
	err = s.db.Write(ctx, func(tx sqldb.Tx) error {
		over = nil
		if known, err := remember(ctx, tx, req.GetTenant(), req.GetKey(), now); err != nil || known {
			return err
		}
		for _, c := range []counted{ // always in this order, so that transactions do not wait for each other in a circle
			{quota.Tenant, "", quota.ToolCalls.Of(q.GetTenant())}, {quota.User, req.GetUser(), quota.ToolCalls.Of(q.GetUser())},
		} {
			if over, err = add(ctx, tx, req.GetTenant(), c, now); err != nil {
				return err
			}
			if over != nil {
				return errOver
			}
		}
		return nil
	})
	if over != nil {
		return nil, over.Refuse(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("count a tool call: %w", err)
	}
	return &policyv1.CountToolCallResponse{}, nil
}

// errOver rolls back a call that goes beyond a limit.
var errOver = errors.New("a quota is used up")

// remember stores the key of a call, and reports whether it is stored already.
func remember(ctx context.Context, tx sqldb.Tx, tenant, key string, now time.Time) (known bool, err error) {
	sum := sha256.Sum256([]byte(key))
	n, err := sqldb.Exec(ctx, tx, `INSERT INTO counted_tool_calls (tenant, call_key, day_us) VALUES ($1, $2, $3)
		ON CONFLICT (tenant, call_key) DO NOTHING`, tenant, hex.EncodeToString(sum[:]), sqldb.Micros(quota.Day(now)))
	return n == 0, err
}

// add counts one call, or returns which limit it would exceed. It removes old keys at the first call of a day.
func add(ctx context.Context, tx sqldb.Tx, tenant string, c counted, now time.Time) (*quota.Excess, error) {
	day := sqldb.Micros(quota.Day(now))
	calls, err := sqldb.One(ctx, tx, sqldb.Column[int64], `INSERT INTO tool_call_counts (tenant, subject, day_us, calls)
		VALUES ($1, $2, $3, 1) ON CONFLICT (tenant, subject) DO UPDATE SET
		day_us = CASE WHEN tool_call_counts.day_us < excluded.day_us THEN excluded.day_us ELSE tool_call_counts.day_us END,
		calls = CASE WHEN tool_call_counts.day_us < excluded.day_us THEN 1 ELSE tool_call_counts.calls + 1 END RETURNING calls`,
		tenant, c.subject, day)
	switch {
	case err != nil:
		return nil, err
	case c.max > 0 && calls > c.max:
		over := quota.Excess{Limit: quota.ToolCalls, Scope: c.scope, Tenant: tenant, Max: c.max, Used: calls - 1}.UntilReset(now)
		return &over, nil
	case calls == 1 && c.scope == quota.Tenant:
		_, err = sqldb.Exec(ctx, tx, `DELETE FROM counted_tool_calls WHERE tenant = $1 AND day_us < $2`, tenant,
			sqldb.Micros(quota.Day(now.Add(-keysKept))))
	}
	return nil, err
}

// calls returns how many tool calls of a day have been counted.
func (s *Server) calls(ctx context.Context, tenant, subject string, now time.Time) (int64, error) {
	found, err := sqldb.All(ctx, s.db.Reader(), sqldb.Column[int64],
		`SELECT calls FROM tool_call_counts WHERE tenant = $1 AND subject = $2 AND day_us = $3`, tenant, subject,
		sqldb.Micros(quota.Day(now)))
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0], nil
}
