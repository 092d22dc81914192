// Package agent manages agents and their blueprints. Each change of an agent is a revision of its own, so that a turn keeps the
// one it began with.
package agent

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// ApprovalChecker is the part of the policy service that reads approval rules.
type ApprovalChecker interface {
	// CheckApprovalRules returns what is wrong with approval rules.
	CheckApprovalRules(ctx context.Context, in *policyv1.CheckApprovalRulesRequest,
		opts ...grpc.CallOption) (*policyv1.CheckApprovalRulesResponse, error)
}

// GroupReader is the part of the registry that reads tool groups.
type GroupReader interface {
	// GetToolGroup returns a group that the caller may read. One that does not exist is an error with the reason NOT_FOUND.
	GetToolGroup(ctx context.Context, in *registryv1.GetToolGroupRequest, opts ...grpc.CallOption) (*registryv1.ToolGroup, error)
}

// ModelResolver is the part of the inference service that knows models.
type ModelResolver interface {
	ResolveModel(ctx context.Context, req *inferencev1.ResolveModelRequest, opts ...grpc.CallOption) (*inferencev1.Model, error)
}

// LimitsChecker returns what is wrong with limits of an agent, fields below "limits".
type LimitsChecker func(l agentspec.Limits) []fault.Field

// Deps are what the service needs; all but Groups, Models and Chains are required.
type Deps struct {
	Store     *store.Store
	Approvals ApprovalChecker
	// Groups may be nil: then agents cannot name tool groups.
	Groups GroupReader
	// Models may be nil: then the call finds out what a model does not take.
	Models      ModelResolver
	Blueprints  blueprint.Checker
	CheckLimits LimitsChecker
	// Chains chooses models; without it they are not explained.
	Chains ChainResolver
}

// Service manages agents. It is safe for concurrent use.
type Service struct{ deps Deps }

// New makes the service.
func New(deps Deps) *Service { return &Service{deps: deps} }

// defaultAgent is the agent of a session that names none, where there are several.
const defaultAgent = "assistant"

// errNotFound is also the answer about an agent that was deleted.
func errNotFound(id string) error { return fault.NotFound("agent %q does not exist", id) }

// Get reads an agent that is not deleted, at a revision; 0 is the newest.
func (s *Service) Get(ctx context.Context, id string, revision uint32) (store.Agent, error) {
	if !access.Storable(id) {
		return store.Agent{}, errNotFound(id)
	}
	a, err := s.deps.Store.Agent(ctx, authn.Tenant(ctx), id)
	if errors.Is(err, store.ErrNotFound) || err == nil && a.Deleted {
		err = errNotFound(id)
	}
	if err != nil || revision == 0 || revision == a.Revision {
		return a, err
	}
	a, err = s.deps.Store.AgentRevision(ctx, a.Tenant, a.ID, revision)
	if errors.Is(err, store.ErrNotFound) {
		err = fault.NotFound("agent %q has no revision %d", id, revision)
	}
	return a, err
}

// Choose reads the agent of a session that names an agent, or none: then it is the only one, or "assistant".
func (s *Service) Choose(ctx context.Context, id string) (store.Agent, error) {
	tenant := authn.Tenant(ctx)
	if id != "" {
		return s.Get(ctx, id, 0)
	}
	agents, err := s.deps.Store.Agents(ctx, tenant, "", 2)
	if err != nil {
		return store.Agent{}, err
	}
	if len(agents) == 1 {
		return agents[0], nil
	}
	a, err := s.deps.Store.Agent(ctx, tenant, defaultAgent)
	switch {
	case err == nil && !a.Deleted:
		return a, nil
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return a, err
	case len(agents) == 0:
		return a, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "there is no agent yet").
			Hint("Create one first: POST /v1/agents {\"id\":\"assistant\"}.")
	}
	return a, fault.Invalid("agent_id", "is required: there are several agents and none is called %q", defaultAgent)
}

// OfTurn reads the agent at a turn's pinned revision, or at the newest one before its start, even if it was deleted meanwhile.
func (s *Service) OfTurn(ctx context.Context, t store.Turn) (a store.Agent, err error) {
	if t.BlueprintRevision != 0 {
		a, err = s.deps.Store.AgentRevision(ctx, t.Tenant, t.AgentID, t.BlueprintRevision)
	} else {
		a, err = s.deps.Store.Agent(ctx, t.Tenant, t.AgentID)
	}
	if errors.Is(err, store.ErrNotFound) {
		err = errNotFound(t.AgentID)
	}
	return a, err
}

// List lists agents by id, after the given one.
func (s *Service) List(ctx context.Context, after string, limit int) ([]store.Agent, error) {
	return s.deps.Store.Agents(ctx, authn.Tenant(ctx), after, limit)
}

// Revisions lists the revisions of an agent below the given one, newest first. A below of 0 means all.
func (s *Service) Revisions(ctx context.Context, id string, below int64, limit int) ([]store.Agent, error) {
	return s.deps.Store.AgentRevisions(ctx, authn.Tenant(ctx), id, below, limit)
}

// each calls f for all agents by id, until it returns false.
func (s *Service) each(ctx context.Context, f func(store.Agent) (bool, error)) error {
	const size = 200
	for after := ""; ; {
		rows, err := s.List(ctx, after, size)
		if err != nil {
			return err
		}
		for _, a := range rows {
			after = a.ID
			if more, err := f(a); err != nil || !more {
				return err
			}
		}
		if len(rows) < size {
			return nil
		}
	}
}
