package api

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
	"github.com/windlass-dev/windlass/libs/timestamp"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/audit/trail"
	"github.com/windlass-dev/windlass/services/policy/store"
)

// audit implements AuditService.
type audit struct {
	policyv1.UnimplementedAuditServiceServer
	trail *trail.Trail
	store store.Store
	now   func() time.Time // the database's
}

// settle adds to the caller's chain what was committed before, so that callers find what they did. It waits for decisions that are written
// later.
func (s *audit) settle(ctx context.Context) error {
	if err := s.store.Flush(ctx); err != nil {
		return err
	}
	return s.trail.ExtendTenant(ctx, authn.Tenant(ctx))
}

// ListAuditRecords implements AuditService.
func (s *audit) ListAuditRecords(ctx context.Context, req *policyv1.ListAuditRecordsRequest) (*policyv1.ListAuditRecordsResponse, error) {
	f := trail.Filter{
		Since: timestamp.Time(req.GetSince()), Until: timestamp.Time(req.GetUntil()), Subject: req.GetSubject(), Action: req.GetAction(),
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
		resp.Records = append(resp.Records, recordToProto(r))
	}
	return resp, nil
}

// VerifyAudit implements AuditService.
func (s *audit) VerifyAudit(ctx context.Context, req *policyv1.VerifyAuditRequest) (*policyv1.VerifyAuditResponse, error) {
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
func (s *audit) RecordAudit(ctx context.Context, req *policyv1.RecordAuditRequest) (*policyv1.RecordAuditResponse, error) {
	if err := onlyRoles(ctx, "policy.audit.record"); err != nil {
		return nil, err
	}
	p := req.GetPrincipal()
	r := trail.New(p.GetTenant(), s.now(), p.GetSubject(), authn.From(ctx).GetSubject(), req.GetAction(), req.GetResource(),
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

func recordToProto(r trail.Record) *policyv1.AuditRecord {
	return &policyv1.AuditRecord{
		Id: r.ID, Seq: uint64(r.Seq), Time: timestamppb.New(r.Time), Tenant: r.Tenant, Subject: r.Subject, Actor: r.Actor, Action: r.Action,
		Resource: r.Resource, Outcome: enum.Parse[policyv1.AuditOutcome](r.Outcome), Reason: r.Reason, TurnId: r.Links.TurnID,
		SessionId: r.Links.SessionID, CallId: r.Links.CallID, RequestId: r.Links.RequestID, LinksHash: r.LinksHash, Hash: r.Hash,
	}
}
