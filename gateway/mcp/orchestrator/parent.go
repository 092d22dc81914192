package orchestrator

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// maxRunner limits the id of a runner.
const maxRunner = 128

// parent returns the session that calls, nil if none does. The caller must be permitted to see the session that it says it is.
func (o *Orchestrator) parent(ctx context.Context, c Call) (*sessionsv1.Session, error) {
	if c.Caller == "" {
		return nil, nil // most clients are no sessions
	}
	s, err := o.sessions.GetSession(ctx, &sessionsv1.GetSessionRequest{SessionId: c.Caller})
	if err != nil {
		return nil, fmt.Errorf("session of the header %s: %w", SessionHeader, err)
	}
	if len(c.Runner) > maxRunner {
		return nil, fault.Invalid(RunnerHeader, "has %d bytes; at most %d are allowed", len(c.Runner), maxRunner)
	}
	return s, nil
}

// child returns the request for a session of an agent that the calling session starts. It has the calling session as its parent, and of
// that one's params those that its agent takes, unless others are given.
func (o *Orchestrator) child(
	ctx context.Context, c Call, agentID string, params *structpb.Struct,
) (*sessionsv1.CreateSessionRequest, error) {
	req := &sessionsv1.CreateSessionRequest{AgentId: agentID, Params: params, IdempotencyKey: c.key("session")}
	parent, err := o.parent(ctx, c)
	if err != nil || parent == nil {
		return req, err
	}
	agent, err := o.agents.GetAgent(ctx, &sessionsv1.GetAgentRequest{AgentId: parent.GetAgentId()})
	if err != nil {
		return nil, fmt.Errorf("agent of the calling session: %w", err)
	}
	req.Labels = map[string]string{ParentSession: parent.GetId(), ParentAgent: parent.GetAgentId()}
	if capabilities := agent.GetLabels()["capabilities"]; capabilities != "" {
		req.Labels[ParentCapabilities] = capabilities
	}
	if c.Runner != "" {
		req.Labels[Runner] = c.Runner
	}
	if params != nil || len(parent.GetParams().GetFields()) == 0 {
		return req, nil
	}
	to, err := o.agents.GetAgent(ctx, &sessionsv1.GetAgentRequest{AgentId: agentID})
	if err != nil {
		return nil, err
	}
	req.Params = inherited(parent.GetParams(), to.GetParamsSchema())
	return req, nil
}

// inherited returns the params that a schema names.
func inherited(params, schema *structpb.Struct) *structpb.Struct {
	out := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for name := range schema.GetFields()["properties"].GetStructValue().GetFields() {
		if v, ok := params.GetFields()[name]; ok {
			out.Fields[name] = v
		}
	}
	if len(out.Fields) == 0 {
		return nil
	}
	return out
}
