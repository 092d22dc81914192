package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/fieldmask"
	"github.com/windlass-dev/windlass/libs/page"
	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/policy/access"
	"github.com/windlass-dev/windlass/services/policy/audit/trail"
	"github.com/windlass-dev/windlass/services/policy/decide"
	"github.com/windlass-dev/windlass/services/policy/events"
	"github.com/windlass-dev/windlass/services/policy/store"
)

// GroupReader asks the registry which tools are in which groups.
type GroupReader interface {
	// EvaluateToolGroups returns the groups' members among the tools of the request.
	EvaluateToolGroups(ctx context.Context, in *registryv1.EvaluateToolGroupsRequest, opts ...grpc.CallOption) (
		*registryv1.EvaluateToolGroupsResponse, error)
}

// managePolicies is the permission that a change must not take from the principal that makes it.
const managePolicies = "policy.access_policies.update"

// accessPolicies implements AccessPolicyService.
type accessPolicies struct {
	policyv1.UnimplementedAccessPolicyServiceServer
	store   store.Store
	decider *decide.Decider
	groups  GroupReader
	max     int
	now     func() time.Time // the database's
}

// errChecked ends the transaction of a change that is only checked.
var errChecked = errors.New("only checked")

// CreateAccessPolicy implements AccessPolicyService.
func (s *accessPolicies) CreateAccessPolicy(ctx context.Context, req *policyv1.CreateAccessPolicyRequest) (*policyv1.AccessPolicy, error) {
	want := req.GetAccessPolicy()
	if want.GetName() == "" {
		return nil, fault.Invalid("access_policy.name", "a name is required")
	}
	made := store.Policy{Name: want.GetName(), Spec: specOf(want), CreateTime: s.now()}
	made.UpdateTime = made.CreateTime
	compiled, err := compiledPolicy("access_policy.", made)
	if err != nil {
		return nil, err
	}
	return s.change(ctx, req.GetValidateOnly(), func(now store.Snapshot) (store.Change, error) {
		switch {
		case indexOf(now, made.Name) >= 0:
			return store.Change{}, fault.AlreadyExists("there is an access policy named %q", made.Name).
				Hint("Choose another name, or update the one that exists.")
		case len(now.Policies) >= s.max:
			return store.Change{}, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION,
				"there are %d access policies, and no more are possible", len(now.Policies)).
				Hint("Delete policies that are not needed, or combine several with operators that take many values.")
		}
		return store.Change{Put: &made}, s.put(ctx, now, compiled)
	})
}

// GetAccessPolicy implements AccessPolicyService.
func (s *accessPolicies) GetAccessPolicy(ctx context.Context, req *policyv1.GetAccessPolicyRequest) (*policyv1.AccessPolicy, error) {
	if strings.Contains(req.GetName(), "\x00") {
		return nil, noPolicy(req.GetName())
	}
	p, err := s.store.Policy(ctx, authn.Tenant(ctx), req.GetName())
	if errors.Is(err, store.ErrNotFound) {
		return nil, noPolicy(req.GetName())
	}
	if err != nil {
		return nil, fmt.Errorf("get access policy: %w", err)
	}
	return policyToProto(p), nil
}

// ListAccessPolicies implements AccessPolicyService.
func (s *accessPolicies) ListAccessPolicies(ctx context.Context, req *policyv1.ListAccessPoliciesRequest) (
	*policyv1.ListAccessPoliciesResponse, error,
) {
	var after string
	size, err := page.Request("access-policies", req.GetPageSize(), req.GetPageToken(), 50, &after)
	if err != nil {
		return nil, err
	}
	found, err := s.store.Policies(ctx, authn.Tenant(ctx), after, size+1)
	if err != nil {
		return nil, fmt.Errorf("list access policies: %w", err)
	}
	resp := &policyv1.ListAccessPoliciesResponse{}
	found, resp.NextPageToken = page.Trim(found, size, "access-policies", func(p store.Policy) any { return p.Name })
	for _, p := range found {
		resp.AccessPolicies = append(resp.AccessPolicies, policyToProto(p))
	}
	return resp, nil
}

