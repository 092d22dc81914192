package api

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/timestamp"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/connection"
	"github.com/windlass-dev/windlass/services/policy/connection/store"
	decisions "github.com/windlass-dev/windlass/services/policy/store"
)

// connections implements ConnectionService.
type connections struct {
	policyv1.UnimplementedConnectionServiceServer
	connections *connection.Connections
	store       decisions.Store
	now         func() time.Time // the database's
}

// record keeps who used or changed whose connection.
func (s *connections) record(ctx context.Context, tenant, subject, method, source, reason string) error {
	return s.store.Add(ctx, decisions.Decision{
		Tenant: tenant, ID: ids.New(ids.Decision), Time: s.now(), Subject: subject, Kind: decisions.Secret, Resource: "connection:" + source,
		Method: method, Allowed: true, Reason: reason,
	}, nil)
}

// BeginConnection implements ConnectionService.
func (s *connections) BeginConnection(ctx context.Context, req *policyv1.BeginConnectionRequest) (*policyv1.ConnectionAttempt, error) {
	p := authn.From(ctx)
	if p.GetKind() == policyv1.PrincipalKind_PRINCIPAL_KIND_SERVICE {
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "a service cannot log in at a source")
	}
	a, address, err := s.connections.Begin(ctx, p.GetTenant(), p.GetSubject(), req.GetSource())
	if err != nil {
		return nil, err
	}
	out := attemptToProto(a, false)
	out.ConnectUrl = address
	return out, s.record(ctx, p.GetTenant(), p.GetSubject(), "BeginConnection", a.Source, "attempt "+a.ID+" begun")
}

// GetConnectionAttempt implements ConnectionService.
func (s *connections) GetConnectionAttempt(ctx context.Context, req *policyv1.GetConnectionAttemptRequest) (
	*policyv1.ConnectionAttempt, error,
) {
	a, expired, err := s.connections.Attempt(ctx, authn.Tenant(ctx), authn.From(ctx).GetSubject(), req.GetAttemptId())
	if err != nil {
		return nil, err
	}
	return attemptToProto(a, expired), nil
}

// ListConnections implements ConnectionService.
func (s *connections) ListConnections(ctx context.Context, req *policyv1.ListConnectionsRequest) (
	*policyv1.ListConnectionsResponse, error,
) {
	subject := authn.From(ctx).GetSubject()
	list := "connections|" + subject
	var after store.After
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &after)
	if err != nil {
		return nil, err
	}
	found, err := s.connections.List(ctx, authn.Tenant(ctx), subject, after, size+1)
	if err != nil {
		return nil, fmt.Errorf("list connections: %w", err)
	}
	resp := &policyv1.ListConnectionsResponse{}
	found, resp.NextPageToken = page.Trim(found, size, list, func(c store.Connection) any {
		return store.After{Source: c.Source, ID: c.SourceID}
	})
	for _, c := range found {
		resp.Connections = append(resp.Connections, connectionToProto(c))
	}
	return resp, nil
}

// GetConnection implements ConnectionService.
func (s *connections) GetConnection(ctx context.Context, req *policyv1.GetConnectionRequest) (*policyv1.Connection, error) {
	found, err := s.connections.Get(ctx, authn.Tenant(ctx), authn.From(ctx).GetSubject(), req.GetSource())
	if err != nil {
		return nil, err
	}
	return connectionToProto(found), nil
}

// DeleteConnection implements ConnectionService.
func (s *connections) DeleteConnection(ctx context.Context, req *policyv1.DeleteConnectionRequest) (
	*policyv1.DeleteConnectionResponse, error,
) {
	tenant, subject := authn.Tenant(ctx), authn.From(ctx).GetSubject()
	revoked, err := s.connections.Delete(ctx, tenant, subject, req.GetSource())
	if err != nil {
		return nil, err
	}
	return &policyv1.DeleteConnectionResponse{Revoked: revoked},
		s.record(ctx, tenant, subject, "DeleteConnection", req.GetSource(), fmt.Sprintf("deleted, tokens revoked: %t", revoked))
}

// DescribeConnectionAttempt implements ConnectionService.
func (s *connections) DescribeConnectionAttempt(ctx context.Context, req *policyv1.DescribeConnectionAttemptRequest) (
	*policyv1.DescribeConnectionAttemptResponse, error,
) {
	if err := onlyRoles(ctx, "policy.connections.authorize"); err != nil {
		return nil, err
	}
	a, consent, err := s.connections.Show(ctx, req.GetTicket(), browser(req.GetBrowser()))
	if err != nil {
		return nil, err
	}
	return &policyv1.DescribeConnectionAttemptResponse{
		Subject: a.Subject, Tenant: a.Tenant, Source: a.Source, Scopes: a.Login.Scopes, Destination: a.Login.Destination, Consent: consent,
		AuthorizationHost:   connection.Host(a.Login.AuthorizationURL),
		AuthorizationOrigin: connection.Origin(a.Login.AuthorizationURL), ExpireTime: timestamppb.New(a.Expires),
	}, nil
}

