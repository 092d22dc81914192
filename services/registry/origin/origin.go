// Package origin says for which session a tool call is made.
package origin

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// CapabilitiesLabel is the label of an agent that names its capabilities, for servers that treat agents differently.
const CapabilitiesLabel = "capabilities"

// Keys of _meta.
const (
	keyAgent        = "windlass/agent_id"
	keyParent       = "windlass/parent_session_id"
	keyParams       = "windlass/params"
	keyCapabilities = "windlass/capabilities"
	keyRunner       = "windlass/runner_id"
)

// Sessions reads sessions; sessionsv1.SessionServiceClient is one.
type Sessions interface {
	GetSession(ctx context.Context, req *sessionsv1.GetSessionRequest, opts ...grpc.CallOption) (*sessionsv1.Session, error)
}

// Agents reads agents; sessionsv1.AgentServiceClient is one.
type Agents interface {
	GetAgent(ctx context.Context, req *sessionsv1.GetAgentRequest, opts ...grpc.CallOption) (*sessionsv1.Agent, error)
}

// Reader reads where calls come from. It acts for the principal of the call.
type Reader struct {
	sessions Sessions
	agents   Agents
}

// New returns a Reader.
func New(sessions Sessions, agents Agents) *Reader {
	return &Reader{sessions: sessions, agents: agents}
}

// Check returns a NOT_FOUND fault if the principal of ctx may not see the session.
func (r *Reader) Check(ctx context.Context, session string) error {
	_, err := r.session(ctx, session)
	return err
}

// Meta returns what a tool server is sent about the session of a call: its agent with its capabilities, its parent, its params, and the
// worker that makes the call. Errors: a NOT_FOUND fault if the principal may not see the session.
func (r *Reader) Meta(ctx context.Context, p *policyv1.Principal, session, runner string) (map[string]string, error) {
	ctx = authn.With(ctx, p)
	s, err := r.session(ctx, session)
	if err != nil {
		return nil, err
	}
	meta := map[string]string{keyAgent: s.GetAgentId(), keyParent: s.GetParentSessionId(), keyRunner: runner}
	if len(s.GetParams().GetFields()) > 0 {
		meta[keyParams] = string(canon.StructJSON(s.GetParams()))
	}
	a, err := r.agents.GetAgent(ctx, &sessionsv1.GetAgentRequest{AgentId: s.GetAgentId()})
	switch {
	case err == nil:
		meta[keyCapabilities] = a.GetLabels()[CapabilitiesLabel]
	case fault.From(err).Code != codes.NotFound: // it was deleted, or the caller may not see it
		return nil, fmt.Errorf("agent of session: %w", err)
	}
	return meta, nil
}

func (r *Reader) session(ctx context.Context, id string) (*sessionsv1.Session, error) {
	s, err := r.sessions.GetSession(ctx, &sessionsv1.GetSessionRequest{SessionId: id})
	switch {
	case err == nil:
		return s, nil
	case fault.From(err).Code == codes.NotFound:
		return nil, fault.NotFound("there is no session %q", id).Hint("Name a session that the caller may see.").Cause(err)
	case errors.Is(err, context.Canceled):
		return nil, err
	default:
		return nil, fmt.Errorf("session of a call: %w", err)
	}
}
