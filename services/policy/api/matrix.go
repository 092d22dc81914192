package api

import (
	"context"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/access"
)

// maxCells bounds the cells of a matrix.
const maxCells = 10000

// ExplainAccessMatrix implements AccessPolicyService.
func (s *accessPolicies) ExplainAccessMatrix(ctx context.Context, req *policyv1.ExplainAccessMatrixRequest) (
	*policyv1.ExplainAccessMatrixResponse, error,
) {
	caller := authn.From(ctx)
	mine, err := s.decider.Now(ctx, caller)
	if err != nil {
		return nil, err
	}
	users := len(req.GetSubjects()) + len(req.GetPrincipals())
	if err := checkExplainer(mine, users > 0, req.GetDraft()); err != nil {
		return nil, err
	}
	if users*len(req.GetTools()) > maxCells {
		return nil, fault.Invalid("tools", "%d users times %d tools are more than %d cells", users, len(req.GetTools()), maxCells)
	}
	rows, err := s.matrixRows(ctx, req)
	if err != nil {
		return nil, err
	}
	x, err := s.newExplainer(ctx, caller.GetTenant(), req.GetDraft(), req.GetTools()...)
	if err != nil {
		return nil, err
	}
	resp := &policyv1.ExplainAccessMatrixResponse{PolicyRevision: x.set.Revision}
	for _, in := range rows {
		for _, tool := range req.GetTools() {
			v := x.decide(in, tool, "")
			cell := &policyv1.AccessCell{Subject: in.Principal.GetSubject(), Tool: tool, Decision: v.becomes(), Rule: v.Rule}
			if v.approval != "" {
				cell.Rule = v.approval
			}
			resp.Cells = append(resp.Cells, cell)
		}
	}
	return resp, nil
}

// matrixRows returns the principals of a matrix, as policies see them.
func (s *accessPolicies) matrixRows(ctx context.Context, req *policyv1.ExplainAccessMatrixRequest) ([]access.Input, error) {
	subjects := req.GetSubjects()
	if len(subjects)+len(req.GetPrincipals()) == 0 {
		subjects = []string{""} // the caller
	}
	var rows []access.Input
	add := func(p *policyv1.ExplainedPrincipal, subject string) error {
		who, err := s.explained(ctx, p, subject)
		if err != nil {
			return err
		}
		in, err := access.NewInput(who)
		rows = append(rows, in)
		return err
	}
	for _, subject := range subjects {
		if err := add(nil, subject); err != nil {
			return nil, err
		}
	}
	for _, p := range req.GetPrincipals() {
		if err := add(p, ""); err != nil {
			return nil, err
		}
	}
	return rows, nil
}
