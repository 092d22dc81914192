package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/placeholder"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// CreateAgent implements AgentService.
func (s *Service) CreateAgent(ctx context.Context, req *sessionsv1.CreateAgentRequest) (*sessionsv1.Agent, error) {
	want := req.GetAgent()
	fields, err := s.checkElsewhere(ctx, "agent.", want, newExisting(want.GetId()))
	if err != nil {
		return nil, err
	}
	if fields = append(s.checkAgent("agent.", want), fields...); len(fields) > 0 {
		return nil, fault.InvalidFields(fields)
	}
	var made *sessionsv1.Agent
	err = s.store.Write(ctx, func(tx *store.Tx) error {
		_, before, err := agentIn(ctx, tx, want.GetId())
		if err != nil {
			return err
		}
		if before.ID != "" && !before.Deleted {
			return fault.AlreadyExists("agent %q exists already", want.GetId()).Hint("Choose another id, or update the agent.")
		}
		made, err = putAgent(ctx, tx, want, before, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	return shown(made), nil
}

// agentIn reads an agent in a transaction; one that never was is the zero row.
func agentIn(ctx context.Context, tx *store.Tx, id string) (*sessionsv1.Agent, store.Agent, error) {
	row, err := tx.Agent(ctx, authn.Tenant(ctx), id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, store.Agent{}, nil
	}
	if err != nil {
		return nil, store.Agent{}, err
	}
	a, err := agentToProto(row)
	return a, row, err
}

// putAgent stores want as the revision after before. The creation time is that of old, nil for a new agent.
func putAgent(ctx context.Context, tx *store.Tx, want *sessionsv1.Agent, before store.Agent, old *sessionsv1.Agent) (*sessionsv1.Agent, error) {
	made := proto.CloneOf(want)
	made.Revision = before.Revision + 1
	made.UpdateTime = stamp(tx.NowUs())
	made.CreateTime = made.GetUpdateTime()
	if old != nil {
		made.CreateTime = old.GetCreateTime()
	}
	data, err := proto.Marshal(made)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", made.GetId(), err)
	}
	return made, tx.PutAgent(ctx, store.Agent{Tenant: authn.Tenant(ctx), ID: made.GetId(), Revision: made.GetRevision(), Data: data})
}

// minContextTokens is the least that an agent may allow its conversations: in less there is no room for instructions, tools and an answer.
const minContextTokens = 2000

// wantModel says what a model is named like.
const wantModel = `want "provider/model", for example "openai/gpt-4o"`

// checkAgent finds what validation rules of the fields cannot: limits above the mesh's, a model without provider, broken globs.
func (s *Service) checkAgent(prefix string, a *sessionsv1.Agent) []fault.Field {
	var wrong []fault.Field
	asked, err := limitsOf(a.GetLimits())
	if err != nil {
		wrong = append(wrong, fault.Field{Path: prefix + "limits.max_cost", Message: err.Error()})
	}
	if name, most, ok := asked.within(s.cfg.MaxLimits); !ok {
		wrong = append(wrong, fault.Field{Path: prefix + "limits." + name, Message: aboveMesh(name, most)})
	}
	if m := a.GetModel(); m != "" && !placeholder.In(m) && !blueprint.Model(m) {
		wrong = append(wrong, fault.Field{Path: prefix + "model", Message: wantModel})
	}
	if a.GetStrategy() == turnv1.Strategy_STRATEGY_ROUTE && len(a.GetAgents()) == 0 {
		wrong = append(wrong, fault.Field{Path: prefix + "agents", Message: `is empty: strategy "route" hands each request to one of these agents`})
	}
	if n := a.GetMaxContextTokens(); n != 0 && n < minContextTokens {
		wrong = append(wrong, fault.Field{
			Path: prefix + "max_context_tokens", Message: fmt.Sprintf("is %d: at least %d are needed, or 0 for all of the model's window", n, minContextTokens),
		})
	}
	for i, pattern := range a.GetTools() {
		if placeholder.In(pattern) {
			continue // what it stands for is a part of a name
		}
		if err := glob.CheckName(pattern); err != nil {
			wrong = append(wrong, fault.Field{Path: fmt.Sprintf("%stools[%d]", prefix, i), Message: err.Error()})
		}
	}
	wrong = append(wrong, checkExecutor(prefix, a)...)
	return append(wrong, s.checker.Check(prefix, a)...)
}

// existing are ids of agents and names of tool groups that were found, or that are about to exist.
type existing struct{ agents, groups map[string]bool }

func newExisting(agents ...string) existing {
	e := existing{agents: map[string]bool{}, groups: map[string]bool{}}
	for _, id := range agents {
		e.agents[id] = true
	}
	return e
}

// checkElsewhere finds what is wrong with an agent that others know: policy, the registry, and the other agents. An agent that speaks of none of
// them costs nothing, and nothing that was seen is asked for.
func (s *Service) checkElsewhere(ctx context.Context, prefix string, a *sessionsv1.Agent, seen existing) ([]fault.Field, error) {
	rules, err := s.checkApprovals(ctx, prefix, a.GetApprovals())
	if err != nil {
		return nil, err
	}
	groups, err := s.checkGroups(ctx, prefix, a, seen)
	if err != nil {
		return nil, err
	}
	missing, err := s.checkSubAgents(ctx, prefix, a, seen)
	return slices.Concat(rules, groups, missing), err
}

// liveAgent reads an agent that is not deleted, at its newest revision.
func (s *Service) liveAgent(ctx context.Context, id string) (*sessionsv1.Agent, error) {
	if !access.Storable(id) {
		return nil, noAgent(id)
	}
	row, err := s.store.Agent(ctx, authn.Tenant(ctx), id)
	if errors.Is(err, store.ErrNotFound) || err == nil && row.Deleted {
		return nil, noAgent(id)
	}
	if err != nil {
		return nil, err
	}
	return agentToProto(row)
}

// GetAgent implements AgentService.
func (s *Service) GetAgent(ctx context.Context, req *sessionsv1.GetAgentRequest) (*sessionsv1.Agent, error) {
	a, err := s.liveAgent(ctx, req.GetAgentId())
	if err != nil {
		return nil, err
	}
	if r := req.GetRevision(); r != 0 && r != a.GetRevision() {
		row, err := s.store.AgentRevision(ctx, authn.Tenant(ctx), a.GetId(), r)
		if errors.Is(err, store.ErrNotFound) {
			return nil, fault.NotFound("agent %q has no revision %d", a.GetId(), r)
		}
		if err != nil {
			return nil, err
		}
		if a, err = agentToProto(row); err != nil {
			return nil, err
		}
	}
	return shown(a), nil
}

// ListAgents implements AgentService.
func (s *Service) ListAgents(ctx context.Context, req *sessionsv1.ListAgentsRequest) (*sessionsv1.ListAgentsResponse, error) {
	var after string
	size, err := page.Request("agents", req.GetPageSize(), req.GetPageToken(), 50, &after)
	if err != nil {
		return nil, err
	}
	rows, err := s.store.Agents(ctx, authn.Tenant(ctx), after, size+1)
	if err != nil {
		return nil, err
	}
	rows, next := page.Trim(rows, size, "agents", func(a store.Agent) any { return a.ID })
	out := &sessionsv1.ListAgentsResponse{NextPageToken: next}
	out.Agents, err = agentsToProto(rows)
	return out, err
}

func agentsToProto(rows []store.Agent) ([]*sessionsv1.Agent, error) {
	var out []*sessionsv1.Agent
	for _, row := range rows {
		a, err := agentToProto(row)
		if err != nil {
			return nil, err
		}
		out = append(out, shown(a))
	}
	return out, nil
}

// DeleteAgent implements AgentService.
func (s *Service) DeleteAgent(ctx context.Context, req *sessionsv1.DeleteAgentRequest) (*sessionsv1.DeleteAgentResponse, error) {
	if !access.Storable(req.GetAgentId()) {
		return nil, noAgent(req.GetAgentId())
	}
	if !req.GetForce() {
		if err := s.checkUnnamed(ctx, req.GetAgentId()); err != nil {
			return nil, err
		}
	}
	err := s.store.Write(ctx, func(tx *store.Tx) error { return tx.DeleteAgent(ctx, authn.Tenant(ctx), req.GetAgentId()) })
	if errors.Is(err, store.ErrNotFound) {
		err = noAgent(req.GetAgentId())
	}
	if err != nil {
		return nil, err
	}
	return &sessionsv1.DeleteAgentResponse{}, nil
}

// ListAgentRevisions implements AgentService.
func (s *Service) ListAgentRevisions(ctx context.Context, req *sessionsv1.ListAgentRevisionsRequest) (*sessionsv1.ListAgentRevisionsResponse, error) {
	a, err := s.liveAgent(ctx, req.GetAgentId())
	if err != nil {
		return nil, err
	}
	var below int64
	list := "revisions|" + a.GetId()
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &below)
	if err != nil {
		return nil, err
	}
	rows, err := s.store.AgentRevisions(ctx, authn.Tenant(ctx), a.GetId(), below, size+1)
	if err != nil {
		return nil, err
	}
	rows, next := page.Trim(rows, size, list, func(a store.Agent) any { return int64(a.Revision) })
	out := &sessionsv1.ListAgentRevisionsResponse{NextPageToken: next}
	out.Revisions, err = agentsToProto(rows)
	return out, err
}
