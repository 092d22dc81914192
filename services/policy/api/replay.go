package api

import (
	"context"
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/timestamp"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/access"
	"github.com/windlass-dev/windlass/services/policy/decide"
	"github.com/windlass-dev/windlass/services/policy/store"
)

const (
	// replayAtOnce is the number of decisions read at a time, replayMax the most that one page replays.
	replayAtOnce = 500
	replayMax    = 2000
)

// ReplayDecisions implements AccessPolicyService.
func (s *accessPolicies) ReplayDecisions(ctx context.Context, req *policyv1.ReplayDecisionsRequest) (
	*policyv1.ReplayDecisionsResponse, error,
) {
	run, err := s.newReplay(ctx, req)
	if err != nil {
		return nil, err
	}
	list := fmt.Sprintf("replay|%s|%s|%s", req.GetDraft(), req.GetWithout(), req.GetStartTime())
	var after store.Cursor
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &after)
	if err != nil {
		return nil, err
	}
	filter := store.Filter{Since: timestamp.Time(req.GetStartTime()), Until: timestamp.Time(req.GetEndTime())}
	resp := &policyv1.ReplayDecisionsResponse{}
	for {
		found, err := s.store.List(ctx, run.tenant, filter, after, replayAtOnce)
		if err != nil {
			return nil, fmt.Errorf("list decisions: %w", err)
		}
		if err := run.prepare(ctx, found); err != nil {
			return nil, err
		}
		for _, d := range found {
			after = store.Cursor{Micros: sqldb.Micros(d.Time), ID: d.ID}
			run.decide(d, resp)
			if len(resp.GetDifferences()) >= size {
				resp.NextPageToken = page.Encode(list, after)
				return resp, nil
			}
		}
		switch {
		case len(found) < replayAtOnce:
			return resp, nil
		case resp.GetReplayed()+resp.GetSkipped() >= replayMax:
			resp.NextPageToken = page.Encode(list, after)
			return resp, nil
		}
	}
}

// replay decides recorded decisions again, with the stored policies and with a draft.
type replay struct {
	*accessPolicies
	tenant     string
	now, draft *access.Set
	groups     []string
	inputs     map[string]access.Input
	members    access.Members
}

func (s *accessPolicies) newReplay(ctx context.Context, req *policyv1.ReplayDecisionsRequest) (*replay, error) {
	set, err := s.decider.Policies(ctx, authn.Tenant(ctx))
	if err != nil {
		return nil, err
	}
	r := &replay{accessPolicies: s, tenant: authn.Tenant(ctx), now: set, inputs: map[string]access.Input{}}
	switch draft := req.GetDraft(); {
	case (draft == nil) == (req.GetWithout() == ""):
		return nil, fault.Invalid("draft", "give either a draft of a policy, or the name of a policy to leave out")
	case draft == nil && !set.Has(req.GetWithout()):
		return nil, noPolicy(req.GetWithout())
	case draft == nil:
		r.draft, err = set.Without(req.GetWithout())
	default:
		var compiled *access.Policy
		if compiled, err = compiledPolicy("draft.", store.Policy{Name: draft.GetName(), Spec: specOf(draft)}); err == nil {
			r.draft, err = set.With(compiled)
		}
	}
	if err != nil {
		return nil, err
	}
	r.groups = append(r.now.Groups(), r.draft.Groups()...)
	slices.Sort(r.groups)
	r.groups = slices.Compact(r.groups)
	return r, nil
}

// prepare reads the principals and group members that decisions need.
func (r *replay) prepare(ctx context.Context, found []store.Decision) error {
	var hashes, tools []string
	for _, d := range found {
		if _, ok := r.inputs[d.InputHash]; !ok && d.InputHash != "" {
			hashes = append(hashes, d.InputHash)
		}
		if d.Kind == store.Tool {
			tools = append(tools, d.Resource)
		}
	}
	slices.Sort(hashes)
	stored, err := r.store.Inputs(ctx, r.tenant, slices.Compact(hashes))
	if err != nil {
		return err
	}
	for hash, in := range stored {
		who, err := decodePrincipal(in)
		if err != nil {
			return err
		}
		if r.inputs[hash], err = access.NewInput(who); err != nil {
			return err
		}
	}
	slices.Sort(tools)
	r.members, err = r.accessPolicies.members(ctx, r.tenant, r.groups, slices.Compact(tools))
	return err
}

// decide decides one decision again and adds it to the response if it is different.
func (r *replay) decide(d store.Decision, resp *policyv1.ReplayDecisionsResponse) {
	in, ok := r.inputs[d.InputHash]
	if !ok {
		resp.Skipped++
		return
	}
	resp.Replayed++
	with := func(set *access.Set) decide.Verdict {
		rights := r.decider.With(set, in)
		if d.Kind == store.Permission {
			return rights.Permission(d.Resource)
		}
		return rights.Tool(d.Resource, r.members)
	}
	v := with(r.draft)
	if v.Allowed == d.Allowed {
		return
	}
	resp.Differences = append(resp.Differences, &policyv1.DecisionDifference{
		Decision: decisionToProto(d), Allowed: v.Allowed, AllowedNow: with(r.now).Allowed, Rule: v.Rule, Policies: v.Policies, Reason: v.Reason,
	})
}
