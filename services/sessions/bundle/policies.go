package bundle

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// applyPolicy creates or updates an access policy at policy, in the name of the caller. A dry run has policy check it.
func (s *Service) applyPolicy(ctx context.Context, d *Document, out *Applied, dry bool) error {
	if s.deps.Policies == nil {
		return fault.Invalid("kind", "there are no access policies here")
	}
	old, err := s.deps.Policies.GetAccessPolicy(ctx, &policyv1.GetAccessPolicyRequest{Name: d.ID()})
	var now *policyv1.AccessPolicy
	switch {
	case fault.Is(err, faultv1.Reason_REASON_NOT_FOUND):
		out.Action = Created
		now, err = s.deps.Policies.CreateAccessPolicy(ctx, &policyv1.CreateAccessPolicyRequest{AccessPolicy: d.Policy, ValidateOnly: dry})
	case err != nil:
		return err
	case proto.Equal(ruling(old), ruling(d.Policy)):
		out.Revision = old.GetRevision()
		return nil
	default:
		out.Action = Updated
		want := ruling(d.Policy)
		want.Revision = old.GetRevision() // another change in between is a conflict, after which the bundle is compared again
		now, err = s.deps.Policies.UpdateAccessPolicy(ctx, &policyv1.UpdateAccessPolicyRequest{
			AccessPolicy: want, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"*"}}, ValidateOnly: dry,
		})
	}
	out.Revision = now.GetRevision()
	return err
}

// ruling is a policy without what the server says of it.
func ruling(p *policyv1.AccessPolicy) *policyv1.AccessPolicy {
	out := proto.CloneOf(p)
	out.Revision, out.PolicyRevision, out.CreateTime, out.UpdateTime = 0, 0, nil, nil
	return out
}
