// Package agents makes tools of agents, and calls them: a call starts a turn of the agent, on behalf of the caller, and waits for its
// answer. Calls within turns do not come here: they are child sessions, which the worker starts.
package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/glob"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Agents lists agents.
type Agents interface {
	ListAgents(context.Context, *sessionsv1.ListAgentsRequest, ...grpc.CallOption) (*sessionsv1.ListAgentsResponse, error)
}

// Sessions opens sessions.
type Sessions interface {
	CreateSession(context.Context, *sessionsv1.CreateSessionRequest, ...grpc.CallOption) (*sessionsv1.Session, error)
	GetSession(context.Context, *sessionsv1.GetSessionRequest, ...grpc.CallOption) (*sessionsv1.Session, error)
}

// Turns starts turns and waits for them.
type Turns interface {
	CreateTurn(context.Context, *sessionsv1.CreateTurnRequest, ...grpc.CallOption) (*sessionsv1.Turn, error)
	GetTurn(context.Context, *sessionsv1.GetTurnRequest, ...grpc.CallOption) (*sessionsv1.Turn, error)
}

// Client calls agents. Its requests act for the principal in their context. All fields are required.
type Client struct {
	Agents   Agents
	Sessions Sessions
	Turns    Turns
}

// Complete reports whether all fields are set.
func (c Client) Complete() bool { return c.Agents != nil && c.Sessions != nil && c.Turns != nil }

// Limits of one source.
const (
	// maxAgents is how many agents of a source become tools.
	maxAgents = 1000
	pageSize  = 100
	maxPages  = 200
)

// driver calls agents.
type driver struct {
	env    *source.Env
	client Client
}

// Open returns the driver of the kind.
func Open(env *source.Env, client Client) source.Driver { return driver{env, client} }

// Discover: the tools are the agents that the source's globs match, or all. The list is read as the registry
// itself; whether a caller may use an agent is decided for each call.
func (d driver) Discover(ctx context.Context, s store.Source, _ source.User) (store.Inventory, error) {
	ctx, cancel := context.WithTimeout(ctx, d.env.DiscoverTimeout)
	defer cancel()
	registry := authn.Service("registry")
	registry.Tenant = s.Tenant
	ctx = authn.With(ctx, registry)
	inv := store.Inventory{ProtocolVersion: "Windlass"}
	req := &sessionsv1.ListAgentsRequest{PageSize: pageSize}
	for range maxPages {
		page, err := d.client.Agents.ListAgents(ctx, req)
		if err != nil {
			return store.Inventory{}, err
		}
		for _, a := range page.GetAgents() {
			if len(s.Spec.Agents) > 0 && !glob.Any(s.Spec.Agents, a.GetId()) {
				continue
			}
			if len(inv.Tools) == maxAgents {
				inv.Warnings = []string{fmt.Sprintf("only the first %d agents are tools: select some with agents", maxAgents)}
				return inv, nil
			}
			t, err := tool(a)
			if err != nil {
				return store.Inventory{}, err
			}
			inv.Tools = append(inv.Tools, t)
		}
		if req.PageToken = page.GetNextPageToken(); req.GetPageToken() == "" {
			break
		}
	}
	return inv, nil
}

const outputSchema = `{"type":"object","properties":{"output":{"type":"string"},"citations":{"type":"array"},"session_id":{"type":"string"},"turn_id":{"type":"string"},` +
	`"agent_id":{"type":"string"},"status":{"type":"string"},"stop_reason":{"type":"string"},"error":{"type":"string"},` +
	`"waiting_for":{"type":"array","items":{"type":"string"}},"next":{"type":"string"}},"required":["session_id","turn_id","status"]}`

// tool returns an agent as a tool. Its definition changes only when the tool does, not with each revision of the agent.
func tool(a *sessionsv1.Agent) (store.Found, error) {
	properties := map[string]any{
		"message": map[string]any{
			"type": "string", "minLength": 1,
			"description": "What the agent is to do, with all it needs to know: it does not see this conversation.",
		},
		SessionID: map[string]any{
			"type": "string", "maxLength": 64, "description": "Session of an earlier answer of the agent, to continue it; a new one when left out.",
		},
	}
	if a.GetParamsSchema() != nil {
		properties["params"] = canon.FromStruct(a.GetParamsSchema())
	}
	t := store.Found{
		OriginalName: a.GetId(), Title: a.GetDisplayName(), OutputSchema: []byte(outputSchema), Effect: store.Idempotent,
		Description: cmp.Or(a.GetDescription(), "Asks the agent "+cmp.Or(a.GetDisplayName(), a.GetId())+"."),
	}
	var err error
	t.InputSchema, err = json.Marshal(map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"message"}, "properties": properties,
	})
	if err == nil {
		t.Raw, err = json.Marshal(map[string]any{
			"name": t.OriginalName, "title": t.Title, "description": t.Description, "inputSchema": json.RawMessage(t.InputSchema),
			"outputSchema": json.RawMessage(t.OutputSchema),
		})
	}
	if err != nil {
		return t, fmt.Errorf("schema of agent %s as a tool: %w", a.GetId(), err)
	}
	return t, nil
}
