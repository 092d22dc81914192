package api

import (
	"context"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/sealedresult"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry/cache"
	"github.com/windlass-dev/windlass/services/registry/execute"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// ToolExecutions implements ToolExecutionService.
type ToolExecutions struct {
	registryv1.UnimplementedToolExecutionServiceServer
	store        store.Store
	catalog      catalog
	executor     *execute.Executor
	cache        *cache.Cache // nil: no results are kept
	indexes      *indexes
	maxTextBytes int // limits the text of a result for the model
}

// CallTool implements ToolExecutionService.
func (s *ToolExecutions) CallTool(req *registryv1.CallToolRequest, stream grpc.ServerStreamingServer[registryv1.CallToolResponse]) error {
	out, err := s.executor.Run(stream.Context(), execute.Call{
		Principal: req.GetPrincipal(), Tenant: req.GetPrincipal().GetTenant(), Tool: req.GetTool(),
		Pinned: req.GetDefinitionHash(), InSurface: req.GetDefinitionHash() != "", Arguments: []byte(req.GetArgumentsJson()),
		TurnID: req.GetTurnId(), SessionID: req.GetSessionId(), CallID: req.GetCallId(), RunnerID: req.GetRunnerId(), Key: req.GetKey(),
		AgentID: req.GetAgentId(),
		Rules:   req.GetApprovalRules(), Tainted: req.GetTainted(), Approved: req.GetApproved(), Input: req.GetInput(),
		Resolution: req.GetResolution(), CanWait: req.GetCanWait(), SealResult: sealedresult.Asked(stream.Context()),
		Banks: req.GetBanks(),
		ProviderData: providerdata.Sealed{
			Bytes: providerdata.Incoming(stream.Context()),
			Scope: providerdata.OfTurn(req.GetPrincipal().GetTenant(), req.GetTurnId()),
		},
	}, func(e execute.Event) error { return stream.Send(eventToProto(e)) })
	if err != nil {
		return err
	}
	return stream.Send(ended(req, out, s.maxTextBytes))
}

// StopCall implements ToolExecutionService.
func (s *ToolExecutions) StopCall(ctx context.Context, req *registryv1.StopCallRequest) (*registryv1.StopCallResponse, error) {
	stopped, err := s.executor.Stop(ctx, authn.Tenant(ctx), req.GetKey())
	return &registryv1.StopCallResponse{Stopped: stopped}, err
}

// ForgetTurns implements ToolExecutionService.
func (s *ToolExecutions) ForgetTurns(ctx context.Context, req *registryv1.ForgetTurnsRequest) (*registryv1.ForgetTurnsResponse, error) {
	if err := forgetResults(ctx, s.store, s.cache, req); err != nil {
		return nil, err
	}
	if err := s.executor.Deliver(ctx); err != nil {
		return nil, err
	}
	open, err := s.store.Forget(ctx, req.GetTenant(), req.GetTurnIds())
	if err != nil {
		return nil, err
	}
	return &registryv1.ForgetTurnsResponse{Open: uint32(open)}, nil
}

// CheckCall implements ToolExecutionService.
func (s *ToolExecutions) CheckCall(ctx context.Context, req *registryv1.CheckCallRequest) (*registryv1.CheckCallResponse, error) {
	c, def := req.GetCall(), req.GetDefinition()
	call := execute.Call{
		Principal: c.GetPrincipal(), Tenant: c.GetPrincipal().GetTenant(), Tool: c.GetTool(), Pinned: def.GetDefinitionHash(), InSurface: true,
		Arguments: []byte(c.GetArgumentsJson()), TurnID: c.GetTurnId(), SessionID: c.GetSessionId(), CallID: c.GetCallId(), Key: c.GetKey(),
		Rules: c.GetApprovalRules(), Tainted: c.GetTainted(), Approved: c.GetApproved(), CanWait: c.GetCanWait(),
	}
	check := func() (*execute.Decision, *execute.Outcome, error) {
		return s.executor.Check(ctx, call, execute.Definition{
			Hash: def.GetDefinitionHash(), InputSchema: []byte(def.GetInputSchemaJson()), Effect: store.Effect(def.GetEffect()),
		})
	}
	if def.GetSource() != "" {
		check = func() (*execute.Decision, *execute.Outcome, error) { return s.executor.CheckTool(ctx, call) }
	}
	d, out, err := check()
	if err != nil {
		return nil, err
	}
	resp := &registryv1.CheckCallResponse{}
	if d != nil {
		resp.Decided = eventToProto(execute.Event{Decided: d}).GetDecided()
	}
	if out != nil {
		last := ended(c, *out, s.maxTextBytes)
		resp.Refused, resp.ApprovalRequired = last.GetCompleted(), last.GetApprovalRequired()
	}
	return resp, nil
}