// DecideConnectionAttempt implements ConnectionService.
func (s *connections) DecideConnectionAttempt(ctx context.Context, req *policyv1.DecideConnectionAttemptRequest) (
	*policyv1.DecideConnectionAttemptResponse, error,
) {
	if err := onlyRoles(ctx, "policy.connections.authorize"); err != nil {
		return nil, err
	}
	d, err := s.connections.Decide(ctx, req.GetTicket(), browser(req.GetBrowser()), req.GetConsent(), req.GetAllow())
	if err != nil {
		return nil, err
	}
	return &policyv1.DecideConnectionAttemptResponse{
		AuthorizationUrl: d.URL, Binding: d.Binding, Cookie: d.Cookie, Source: d.Source,
	}, nil
}

// CompleteConnectionAttempt implements ConnectionService.
func (s *connections) CompleteConnectionAttempt(ctx context.Context, req *policyv1.CompleteConnectionAttemptRequest) (
	*policyv1.CompleteConnectionAttemptResponse, error,
) {
	if err := onlyRoles(ctx, "policy.connections.authorize"); err != nil {
		return nil, err
	}
	a, err := s.connections.Complete(ctx, connection.Response{
		State: req.GetState(), Code: req.GetCode(), Error: req.GetError(), Description: req.GetErrorDescription(),
		Issuer:  req.Iss, // absent and empty differ
		Binding: req.GetBinding(), Browser: browser(req.GetBrowser()),
	})
	if err != nil {
		return nil, err
	}
	return &policyv1.CompleteConnectionAttemptResponse{Source: a.Source, Subject: a.Subject},
		s.record(context.WithoutCancel(ctx), a.Tenant, a.Subject, "CompleteConnectionAttempt", a.Source, "connected by attempt "+a.ID)
}

// ResolveConnection implements ConnectionService.
func (s *connections) ResolveConnection(ctx context.Context, req *policyv1.ResolveConnectionRequest) (
	*policyv1.ResolveConnectionResponse, error,
) {
	if err := onlyRoles(ctx, "policy.connections.resolve"); err != nil {
		return nil, err
	}
	t, err := s.connections.Token(ctx, connection.Wanted{
		Key:    store.Key{Tenant: req.GetTenant(), Subject: req.GetSubject(), SourceID: req.GetSourceId()},
		Source: req.GetSource(), Target: req.GetTarget(), Refused: req.GetRefusedVersion(),
		Insufficient: req.GetInsufficientVersion(), Scopes: req.GetWantedScopes(),
	})
	if err != nil {
		return nil, err
	}
	// A use that is not on record does not happen.
	if err := s.record(ctx, req.GetTenant(), req.GetSubject(), "ResolveConnection", req.GetSource(),
		fmt.Sprintf("version %d read by %s", t.Version, authn.From(ctx).GetSubject())); err != nil {
		return nil, err
	}
	return &policyv1.ResolveConnectionResponse{AccessToken: t.Access, Version: t.Version, ExpireTime: timestamp.Of(t.Expires)}, nil
}

// browser converts who a browser is known as. Services have no browsers.
func browser(p *policyv1.Principal) connection.Browser {
	if p == nil {
		return connection.Browser{}
	}
	return connection.Browser{Known: true, Local: authn.IsLocal(p), Tenant: p.GetTenant(), Subject: p.GetSubject()}
}

func connectionToProto(c store.Connection) *policyv1.Connection {
	out := &policyv1.Connection{
		Source: c.Source, SourceId: c.SourceID, Issuer: c.Issuer, Scopes: c.Scopes, Version: c.Version, CreateTime: timestamppb.New(c.Created),
		UpdateTime: timestamppb.New(c.Updated), ExpireTime: timestamp.Of(c.Expires), Refreshable: c.Refreshable,
		State: policyv1.ConnectionState_CONNECTION_STATE_CONNECTED,
	}
	if c.Ended {
		out.State = policyv1.ConnectionState_CONNECTION_STATE_ENDED
	}
	return out
}

func attemptToProto(a store.Attempt, expired bool) *policyv1.ConnectionAttempt {
	out := &policyv1.ConnectionAttempt{Id: a.ID, Source: a.Source, ExpireTime: timestamppb.New(a.Expires), Error: a.Error}
	switch a.Stage {
	case store.Begun:
		out.State = policyv1.ConnectionAttemptState_CONNECTION_ATTEMPT_STATE_PENDING
	case store.Consented, store.Redeeming:
		out.State = policyv1.ConnectionAttemptState_CONNECTION_ATTEMPT_STATE_CONSENTED
	default:
		out.State = enum.Parse[policyv1.ConnectionAttemptState](a.Stage)
	}
	if expired {
		out.State = policyv1.ConnectionAttemptState_CONNECTION_ATTEMPT_STATE_EXPIRED
	}
	return out
}
