// Package login keeps the logins of browsers for the gateways.
package login

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/sqldb"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	loginv1 "github.com/windlass-dev/windlass/proto/gen/windlass/login/v1"
	"github.com/windlass-dev/windlass/services/policy/audit/trail"
)

// leaseTime is how long a gateway may take to refresh tokens. If it is killed meanwhile, another one takes its place after that.
const leaseTime = 10 * time.Second

// Server implements LoginService on the database of policy. It is safe for concurrent use.
type Server struct {
	loginv1.UnimplementedLoginServiceServer

	db    *sqldb.DB
	trail *trail.Trail
}

// New returns the service, which records logouts in the trail. The database has been migrated.
func New(db *sqldb.DB, t *trail.Trail) *Server { return &Server{db: db, trail: t} }

// CreateLogin implements LoginService.
func (s *Server) CreateLogin(ctx context.Context, req *loginv1.CreateLoginRequest) (*loginv1.CreateLoginResponse, error) {
	now := s.db.Now()
	err := s.db.Write(ctx, func(tx sqldb.Tx) error {
		if _, err := sqldb.Exec(ctx, tx, `DELETE FROM logins WHERE expires_us <= $1`, sqldb.Micros(now)); err != nil {
			return err
		}
		n, err := sqldb.Exec(ctx, tx, `INSERT INTO logins (id, sealed, revision, leased_us, expires_us, tenant, subject)
			VALUES ($1, $2, 1, 0, $3, $4, $5) ON CONFLICT (id) DO NOTHING`, req.GetId(), req.GetSealed(),
			sqldb.Micros(req.GetExpireTime().AsTime()), req.GetTenant(), req.GetSubject())
		if err == nil && n == 0 {
			return fault.New(codes.AlreadyExists, faultv1.Reason_REASON_ALREADY_EXISTS, "there is a login of this name")
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("store a login: %w", err)
	}
	return &loginv1.CreateLoginResponse{}, nil
}

// GetLogin implements LoginService.
func (s *Server) GetLogin(ctx context.Context, req *loginv1.GetLoginRequest) (*loginv1.Login, error) {
	l, err := sqldb.One(ctx, s.db.Reader(), func(from sqldb.Scanner) (*loginv1.Login, error) {
		var l loginv1.Login
		var expires int64
		err := from.Scan(&l.Sealed, &l.Revision, &expires)
		l.ExpireTime = timestamppb.New(sqldb.Time(expires))
		return &l, err
	}, `SELECT sealed, revision, expires_us FROM logins WHERE id = $1 AND expires_us > $2`, req.GetId(), sqldb.Micros(s.db.Now()))
	if err != nil {
		return nil, missing(err)
	}
	return l, nil
}

// missing adds the meaning to sqldb.ErrNotFound.
func missing(err error) error {
	if errors.Is(err, sqldb.ErrNotFound) {
		return fault.NotFound("there is no such login")
	}
	return fmt.Errorf("read a login: %w", err)
}

// LeaseLogin implements LoginService.
func (s *Server) LeaseLogin(ctx context.Context, req *loginv1.LeaseLoginRequest) (*loginv1.LeaseLoginResponse, error) {
	now := s.db.Now()
	err := s.change(ctx, req.GetId(), `UPDATE logins SET leased_us = $1 WHERE id = $2 AND revision = $3 AND leased_us <= $4`,
		sqldb.Micros(now.Add(leaseTime)), req.GetId(), req.GetRevision(), sqldb.Micros(now))
	if err != nil {
		return nil, err
	}
	return &loginv1.LeaseLoginResponse{}, nil
}

// UpdateLogin implements LoginService.
func (s *Server) UpdateLogin(ctx context.Context, req *loginv1.UpdateLoginRequest) (*loginv1.UpdateLoginResponse, error) {
	err := s.change(ctx, req.GetId(), `UPDATE logins SET sealed = $1, revision = revision + 1, leased_us = 0 WHERE id = $2 AND revision = $3`,
		req.GetSealed(), req.GetId(), req.GetRevision())
	if err != nil {
		return nil, err
	}
	return &loginv1.UpdateLoginResponse{}, nil
}

// change runs an update of one login, which changes nothing if the login is not as the caller expects.
func (s *Server) change(ctx context.Context, id []byte, statement string, args ...any) error {
	err := s.db.Write(ctx, func(tx sqldb.Tx) error {
		n, err := sqldb.Exec(ctx, tx, statement, args...)
		if err != nil || n > 0 {
			return err
		}
		if _, err := sqldb.One(ctx, tx, sqldb.Column[int64], `SELECT revision FROM logins WHERE id = $1`, id); err != nil {
			return missing(err)
		}
		return fault.New(codes.Aborted, faultv1.Reason_REASON_CONFLICT, "another gateway changes the login")
	})
	if err != nil {
		return fmt.Errorf("change a login: %w", err)
	}
	return nil
}

// user is whose login it is.
type user struct{ tenant, subject string }

// DeleteLogin implements LoginService. The logout is recorded in the same transaction.
func (s *Server) DeleteLogin(ctx context.Context, req *loginv1.DeleteLoginRequest) (*loginv1.DeleteLoginResponse, error) {
	err := s.db.Write(ctx, func(tx sqldb.Tx) error {
		now := s.db.Now()
		who, err := sqldb.One(ctx, tx, func(from sqldb.Scanner) (u user, err error) {
			return u, from.Scan(&u.tenant, &u.subject)
		}, `SELECT tenant, subject FROM logins WHERE id = $1 AND expires_us > $2`, req.GetId(), sqldb.Micros(now))
		if err != nil && !errors.Is(err, sqldb.ErrNotFound) {
			return err
		}
		n, err := sqldb.Exec(ctx, tx, `DELETE FROM logins WHERE id = $1`, req.GetId())
		if err != nil || n == 0 || who.subject == "" {
			return err
		}
		return trail.Add(ctx, tx, trail.New(who.tenant, now, who.subject, authn.From(ctx).GetSubject(), "logout", "browser", trail.Done,
			"logged out in a browser", trail.Links{}))
	})
	if err != nil {
		return nil, fmt.Errorf("delete a login: %w", err)
	}
	s.trail.Added()
	return &loginv1.DeleteLoginResponse{}, nil
}
