package gateway_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// upstream fakes all roles: it records requests and returns what a test set.
type upstream struct {
	sessionsv1.UnimplementedAgentServiceServer
	sessionsv1.UnimplementedSessionServiceServer
	sessionsv1.UnimplementedTurnServiceServer
	sessionsv1.UnimplementedEventServiceServer
	sessionsv1.UnimplementedApprovalServiceServer
	sessionsv1.UnimplementedShareServiceServer
	sessionsv1.UnimplementedArtifactServiceServer
	sessionsv1.UnimplementedFileServiceServer
	registryv1.UnimplementedSourceServiceServer
	registryv1.UnimplementedToolServiceServer
	policyv1.UnimplementedPolicyServiceServer
	inferencev1.UnimplementedInferenceServiceServer
	knowledgev1.UnimplementedDocumentServiceServer

	mu        sync.Mutex
	last      proto.Message
	principal *policyv1.Principal
	metadata  metadata.MD
	deadline  time.Duration
	err       error
	watch     func(*sessionsv1.WatchTurnRequest, grpc.ServerStreamingServer[sessionsv1.WatchTurnResponse]) error
	// watchEvents handles WatchEvents.
	watchEvents func(*sessionsv1.WatchEventsRequest, eventStream) error
	left        chan struct{} // one value for each watch whose handler ended
}

func (u *upstream) register(s grpc.ServiceRegistrar) {
	sessionsv1.RegisterAgentServiceServer(s, u)
	sessionsv1.RegisterSessionServiceServer(s, u)
	sessionsv1.RegisterTurnServiceServer(s, u)
	sessionsv1.RegisterEventServiceServer(s, u)
	sessionsv1.RegisterApprovalServiceServer(s, u)
	sessionsv1.RegisterShareServiceServer(s, u)
	sessionsv1.RegisterArtifactServiceServer(s, u)
	sessionsv1.RegisterFileServiceServer(s, u)
	registryv1.RegisterSourceServiceServer(s, u)
	registryv1.RegisterToolServiceServer(s, u)
	policyv1.RegisterPolicyServiceServer(s, u)
	inferencev1.RegisterInferenceServiceServer(s, u)
	knowledgev1.RegisterDocumentServiceServer(s, u)
}

// asked records a request and returns the error to respond with.
func (u *upstream) asked(ctx context.Context, m proto.Message) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last, u.principal = m, authn.From(ctx)
	u.metadata, _ = metadata.FromIncomingContext(ctx)
	if d, ok := ctx.Deadline(); ok {
		u.deadline = time.Until(d)
	}
	return u.err
}

func (u *upstream) fail(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.err = err
}

func (u *upstream) request() proto.Message {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.last
}

func (u *upstream) GetCaller(ctx context.Context, r *policyv1.GetCallerRequest) (*policyv1.Caller, error) {
	p := authn.From(ctx)
	return &policyv1.Caller{Tenant: p.GetTenant(), Subject: p.GetSubject(), Roles: p.GetRoles()}, u.asked(ctx, r)
}

func (u *upstream) CreateAgent(ctx context.Context, r *sessionsv1.CreateAgentRequest) (*sessionsv1.Agent, error) {
	return r.GetAgent(), u.asked(ctx, r)
}

func (u *upstream) GetAgent(ctx context.Context, r *sessionsv1.GetAgentRequest) (*sessionsv1.Agent, error) {
	a := &sessionsv1.Agent{Id: r.GetAgentId(), Strategy: turnv1.Strategy_STRATEGY_REACT}
	if r.GetAgentId() == "revised" {
		a.Revision = 7
	}
	return a, u.asked(ctx, r)
}

func (u *upstream) UpdateAgent(ctx context.Context, r *sessionsv1.UpdateAgentRequest) (*sessionsv1.Agent, error) {
	return r.GetAgent(), u.asked(ctx, r)
}

func (u *upstream) ListAgents(ctx context.Context, r *sessionsv1.ListAgentsRequest) (*sessionsv1.ListAgentsResponse, error) {
	return &sessionsv1.ListAgentsResponse{}, u.asked(ctx, r)
}

func (u *upstream) DeleteAgent(ctx context.Context, r *sessionsv1.DeleteAgentRequest) (*sessionsv1.DeleteAgentResponse, error) {
	return &sessionsv1.DeleteAgentResponse{}, u.asked(ctx, r)
}

func (u *upstream) CreateSession(ctx context.Context, r *sessionsv1.CreateSessionRequest) (*sessionsv1.Session, error) {
	return &sessionsv1.Session{Id: "ses_1", AgentId: r.GetAgentId()}, u.asked(ctx, r)
}

func (u *upstream) ForkSession(ctx context.Context, r *sessionsv1.ForkSessionRequest) (*sessionsv1.Session, error) {
	return &sessionsv1.Session{Id: "ses_2", ForkedFromSession: r.GetSessionId(), ForkedFromSeq: r.GetSeq()}, u.asked(ctx, r)
}

func (u *upstream) ImportSession(ctx context.Context, r *sessionsv1.ImportSessionRequest) (*sessionsv1.Session, error) {
	return &sessionsv1.Session{Id: "ses_2"}, u.asked(ctx, r)
}

