package sessions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/glob"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// maxAgentTools bounds the sub-agents that one agent is given.
const maxAgentTools = 128

// agentTools gives the sub-agents of an agent as tools, by name. One that was deleted is no tool any more. It costs nothing for an agent without any.
func (s *Service) agentTools(ctx context.Context, a *sessionsv1.Agent) ([]*sessionsv1.AgentTool, error) {
	if len(a.GetAgents()) == 0 {
		return nil, nil
	}
	var out []*sessionsv1.AgentTool
	for after := ""; len(out) < maxAgentTools; {
		rows, err := s.store.Agents(ctx, authn.Tenant(ctx), after, 200)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			after = row.ID
			if row.ID == a.GetId() || !glob.Any(a.GetAgents(), row.ID) {
				continue
			}
			sub, err := agentToProto(row)
			if err != nil {
				return nil, err
			}
			tool, err := agentTool(sub)
			if err != nil {
				return nil, err
			}
			out = append(out, tool)
		}
		if len(rows) < 200 {
			break
		}
	}
	return out[:min(len(out), maxAgentTools)], nil
}

func isGlob(id string) bool { return strings.ContainsAny(id, "*?") }

// agentTool describes a sub-agent as its caller's model sees it.
func agentTool(a *sessionsv1.Agent) (*sessionsv1.AgentTool, error) {
	properties := map[string]any{
		"message":    map[string]any{"type": "string", "minLength": 1, "description": "What the agent is to do, with all it needs to know: it does not see this conversation."},
		"background": map[string]any{"type": "boolean", "description": "Do not wait for the answer: it comes later, as a message of its own."},
	}
	if a.GetParamsSchema() != nil {
		properties["params"] = a.GetParamsSchema().AsMap()
	}
	schema, err := json.Marshal(map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"message"}, "properties": properties,
	})
	if err != nil {
		return nil, fmt.Errorf("schema of agent %s as a tool: %w", a.GetId(), err)
	}
	t := &sessionsv1.AgentTool{
		Name: contract.AgentToolPrefix + a.GetId(), AgentId: a.GetId(), Description: a.GetDescription(), InputSchemaJson: string(schema),
	}
	if t.GetDescription() == "" {
		t.Description = "Asks the agent " + shown(a).GetDisplayName() + "."
	}
	sum := sha256.Sum256([]byte(t.GetName() + "\x00" + t.GetDescription() + "\x00" + t.GetInputSchemaJson()))
	t.DefinitionHash = hex.EncodeToString(sum[:])
	return t, nil
}

// checkSubAgents finds sub-agents that are named without a glob and do not exist.
func (s *Service) checkSubAgents(ctx context.Context, prefix string, a *sessionsv1.Agent, seen existing) ([]fault.Field, error) {
	var wrong []fault.Field
	for i, id := range a.GetAgents() {
		path := fmt.Sprintf("%sagents[%d]", prefix, i)
		if isGlob(id) || seen.agents[id] {
			continue
		}
		_, err := s.liveAgent(ctx, id)
		switch {
		case fault.Is(err, faultv1.Reason_REASON_NOT_FOUND):
			wrong = append(wrong, fault.Field{Path: path, Message: fmt.Sprintf("agent %q does not exist: create it first, or name a pattern such as \"%s*\"", id, id)})
		case err != nil:
			return nil, err
		default:
			seen.agents[id] = true
		}
	}
	return wrong, nil
}

// maxNamed bounds how many agents an error lists.
const maxNamed = 10

// checkUnnamed refuses to delete an agent that others name as a sub-agent. One that only fits a pattern of theirs is not named.
func (s *Service) checkUnnamed(ctx context.Context, id string) error {
	var by []string
	for after := ""; ; {
		rows, err := s.store.Agents(ctx, authn.Tenant(ctx), after, 200)
		if err != nil {
			return err
		}
		for _, row := range rows {
			after = row.ID
			a, err := agentToProto(row)
			if err != nil {
				return err
			}
			if row.ID != id && len(by) < maxNamed && slices.Contains(a.GetAgents(), id) {
				by = append(by, row.ID)
			}
		}
		if len(rows) < 200 {
			break
		}
	}
	if len(by) == 0 {
		return nil
	}
	return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "agent %q is a sub-agent of %s", id, strings.Join(by, ", ")).
		Hint("Take it from their list \"agents\" first, or delete it with force=true: then it is a tool of theirs no more.")
}