var policyFields = fieldmask.Resource{Name: "access_policy", Mutable: []string{
	"description", "priority", "disabled", "matchers", "expression", "tool_groups", "tools", "permissions", "effect",
}}

// UpdateAccessPolicy implements AccessPolicyService.
func (s *accessPolicies) UpdateAccessPolicy(ctx context.Context, req *policyv1.UpdateAccessPolicyRequest) (*policyv1.AccessPolicy, error) {
	want := req.GetAccessPolicy()
	if want.GetName() == "" {
		return nil, fault.Invalid("access_policy.name", "a name is required")
	}
	return s.change(ctx, req.GetValidateOnly(), func(now store.Snapshot) (store.Change, error) {
		i := indexOf(now, want.GetName())
		if i < 0 {
			return store.Change{}, noPolicy(want.GetName())
		}
		p := now.Policies[i]
		if r := want.GetRevision(); r != 0 && r != p.Revision {
			return store.Change{}, fault.Conflict("access policy %q is at revision %d, not %d", p.Name, p.Revision, r).
				Hint("Read it again and repeat the change.")
		}
		next := policyToProto(p)
		if err := policyFields.Apply(next, want, req.GetUpdateMask().GetPaths()); err != nil {
			return store.Change{}, err
		}
		p.Spec, p.UpdateTime = specOf(next), s.now()
		compiled, err := compiledPolicy("access_policy.", p)
		if err != nil {
			return store.Change{}, err
		}
		return store.Change{Put: &p}, s.put(ctx, now, compiled)
	})
}

// DeleteAccessPolicy implements AccessPolicyService.
func (s *accessPolicies) DeleteAccessPolicy(ctx context.Context, req *policyv1.DeleteAccessPolicyRequest) (
	*policyv1.DeleteAccessPolicyResponse, error,
) {
	name := req.GetName()
	_, err := s.change(ctx, false, func(now store.Snapshot) (store.Change, error) {
		if indexOf(now, name) < 0 {
			return store.Change{}, noPolicy(name)
		}
		return store.Change{Delete: name}, s.keepsManager(ctx, now, func(set *access.Set) (*access.Set, error) { return set.Without(name) })
	})
	if err != nil {
		return nil, err
	}
	return &policyv1.DeleteAccessPolicyResponse{}, nil
}

// change stores a change of the caller's tenant, or only checks it.
func (s *accessPolicies) change(ctx context.Context, only bool, change func(store.Snapshot) (store.Change, error)) (
	*policyv1.AccessPolicy, error,
) {
	var checked store.Policy
	done, err := s.store.ChangePolicies(ctx, authn.Tenant(ctx), func(now store.Snapshot) (store.Change, error) {
		c, err := change(now)
		if err == nil && only {
			checked, err = *c.Put, errChecked
		}
		if err == nil {
			c.Record = s.record(ctx, c, now)
			c.Event, err = s.event(ctx, c, now)
		}
		return c, err
	})
	if errors.Is(err, errChecked) {
		return policyToProto(checked), nil
	}
	if err != nil {
		return nil, err
	}
	s.decider.Changed(ctx, authn.Tenant(ctx))
	return policyToProto(done), nil
}

// record returns the audit record of a change.
func (s *accessPolicies) record(ctx context.Context, c store.Change, before store.Snapshot) trail.Record {
	action, name := "policy.access_policies.delete", c.Delete
	if c.Put != nil {
		if action, name = "policy.access_policies.update", c.Put.Name; indexOf(before, name) < 0 {
			action = "policy.access_policies.create"
		}
	}
	return trail.New(authn.Tenant(ctx), s.now(), authn.From(ctx).GetSubject(), "", action, name, trail.Done, "", trail.Links{})
}

