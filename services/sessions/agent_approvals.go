package sessions

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// ApprovalChecker is what sessions needs of the policy service.
type ApprovalChecker interface {
	// CheckApprovalRules answers what is wrong with approval rules.
	CheckApprovalRules(ctx context.Context, in *policyv1.CheckApprovalRulesRequest, opts ...grpc.CallOption) (*policyv1.CheckApprovalRulesResponse, error)
}

// checkApprovals finds mistakes in an agent's approval rules; policy knows what its conditions may say. Without rules nobody is asked.
func (s *Service) checkApprovals(ctx context.Context, prefix string, rules []*policyv1.ApprovalRule) ([]fault.Field, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	resp, err := s.approvals.CheckApprovalRules(ctx, &policyv1.CheckApprovalRulesRequest{Rules: rules})
	if err != nil {
		return nil, fmt.Errorf("check approval rules: %w", err)
	}
	var wrong []fault.Field
	for _, f := range resp.GetFaults() {
		wrong = append(wrong, fault.Field{Path: fmt.Sprintf("%sapprovals[%d].%s", prefix, f.GetIndex(), f.GetField()), Message: f.GetMessage()})
	}
	return wrong, nil
}
