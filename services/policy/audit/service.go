// Package audit serves the audit trail.
package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/page"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/audit/trail"
)

// Service implements AuditService.
type Service struct {
	policyv1.UnimplementedAuditServiceServer

	trail *trail.Trail
	flush func(context.Context) error
	now   func() time.Time
}

// New returns the service over a trail. flush waits until decisions that are written later are there; now is the clock of the database.
func New(t *trail.Trail, flush func(context.Context) error, now func() time.Time) *Service {
	return &Service{trail: t, flush: flush, now: now}
}

// settle adds to the caller's chain what was committed before, so that callers find what they did.
func (s *Service) settle(ctx context.Context) error {
	if err := s.flush(ctx); err != nil {
		return err
	}
	return s.trail.ExtendTenant(ctx, authn.Tenant(ctx))
}

// ListAuditRecords implements AuditService.
func (s *Service) ListAuditRecords(ctx context.Context, req *policyv1.ListAuditRecordsRequest) (*policyv1.ListAuditRecordsResponse, error) {
	f := trail.Filter{
		Since: timeOf(req.GetSince()), Until: timeOf(req.GetUntil()), Subject: req.GetSubject(), Action: req.GetAction(),
		Resource: req.GetResource(), TurnID: req.GetTurnId(), OldestFirst: req.GetOldestFirst(),
	}
	if o := req.GetOutcome(); o != policyv1.AuditOutcome_AUDIT_OUTCOME_UNSPECIFIED {
		f.Outcome = enum.Name(o)
	}
	list := fmt.Sprintf("audit|%+v", f)
	var position int64
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &position)
	if err != nil {
		return nil, err
	}
	if position < 0 {
		return nil, fault.BadPageToken(nil)
	}
	if position == 0 || f.OldestFirst {
		if err := s.settle(ctx); err != nil {
			return nil, err
		}
	}
	found, err := s.trail.List(ctx, authn.Tenant(ctx), f, position, size)
	if err != nil {
		return nil, err
	}
	resp := &policyv1.ListAuditRecordsResponse{}
	if found.Position > 0 {
		resp.NextPageToken = page.Encode(list, found.Position)
	}
	for _, r := range found.Records {
		resp.Records = append(resp.Records, toProto(r))
	}
	return resp, nil
}

func timeOf(ts *timestamppb.Timestamp) time.Time {
	if ts == nil {
		return time.Time{}
	}
	return ts.AsTime()
}

// VerifyAudit implements AuditService.
func (s *Service) VerifyAudit(ctx context.Context, req *policyv1.VerifyAuditRequest) (*policyv1.VerifyAuditResponse, error) {
	if (req.GetSeq() == 0) != (req.GetHash() == "") {
		return nil, fault.Invalid("hash", "seq and hash belong together: give both or neither")
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	rep, err := s.trail.Verify(ctx, authn.Tenant(ctx), trail.Anchor{Seq: int64(req.GetSeq()), Hash: req.GetHash()})
	if errors.Is(err, trail.ErrPruned) {
		return nil, fault.Invalid("seq", "%v", err)
	}
	if err != nil {
		return nil, err
	}
	return &policyv1.VerifyAuditResponse{
		FirstSeq: uint64(rep.First),
		Intact:   rep.BrokenAt == 0, Records: uint64(rep.Records), Hash: rep.Hash, BrokenAt: uint64(rep.BrokenAt), Problem: rep.Problem,
	}, nil
}

// RecordAudit implements AuditService.
func (s *Service) RecordAudit(ctx context.Context, req *policyv1.RecordAuditRequest) (*policyv1.RecordAuditResponse, error) {
	caller := authn.From(ctx)
	if caller.GetKind() != policyv1.PrincipalKind_PRINCIPAL_KIND_SERVICE { // not even one who may do everything
		return nil, fault.Denied("policy.audit.record", "")
	}
	p := req.GetPrincipal()
	r := trail.New(p.GetTenant(), s.now(), p.GetSubject(), caller.GetSubject(), req.GetAction(), req.GetResource(),
		enum.Name(req.GetOutcome()), req.GetReason(),
		trail.Links{TurnID: req.GetTurnId(), SessionID: req.GetSessionId(), RequestID: req.GetRequestId()})
	if r.Tenant == "" {
		return nil, fault.Invalid("principal.tenant", "a principal has a tenant")
	}
	if req.GetId() != "" {
		r.ID = req.GetId()
	}
	if err := s.trail.Add(ctx, r); err != nil {
		return nil, err
	}
	return &policyv1.RecordAuditResponse{Id: r.ID}, nil
}

func toProto(r trail.Record) *policyv1.AuditRecord {
	return &policyv1.AuditRecord{
		Id: r.ID, Seq: uint64(r.Seq), Time: timestamppb.New(r.Time), Tenant: r.Tenant, Subject: r.Subject, Actor: r.Actor, Action: r.Action,
		Resource: r.Resource, Outcome: enum.Parse[policyv1.AuditOutcome](r.Outcome), Reason: r.Reason, TurnId: r.Links.TurnID,
		SessionId: r.Links.SessionID, CallId: r.Links.CallID, RequestId: r.Links.RequestID, LinksHash: r.LinksHash, Hash: r.Hash,
	}
}
