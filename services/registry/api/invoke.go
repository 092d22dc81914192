package api

import (
	"context"
	"strings"
	"unicode"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/callertoken"
	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/providerdata"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry/execute"
)

// InvokeTool implements ToolService.
func (s *Tools) InvokeTool(ctx context.Context, req *registryv1.InvokeToolRequest) (*registryv1.InvokeToolResponse, error) {
	args := []byte(req.GetArgumentsJson())
	switch {
	case len(args) > 0 && req.GetArguments() != nil:
		return nil, fault.Invalid("arguments_json", "is given beside arguments: send one of them")
	case len(args) == 0:
		args = canon.StructJSON(req.GetArguments())
	}
	call, err := directCall(ctx, req.GetName(), req.GetIdempotencyKey())
	if err != nil {
		return nil, err
	}
	call.Arguments, call.Fresh = args, req.GetFresh()
	out, err := s.executor.Run(ctx, call, nil)
	if err != nil {
		return nil, err
	}
	if out.Fault != nil {
		return nil, direct(req.GetName(), out.Fault)
	}
	return invoked(out), nil
}

// directCall returns a call on behalf of the caller, without arguments. Keys are per caller: nobody can read another caller's results, or
// those of turns, by guessing a key.
func directCall(ctx context.Context, tool, key string) (execute.Call, error) {
	if strings.ContainsFunc(key, unicode.IsControl) {
		return execute.Call{}, fault.Invalid("idempotency_key", "control characters are not allowed")
	}
	p := authn.From(ctx)
	c := execute.Call{Principal: p, Tenant: p.GetTenant(), Tool: tool, InSurface: true, Key: directKey(p) + key}
	c.ProviderData = providerdata.Sealed{Bytes: providerdata.Incoming(ctx), Scope: providerdata.OfCaller(p)}
	c.Token = callertoken.From(ctx)
	if key == "" {
		c.Key, c.NewKey = "direct/"+ids.New(ids.Execution), true
	}
	return c, nil
}

// directKey returns what precedes the keys of a caller. Servers of tools see keys and know no tenants, so the tenant is part of it, except
// for the default tenant. No subject begins with a tenant: a user's has the issuer and a colon.
func directKey(p *policyv1.Principal) string {
	if p.GetTenant() == authn.DefaultTenant {
		return "direct/" + p.GetSubject() + "/"
	}
	return "direct/" + p.GetTenant() + "/" + p.GetSubject() + "/"
}

func invoked(out execute.Outcome) *registryv1.InvokeToolResponse {
	resp := &registryv1.InvokeToolResponse{
		Content: out.Result.GetContent(), StructuredContent: out.Result.GetStructuredContent(), IsError: out.Result.GetIsError(),
		Cached: out.Cached, LatencyMs: milliseconds(out.Latency), ExecutionId: out.ExecutionID,
	}
	if v := resp.GetStructuredContent(); v != nil && canon.Rounded(v) {
		resp.StructuredContentJson = string(canon.ValueJSON(v))
	}
	return resp
}

// RunTool implements ToolService.
func (s *Tools) RunTool(req *registryv1.RunToolRequest, stream grpc.ServerStreamingServer[registryv1.RunToolResponse]) error {
	call, err := directCall(stream.Context(), req.GetName(), req.GetIdempotencyKey())
	if err != nil {
		return err
	}
	if req.GetSessionId() != "" {
		if err := s.origins.Check(stream.Context(), req.GetSessionId()); err != nil {
			return err
		}
		call.SessionID, call.RunnerID = req.GetSessionId(), req.GetRunnerId()
	}
	call.Arguments = req.GetArgumentsJson()
	if len(call.Arguments) == 0 {
		call.Arguments = []byte("{}")
	}
	call.NewKey = call.NewKey || req.GetNewKey()
	call.Accepts, call.LogLevel, call.Input, call.Fresh = req.GetAccepts(), req.GetLogLevel(), req.GetAnswer(), req.GetFresh()
	out, err := s.executor.Run(stream.Context(), call, func(e execute.Event) error {
		if m := noticeToProto(e); m != nil {
			return stream.Send(m)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case out.Fault != nil:
		return direct(req.GetName(), out.Fault)
	case out.Input != nil:
		return stream.Send(&registryv1.RunToolResponse{Event: &registryv1.RunToolResponse_InputRequired{InputRequired: out.Input}})
	}
	return stream.Send(&registryv1.RunToolResponse{Event: &registryv1.RunToolResponse_Result{Result: invoked(out)}})
}

// StopTool implements ToolService.
func (s *Tools) StopTool(ctx context.Context, req *registryv1.StopToolRequest) (*registryv1.StopToolResponse, error) {
	call, err := directCall(ctx, "", req.GetIdempotencyKey())
	if err != nil {
		return nil, err
	}
	stopped, err := s.executor.Stop(ctx, call.Tenant, call.Key)
	return &registryv1.StopToolResponse{Stopped: stopped}, err
}

// noticeToProto returns nil for an event that is not part of the API.
func noticeToProto(e execute.Event) *registryv1.RunToolResponse {
	switch {
	case e.Progress != nil:
		return &registryv1.RunToolResponse{Event: &registryv1.RunToolResponse_Progress{Progress: progressToProto(e.Progress)}}
	case e.Log != nil:
		return &registryv1.RunToolResponse{Event: &registryv1.RunToolResponse_Log{
			Log: &registryv1.LogMessage{Level: e.Log.Level, Logger: e.Log.Logger, DataJson: e.Log.Data},
		}}
	}
	return nil
}

// direct converts a fault for a model to one for a direct caller. A tool that the caller may not use is reported as not found.
func direct(tool string, f *fault.Error) error {
	switch {
	case f.Reason == faultv1.Reason_REASON_PERMISSION_DENIED:
		return noTool(tool)
	case f.Code == codes.NotFound:
		return noTool(tool)
	default:
		return f
	}
}
