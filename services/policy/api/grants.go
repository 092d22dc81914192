package api

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/callertoken"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/timestamp"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/grant"
	"github.com/windlass-dev/windlass/services/policy/grant/exchange"
	"github.com/windlass-dev/windlass/services/policy/grant/store"
)

// grants implements GrantService.
type grants struct {
	policyv1.UnimplementedGrantServiceServer
	grants *grant.Service
	now    func() time.Time // the database's
}

func userOf(p *policyv1.Principal) grant.User {
	return grant.User{Tenant: p.GetTenant(), Subject: p.GetSubject(), Issuer: p.GetIssuer()}
}

func caller(ctx context.Context) grant.User { return userOf(authn.From(ctx)) }

// grantCursor is the last grant of a page.
type grantCursor struct {
	Us int64  `json:"us"`
	ID string `json:"id"`
}

// ListGrants implements GrantService.
func (s *grants) ListGrants(ctx context.Context, req *policyv1.ListGrantsRequest) (*policyv1.ListGrantsResponse, error) {
	const list = "grants"
	var after grantCursor
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &after)
	if err != nil {
		return nil, err
	}
	found, err := s.grants.List(ctx, caller(ctx), sqldb.Time(after.Us), after.ID, size+1)
	if err != nil {
		return nil, fmt.Errorf("list grants: %w", err)
	}
	resp := &policyv1.ListGrantsResponse{}
	found, resp.NextPageToken = page.Trim(found, size, list, func(g store.Grant) any { return grantCursor{sqldb.Micros(g.Created), g.ID} })
	for _, g := range found {
		resp.Grants = append(resp.Grants, s.toProto(g))
	}
	return resp, nil
}

// GetGrant implements GrantService.
func (s *grants) GetGrant(ctx context.Context, req *policyv1.GetGrantRequest) (*policyv1.Grant, error) {
	return s.answer(s.grants.Get(ctx, caller(ctx), req.GetGrantId()))
}

// RevokeGrant implements GrantService.
func (s *grants) RevokeGrant(ctx context.Context, req *policyv1.RevokeGrantRequest) (*policyv1.Grant, error) {
	return s.answer(s.grants.Revoke(ctx, caller(ctx), req.GetGrantId()))
}

// RenewGrants implements GrantService.
func (s *grants) RenewGrants(ctx context.Context, _ *policyv1.RenewGrantsRequest) (*policyv1.RenewGrantsResponse, error) {
	renewed, resumed, err := s.grants.Renew(ctx, caller(ctx), callertoken.From(ctx))
	if err != nil {
		return nil, err
	}
	return &policyv1.RenewGrantsResponse{Renewed: int32(renewed), Resumed: int32(resumed)}, nil
}

// CreateGrant implements GrantService.
func (s *grants) CreateGrant(ctx context.Context, req *policyv1.CreateGrantRequest) (*policyv1.CreateGrantResponse, error) {
	err := s.grants.Create(ctx, userOf(req.GetPrincipal()), req.GetTurnId(), req.GetParentTurnId(), req.GetToken())
	return &policyv1.CreateGrantResponse{}, err
}

// EndGrants implements GrantService.
func (s *grants) EndGrants(ctx context.Context, req *policyv1.EndGrantsRequest) (*policyv1.EndGrantsResponse, error) {
	return &policyv1.EndGrantsResponse{}, s.grants.End(ctx, req.GetTenant(), req.GetTurnIds())
}

// RedeemGrant implements GrantService.
func (s *grants) RedeemGrant(ctx context.Context, req *policyv1.RedeemGrantRequest) (*policyv1.RedeemGrantResponse, error) {
	t, err := s.grants.Redeem(ctx, grant.Redemption{
		User: userOf(req.GetPrincipal()), TurnID: req.GetTurnId(), Sealed: req.GetToken(), Source: req.GetSource(), Issuer: req.GetIssuer(),
		Target: exchange.Target{Audience: req.GetAudience(), Resource: req.GetResource(), Scopes: req.GetScopes()}, Fresh: req.GetFresh(),
	})
	if err != nil {
		return nil, err
	}
	return &policyv1.RedeemGrantResponse{AccessToken: t.Value.Reveal(), ExpireTime: timestamppb.New(t.Expires)}, nil
}

func (s *grants) answer(g store.Grant, err error) (*policyv1.Grant, error) {
	if err != nil {
		return nil, err
	}
	return s.toProto(g), nil
}

func (s *grants) toProto(g store.Grant) *policyv1.Grant {
	state, now := policyv1.GrantState_GRANT_STATE_ACTIVE, s.now()
	switch {
	case !g.Revoked.IsZero():
		state = policyv1.GrantState_GRANT_STATE_REVOKED
	case !now.Before(g.Expires), !g.Login.Usable(now):
		state = policyv1.GrantState_GRANT_STATE_EXPIRED
	}
	return &policyv1.Grant{
		Id: g.ID, TurnId: g.TurnID, Subject: g.Subject, Issuer: g.Issuer, State: state, ParentId: g.ParentID,
		CreateTime: timestamp.Of(g.Created), ExpireTime: timestamp.Of(g.Expires), RevokeTime: timestamp.Of(g.Revoked),
	}
}
