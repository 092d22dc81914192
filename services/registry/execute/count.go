package execute

import (
	"context"
	"fmt"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/quota"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// count counts a call that is about to be sent towards the quotas of its tenant and its user, and returns why it must not be if
// one is used up. The key of the call makes it count once, whatever crashes and however often it is tried.
func (a *attempt) count(ctx context.Context) (*Outcome, error) {
	r, deps := a.req, a.x.deps
	q, err := deps.Quotas.Quota(ctx, r.Principal)
	if err != nil || deps.Count == nil || !quota.ToolCalls.AnyOf(q) {
		return nil, err
	}
	_, err = deps.Count.CountToolCall(ctx, &policyv1.CountToolCallRequest{Tenant: r.Tenant, User: r.Principal.GetSubject(), Key: r.Key})
	if fault.Is(err, faultv1.Reason_REASON_QUOTA_EXCEEDED) {
		over := fault.From(err)
		over.Message = fmt.Sprintf("the tool %q was not called: %s", r.Tool, over.Message)
		return refused(over), nil
	}
	if err != nil {
		return nil, fmt.Errorf("count the call: %w", err)
	}
	return nil, nil
}
