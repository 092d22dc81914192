package api

import (
	"cmp"
	"context"

	"buf.build/go/protovalidate"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/fieldmask"
	"github.com/windlass-dev/windlass/libs/page"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/agent"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/bundle"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Agents implements AgentService.
type Agents struct {
	sessionsv1.UnimplementedAgentServiceServer
	agents    *agent.Service
	bundles   *bundle.Service
	validator protovalidate.Validator
}

// NewAgents serves agents, and applies bundles.
func NewAgents(agents *agent.Service, bundles *bundle.Service, validator protovalidate.Validator) *Agents {
	return &Agents{agents: agents, bundles: bundles, validator: validator}
}

// CreateAgent implements AgentService.
func (s *Agents) CreateAgent(ctx context.Context, req *sessionsv1.CreateAgentRequest) (*sessionsv1.Agent, error) {
	return answerAgent(s.agents.Create(ctx, req.GetAgent().GetId(), convert.AgentFromProto(req.GetAgent())))
}

// GetAgent implements AgentService.
func (s *Agents) GetAgent(ctx context.Context, req *sessionsv1.GetAgentRequest) (*sessionsv1.Agent, error) {
	return answerAgent(s.agents.Get(ctx, req.GetAgentId(), req.GetRevision()))
}

// ListAgents implements AgentService.
func (s *Agents) ListAgents(ctx context.Context, req *sessionsv1.ListAgentsRequest) (*sessionsv1.ListAgentsResponse, error) {
	var after string
	size, err := page.Request("agents", req.GetPageSize(), req.GetPageToken(), 50, &after)
	if err != nil {
		return nil, err
	}
	rows, err := s.agents.List(ctx, after, size+1)
	if err != nil {
		return nil, err
	}
	rows, next := page.Trim(rows, size, "agents", func(a store.Agent) any { return a.ID })
	return &sessionsv1.ListAgentsResponse{Agents: agentsToProto(rows), NextPageToken: next}, nil
}

// agentFields are all fields but those that the service sets.
var agentFields = fieldmask.Resource{
	Name:    "agent",
	Mutable: fieldmask.AllBut(&sessionsv1.Agent{}, "id", "revision", "create_time", "update_time"),
}

// UpdateAgent implements AgentService.
func (s *Agents) UpdateAgent(ctx context.Context, req *sessionsv1.UpdateAgentRequest) (*sessionsv1.Agent, error) {
	want := req.GetAgent()
	return answerAgent(s.agents.Update(ctx, agent.Change{
		ID: want.GetId(), Revision: want.GetRevision(), Named: convert.AgentFromProto(want),
		Apply: func(spec agentspec.Spec) (agentspec.Spec, []fault.Field, error) {
			now := convert.AgentToProto(store.Agent{ID: want.GetId(), Spec: spec.Clone()})
			if err := agentFields.Apply(now, want, req.GetUpdateMask().GetPaths()); err != nil {
				return spec, nil, err
			}
			// The interceptor validated the change alone.
			return convert.AgentFromProto(now), convert.Violations(s.validator, "agent.", now), nil
		},
	}))
}

// DeleteAgent implements AgentService.
func (s *Agents) DeleteAgent(ctx context.Context, req *sessionsv1.DeleteAgentRequest) (*sessionsv1.DeleteAgentResponse, error) {
	if err := s.agents.Delete(ctx, req.GetAgentId(), req.GetForce()); err != nil {
		return nil, err
	}
	return &sessionsv1.DeleteAgentResponse{}, nil
}

// ListAgentRevisions implements AgentService.
func (s *Agents) ListAgentRevisions(ctx context.Context, req *sessionsv1.ListAgentRevisionsRequest) (*sessionsv1.ListAgentRevisionsResponse,
	error,
) {
	a, err := s.agents.Get(ctx, req.GetAgentId(), 0)
	if err != nil {
		return nil, err
	}
	var below int64
	list := "revisions|" + a.ID
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &below)
	if err != nil {
		return nil, err
	}
	rows, err := s.agents.Revisions(ctx, a.ID, below, size+1)
	if err != nil {
		return nil, err
	}
	rows, next := page.Trim(rows, size, list, func(a store.Agent) any { return int64(a.Revision) })
	return &sessionsv1.ListAgentRevisionsResponse{Revisions: agentsToProto(rows), NextPageToken: next}, nil
}

// ExplainModels implements AgentService.
func (s *Agents) ExplainModels(ctx context.Context, req *sessionsv1.ExplainModelsRequest) (*sessionsv1.ExplainModelsResponse, error) {
	chain, err := s.agents.Explain(ctx, agent.TurnOf{
		AgentID: req.GetAgentId(), SessionID: req.GetSessionId(), Modalities: req.GetModalities(), Size: req.GetSize(),
	})
	if err != nil {
		return nil, err
	}
	out := &sessionsv1.ExplainModelsResponse{
		Route: chain.GetRoute(), Revision: chain.GetRevision(), RouteOrigin: chain.GetRouteOrigin(),
	}
	for _, t := range chain.GetTargets() {
		out.Targets = append(out.Targets, &sessionsv1.ExplainedTarget{Model: t.GetModel().GetName(), Reason: t.GetReason()})
	}
	for _, t := range chain.GetSkipped() {
		out.Skipped = append(out.Skipped, &sessionsv1.ExplainedTarget{Model: t.GetModel(), Reason: t.GetReason()})
	}
	return out, nil
}

// ApplyBundle implements AgentService.
func (s *Agents) ApplyBundle(ctx context.Context, req *sessionsv1.ApplyBundleRequest) (*sessionsv1.ApplyBundleResponse, error) {
	applied, err := s.bundles.Apply(ctx, req.GetYaml(), req.GetDryRun())
	if err != nil {
		return nil, err
	}
	out := &sessionsv1.ApplyBundleResponse{}
	for _, a := range applied {
		out.Applied = append(out.Applied, &sessionsv1.Applied{
			Kind: a.Kind, Id: a.ID, Action: enum.Parse[sessionsv1.AppliedAction](string(a.Action)), Revision: a.Revision, Warning: a.Warning,
			Secret: a.Secret.Reveal(), // to the creator of the webhook, this once
		})
	}
	return out, nil
}

// answerAgent converts the result of a call.
func answerAgent(a store.Agent, err error) (*sessionsv1.Agent, error) {
	if err != nil {
		return nil, err
	}
	return agentToProto(a), nil
}

// agentToProto converts an agent as callers see it.
func agentToProto(a store.Agent) *sessionsv1.Agent {
	out := convert.AgentToProto(a)
	out.DisplayName = cmp.Or(out.DisplayName, a.ID)
	return out
}

func agentsToProto(rows []store.Agent) []*sessionsv1.Agent {
	var out []*sessionsv1.Agent
	for _, a := range rows {
		out = append(out, agentToProto(a))
	}
	return out
}
