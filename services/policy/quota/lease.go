package quota

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/quota"
	"github.com/windlass-dev/windlass/libs/sqldb"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// leaseParts says which part of the requests that are left is leased at a time. Leases become smaller as the requests are used up, so that
// what one process does not use is not missing at the others.
const leaseParts = 16

// LeaseRequests implements QuotaService. All replicas count in the database.
func (s *Server) LeaseRequests(ctx context.Context, req *policyv1.LeaseRequestsRequest) (*policyv1.LeaseRequestsResponse, error) {
	q, err := s.book.now(ctx, req.GetTenant(), req.GetUser())
	if err != nil {
		return nil, err
	}
	limits := q.GetTenant()
	if req.GetUser() != "" {
		limits = q.GetUser()
	}
	l := requests{tenant: req.GetTenant(), subject: req.GetUser(), max: quota.Requests.Of(limits), waiting: max(req.GetWaiting(), 1)}
	now := s.db.Now()
	minute := now.Truncate(time.Minute)
	if l.max == 0 { // it has been removed, which the process does not know yet
		l.granted = l.waiting
	} else if minute, err = l.lease(ctx, s.db, minute); err != nil {
		return nil, fmt.Errorf("lease requests: %w", err)
	}
	left := max(minute.Add(time.Minute).Sub(now), time.Millisecond)
	return &policyv1.LeaseRequestsResponse{Requests: l.granted, ValidFor: durationpb.New(left)}, nil
}

// requests is a request for a lease.
type requests struct {
	tenant, subject       string
	max, waiting, granted int64
}

// lease grants requests of a minute, or of a later one if a replica whose clock is ahead has begun it, and returns the minute.
func (l *requests) lease(ctx context.Context, db *sqldb.DB, minute time.Time) (time.Time, error) {
	type row struct{ minute, leased int64 }
	err := db.Write(ctx, func(tx sqldb.Tx) error {
		r, err := sqldb.One(ctx, tx, func(from sqldb.Scanner) (r row, err error) {
			return r, from.Scan(&r.minute, &r.leased)
		}, `INSERT INTO request_leases (tenant, subject, minute_us, leased) VALUES ($1, $2, $3, 0)
			ON CONFLICT (tenant, subject) DO UPDATE SET
			leased = CASE WHEN request_leases.minute_us < excluded.minute_us THEN 0 ELSE request_leases.leased END,
			minute_us = CASE WHEN request_leases.minute_us < excluded.minute_us THEN excluded.minute_us ELSE request_leases.minute_us END
			RETURNING minute_us, leased`, l.tenant, l.subject, sqldb.Micros(minute))
		if err != nil {
			return err
		}
		minute = sqldb.Time(r.minute)
		left := max(l.max-r.leased, 0)
		l.granted = min(max((left+leaseParts-1)/leaseParts, l.waiting), left)
		if l.granted == 0 {
			return nil
		}
		return sqldb.ExecOne(ctx, tx, `UPDATE request_leases SET leased = leased + $1 WHERE tenant = $2 AND subject = $3`,
			l.granted, l.tenant, l.subject)
	})
	return minute, err
}

// requests returns how many requests of a minute have been leased.
func (s *Server) requests(ctx context.Context, tenant, subject string, now time.Time) (int64, error) {
	found, err := sqldb.All(ctx, s.db.Reader(), sqldb.Column[int64],
		`SELECT leased FROM request_leases WHERE tenant = $1 AND subject = $2 AND minute_us = $3`, tenant, subject,
		sqldb.Micros(now.Truncate(time.Minute)))
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0], nil
}