func (u *upstream) ExportSession(ctx context.Context, r *sessionsv1.ExportSessionRequest) (*sessionsv1.ExportSessionResponse, error) {
	if r.GetFormat() == "markdown" {
		return &sessionsv1.ExportSessionResponse{Markdown: "# Title\n"}, u.asked(ctx, r)
	}
	return &sessionsv1.ExportSessionResponse{
		Session: &sessionsv1.Session{Id: r.GetSessionId()}, Messages: []*turnv1.Message{{Id: "msg_1", Role: turnv1.Role_ROLE_USER}},
		Events: []*turnv1.Event{{
			Seq: 1, Type: "session.forked",
			Data: &turnv1.Event_SessionForked{SessionForked: &turnv1.SessionForked{FromSeq: 7}},
		}},
	}, u.asked(ctx, r)
}

func (u *upstream) CreateTurn(ctx context.Context, r *sessionsv1.CreateTurnRequest) (*sessionsv1.Turn, error) {
	return &sessionsv1.Turn{Id: "trn_1", SessionId: r.GetSessionId(), Status: turnv1.TurnStatus_TURN_STATUS_QUEUED}, u.asked(ctx, r)
}

func (u *upstream) RerunTurn(ctx context.Context, r *sessionsv1.RerunTurnRequest) (*sessionsv1.Turn, error) {
	return &sessionsv1.Turn{Id: "trn_2", RerunOf: r.GetTurnId(), Status: turnv1.TurnStatus_TURN_STATUS_QUEUED}, u.asked(ctx, r)
}

func (u *upstream) CompareTurns(ctx context.Context, r *sessionsv1.CompareTurnsRequest) (*sessionsv1.TurnComparison, error) {
	return &sessionsv1.TurnComparison{Answer: &sessionsv1.ComparedAnswer{Same: true}}, u.asked(ctx, r)
}

func (u *upstream) GetTurn(ctx context.Context, r *sessionsv1.GetTurnRequest) (*sessionsv1.Turn, error) {
	return &sessionsv1.Turn{Id: r.GetTurnId(), Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED}, u.asked(ctx, r)
}

func (u *upstream) CancelTurn(ctx context.Context, r *sessionsv1.CancelTurnRequest) (*sessionsv1.Turn, error) {
	return &sessionsv1.Turn{Id: r.GetTurnId()}, u.asked(ctx, r)
}

func (u *upstream) Chat(ctx context.Context, r *sessionsv1.ChatRequest) (*sessionsv1.ChatResponse, error) {
	if r.GetWait() != nil { // an immediate response is not realistic
		return &sessionsv1.ChatResponse{TurnId: "trn_1", Status: turnv1.TurnStatus_TURN_STATUS_RUNNING}, u.asked(ctx, r)
	}
	return &sessionsv1.ChatResponse{Answer: "hi"}, u.asked(ctx, r)
}

func (u *upstream) CreateSource(ctx context.Context, r *registryv1.CreateSourceRequest) (*registryv1.Source, error) {
	return r.GetSource(), u.asked(ctx, r)
}

func (u *upstream) UpdateSource(ctx context.Context, r *registryv1.UpdateSourceRequest) (*registryv1.Source, error) {
	return r.GetSource(), u.asked(ctx, r)
}

func (u *upstream) GetTool(ctx context.Context, r *registryv1.GetToolRequest) (*registryv1.Tool, error) {
	return &registryv1.Tool{Name: r.GetName(), Effect: turnv1.EffectClass_EFFECT_CLASS_ONCE}, u.asked(ctx, r)
}

func (u *upstream) InvokeTool(ctx context.Context, r *registryv1.InvokeToolRequest) (*registryv1.InvokeToolResponse, error) {
	return &registryv1.InvokeToolResponse{LatencyMs: 3}, u.asked(ctx, r)
}

func (u *upstream) RefreshTools(ctx context.Context, r *registryv1.RefreshToolsRequest) (*registryv1.SyncResult, error) {
	return &registryv1.SyncResult{Total: 4}, u.asked(ctx, r)
}

func (u *upstream) ListDecisions(ctx context.Context, r *policyv1.ListDecisionsRequest) (*policyv1.ListDecisionsResponse, error) {
	return &policyv1.ListDecisionsResponse{}, u.asked(ctx, r)
}

func (u *upstream) ListModels(ctx context.Context, r *inferencev1.ListModelsRequest) (*inferencev1.ListModelsResponse, error) {
	return &inferencev1.ListModelsResponse{Models: []*inferencev1.Model{{Name: "builtin/scripted", Default: true}}}, u.asked(ctx, r)
}

func (u *upstream) WatchTurn(r *sessionsv1.WatchTurnRequest, s grpc.ServerStreamingServer[sessionsv1.WatchTurnResponse]) error {
	if err := u.asked(s.Context(), r); err != nil {
		return err
	}
	defer func() {
		select {
		case u.left <- struct{}{}:
		default:
		}
	}()
	if u.watch == nil {
		return fault.NotFound("no such turn")
	}
	return u.watch(r, s)
}

func newUpstream(testing.TB) *upstream { return &upstream{left: make(chan struct{}, 64)} }

func (u *upstream) ListTurns(ctx context.Context, r *sessionsv1.ListTurnsRequest) (*sessionsv1.ListTurnsResponse, error) {
	return &sessionsv1.ListTurnsResponse{Turns: []*sessionsv1.Turn{{Id: "trn_1", Status: r.GetStatus()}}}, u.asked(ctx, r)
}