// event returns the domain event of a change.
func (s *accessPolicies) event(ctx context.Context, c store.Change, before store.Snapshot) (eventlog.Event, error) {
	kind, data := "dev.windlass.access_policy.deleted.v1", &eventv1.AccessPolicyChange{Name: c.Delete, Actor: authn.From(ctx).GetSubject()}
	if c.Put != nil {
		data.Name, data.Disabled = c.Put.Name, c.Put.Spec.Disabled
		data.Effect = enum.Name(policyv1.AccessEffect(c.Put.Spec.Effect))
		if kind = "dev.windlass.access_policy.updated.v1"; indexOf(before, data.GetName()) < 0 {
			kind = "dev.windlass.access_policy.created.v1"
		}
	}
	return events.New(ctx, s.now(), kind, data.GetName(), data)
}

// put refuses a policy that is too much together with the others of its tenant, or with which keepsManager does not agree.
func (s *accessPolicies) put(ctx context.Context, now store.Snapshot, p *access.Policy) error {
	before, err := s.decider.Compile(now, authn.Tenant(ctx))
	if err != nil {
		return err
	}
	after, err := before.With(p)
	if err != nil {
		return err
	}
	if size := after.Compiled(); size > access.MaxCompiled && size > before.Compiled() {
		return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION,
			"the regular expressions of all access policies would be too large when they are compiled: %d instructions, %d are allowed", size,
			access.MaxCompiled).
			Hint("Simplify patterns, or delete policies that are not needed: a repetition counts as often as it repeats.")
	}
	return s.keepsManager(ctx, now, func(*access.Set) (*access.Set, error) { return after, nil })
}

// keepsManager refuses a change after which its author could not change policies any more, since no other user may be able to.
func (s *accessPolicies) keepsManager(ctx context.Context, now store.Snapshot, change func(*access.Set) (*access.Set, error)) error {
	who := authn.From(ctx)
	if who.GetKind() != policyv1.PrincipalKind_PRINCIPAL_KIND_USER {
		return nil
	}
	before, err := s.decider.Compile(now, who.GetTenant())
	if err != nil {
		return err
	}
	after, err := change(before)
	if err != nil {
		return err
	}
	in, err := access.NewInput(who)
	if err != nil {
		return err
	}
	if !s.decider.With(before, in).Permission(managePolicies).Allowed {
		return nil // nothing to lose
	}
	if v := s.decider.With(after, in).Permission(managePolicies); !v.Allowed {
		return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION,
			"after this change you could not change access policies any more: %s", v.Reason).
			Hint("Leave yourself the permission %q, or have another administrator make the change.", managePolicies)
	}
	return nil
}

func indexOf(s store.Snapshot, name string) int {
	return slices.IndexFunc(s.Policies, func(p store.Policy) bool { return p.Name == name })
}

func noPolicy(name string) error { return fault.NotFound("there is no access policy %q", name) }

// compiledPolicy compiles a policy, or returns what is wrong with its fields, whose paths begin with prefix.
func compiledPolicy(prefix string, p store.Policy) (*access.Policy, error) {
	compiled, faults := access.Compile(p.Name, p.Spec)
	if len(faults) == 0 {
		return compiled, nil
	}
	fields := make([]fault.Field, len(faults))
	for i, f := range faults {
		fields[i] = fault.Field{Path: prefix + f.Field, Message: f.Message}
	}
	return nil, fault.InvalidFields(fields)
}

func specOf(p *policyv1.AccessPolicy) store.Spec {
	spec := store.Spec{
		Description: p.GetDescription(), Priority: p.GetPriority(), Disabled: p.GetDisabled(), Expression: p.GetExpression(),
		ToolGroups: p.GetToolGroups(), Tools: p.GetTools(), Permissions: p.GetPermissions(), Effect: store.Effect(p.GetEffect()),
	}
	for _, m := range p.GetMatchers() {
		spec.Matchers = append(spec.Matchers, store.Matcher{Path: m.GetPath(), Operator: store.Operator(m.GetOperator()), Values: m.GetValues()})
	}
	return spec
}
