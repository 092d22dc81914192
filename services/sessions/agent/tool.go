package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// maxTools bounds the sub-agents that one agent is given.
const maxTools = 128

// Tools returns the sub-agents of an agent as tools, by name. One that was deleted is no tool any more. An agent without any
// causes no reads.
func (s *Service) Tools(ctx context.Context, of store.Agent) ([]*store.AgentTool, error) {
	if len(of.Spec.Agents) == 0 {
		return nil, nil
	}
	var out []*store.AgentTool
	err := s.each(ctx, func(a store.Agent) (bool, error) {
		if a.ID == of.ID || !glob.Any(of.Spec.Agents, a.ID) {
			return true, nil
		}
		t, err := tool(a)
		out = append(out, t)
		return len(out) < maxTools, err
	})
	return out, err
}

func tool(a store.Agent) (*store.AgentTool, error) {
	properties := map[string]any{
		"message": map[string]any{
			"type": "string", "minLength": 1,
			"description": "What the agent is to do, with all it needs to know: it does not see this conversation.",
		},
		"background": map[string]any{"type": "boolean", "description": "Do not wait for the answer: it comes later, as a message of its own."},
	}
	if a.Spec.ParamsSchema != nil {
		properties["params"] = canon.FromStruct(a.Spec.ParamsSchema)
	}
	schema, err := json.Marshal(map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"message"}, "properties": properties,
	})
	if err != nil {
		return nil, fmt.Errorf("schema of agent %s as a tool: %w", a.ID, err)
	}
	t := &store.AgentTool{Name: contract.AgentToolPrefix + a.ID, AgentId: a.ID, InputSchemaJson: string(schema)}
	t.Description = cmp.Or(a.Spec.Description, "Asks the agent "+cmp.Or(a.Spec.DisplayName, a.ID)+".")
	sum := sha256.Sum256([]byte(t.Name + "\x00" + t.Description + "\x00" + t.InputSchemaJson))
	t.DefinitionHash = hex.EncodeToString(sum[:])
	return t, nil
}
