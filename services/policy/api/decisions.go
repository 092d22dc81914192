package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/sqldb"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/store"
)

// ListDecisions implements PolicyService.
func (s *policy) ListDecisions(ctx context.Context, req *policyv1.ListDecisionsRequest) (*policyv1.ListDecisionsResponse, error) {
	f := store.Filter{TurnID: req.GetTurnId(), CallID: req.GetCallId(), DeniedOnly: req.GetDeniedOnly()}
	list := fmt.Sprintf("decisions|turn=%s|call=%q|denied=%t", f.TurnID, f.CallID, f.DeniedOnly)
	var after store.Cursor
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &after)
	if err != nil {
		return nil, err
	}
	found, err := s.store.List(ctx, authn.Tenant(ctx), f, after, size+1)
	if err != nil {
		return nil, fmt.Errorf("list decisions: %w", err)
	}
	resp := &policyv1.ListDecisionsResponse{}
	found, resp.NextPageToken = page.Trim(found, size, list, func(d store.Decision) any {
		return store.Cursor{Micros: sqldb.Micros(d.Time), ID: d.ID}
	})
	for _, d := range found {
		resp.Decisions = append(resp.Decisions, decisionToProto(d))
	}
	return resp, nil
}

// GetDecision implements PolicyService.
func (s *policy) GetDecision(ctx context.Context, req *policyv1.GetDecisionRequest) (*policyv1.Decision, error) {
	d, err := s.store.Get(ctx, authn.Tenant(ctx), req.GetDecisionId())
	if errors.Is(err, store.ErrNotFound) {
		return nil, fault.NotFound("there is no decision %q", req.GetDecisionId())
	}
	if err != nil {
		return nil, fmt.Errorf("get decision: %w", err)
	}
	return decisionToProto(d), nil
}
