package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/libs/ids"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry/builtin"
	"github.com/windlass-dev/windlass/services/registry/execute"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// InvokeTool implements ToolService.
func (s *Service) InvokeTool(ctx context.Context, req *registryv1.InvokeToolRequest) (*registryv1.InvokeToolResponse, error) {
	args := []byte("{}")
	if req.GetArguments() != nil {
		var err error
		if args, err = json.Marshal(req.GetArguments().AsMap()); err != nil {
			return nil, fault.Invalid("arguments", "not representable as JSON: %v", err)
		}
	}
	if strings.ContainsFunc(req.GetIdempotencyKey(), unicode.IsControl) {
		return nil, fault.Invalid("idempotency_key", "control characters are not allowed")
	}
	p := authn.From(ctx)
	// Keys are per caller: nobody can read another caller's results, or those of turns, by guessing a key.
	key := "direct/" + p.GetSubject() + "/" + req.GetIdempotencyKey()
	if req.GetIdempotencyKey() == "" {
		key = "direct/" + ids.New(ids.Execution)
	}
	out, err := s.executor.Run(ctx, execute.Call{
		Principal: p, Tenant: tenantOf(p), Tool: req.GetName(), InSurface: true, Arguments: args, Key: key,
	}, func(execute.Event) error { return nil })
	if err != nil {
		return nil, err
	}
	if out.Fault != nil {
		return nil, direct(req.GetName(), out.Fault)
	}
	return &registryv1.InvokeToolResponse{
		Content: out.Result.GetContent(), StructuredContent: out.Result.GetStructuredContent(), IsError: out.Result.GetIsError(),
		Cached: out.Cached, LatencyMs: milliseconds(out.Latency), ExecutionId: out.ExecutionID,
	}, nil
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

// CallTool implements ToolExecutionService.
func (s *Service) CallTool(req *registryv1.CallToolRequest, stream grpc.ServerStreamingServer[registryv1.CallToolResponse]) error {
	out, err := s.executor.Run(stream.Context(), execute.Call{
		Principal: req.GetPrincipal(), Tenant: tenantOf(req.GetPrincipal()), Tool: req.GetTool(),
		Pinned: req.GetDefinitionHash(), InSurface: req.GetDefinitionHash() != "", Arguments: []byte(req.GetArgumentsJson()),
		TurnID: req.GetTurnId(), SessionID: req.GetSessionId(), CallID: req.GetCallId(), Key: req.GetKey(),
		Rules: req.GetApprovalRules(), Approved: req.GetApproved(), Input: req.GetInput(), Resolution: req.GetResolution(), CanWait: req.GetCanWait(),
	}, func(e execute.Event) error { return stream.Send(eventToProto(e)) })
	if err != nil {
		return err
	}
	return stream.Send(ended(req, out, s.cfg.MaxTextBytes))
}

// StopCall implements ToolExecutionService.
func (s *Service) StopCall(ctx context.Context, req *registryv1.StopCallRequest) (*registryv1.StopCallResponse, error) {
	stopped, err := s.executor.Stop(ctx, authn.Tenant(ctx), req.GetKey())
	return &registryv1.StopCallResponse{Stopped: stopped}, err
}

// ForgetTurns implements ToolExecutionService.
func (s *Service) ForgetTurns(ctx context.Context, req *registryv1.ForgetTurnsRequest) (*registryv1.ForgetTurnsResponse, error) {
	open, err := s.store.Forget(ctx, req.GetTenant(), req.GetTurnIds())
	if err != nil {
		return nil, err
	}
	return &registryv1.ForgetTurnsResponse{Open: uint32(open)}, nil
}

// CheckCall implements ToolExecutionService.
func (s *Service) CheckCall(ctx context.Context, req *registryv1.CheckCallRequest) (*registryv1.CheckCallResponse, error) {
	c, def := req.GetCall(), req.GetDefinition()
	d, out, err := s.executor.Check(ctx, execute.Call{
		Principal: c.GetPrincipal(), Tenant: tenantOf(c.GetPrincipal()), Tool: c.GetTool(), Pinned: def.GetDefinitionHash(), InSurface: true,
		Arguments: []byte(c.GetArgumentsJson()), TurnID: c.GetTurnId(), SessionID: c.GetSessionId(), CallID: c.GetCallId(), Key: c.GetKey(),
		Rules: c.GetApprovalRules(), Approved: c.GetApproved(), CanWait: c.GetCanWait(),
	}, execute.Definition{
		Hash: def.GetDefinitionHash(), InputSchema: []byte(def.GetInputSchemaJson()), Effect: store.Effect(def.GetEffect()),
	})
	if err != nil {
		return nil, err
	}
	resp := &registryv1.CheckCallResponse{Decided: eventToProto(execute.Event{Decided: d}).GetDecided()}
	if out != nil {
		last := ended(c, *out, s.cfg.MaxTextBytes)
		resp.Refused, resp.ApprovalRequired = last.GetCompleted(), last.GetApprovalRequired()
	}
	return resp, nil
}

// ResolveTools implements ToolExecutionService.
func (s *Service) ResolveTools(ctx context.Context, req *registryv1.ResolveToolsRequest) (*registryv1.ResolveToolsResponse, error) {
	tenant := tenantOf(req.GetPrincipal())
	listed, err := s.listed(ctx, tenant, req.GetGlobs())
	if err != nil {
		return nil, err
	}
	fitting, err := s.fitting(ctx, tenant, listed.may)
	if err != nil {
		return nil, err
	}
	resp, byName := &registryv1.ResolveToolsResponse{}, listed.byName()
	if len(req.GetOthers()) > 0 {
		if resp.Others, err = s.allowed(ctx, req.GetPrincipal(), req.GetOthers()); err != nil {
			return nil, err
		}
	}
	for part := range slices.Chunk(fitting, namesAtOnce) {
		names, err := s.allowed(ctx, req.GetPrincipal(), part)
		if err != nil {
			return nil, err
		}
		found, err := s.store.Tools(ctx, tenant, names)
		if err != nil {
			return nil, fmt.Errorf("read tools: %w", err)
		}
		for _, t := range found {
			if byName || listed.has(t) {
				resp.Tools = append(resp.Tools, toolToProto(t))
			}
		}
	}
	return resp, nil
}

// fitting returns the names of matching tools of enabled sources, by name.
func (s *Service) fitting(ctx context.Context, tenant string, wanted func(tool string) bool) ([]string, error) {
	var out []string
	for after := ""; ; {
		names, err := s.store.ToolNames(ctx, tenant, "", after, namesAtOnce)
		if err != nil {
			return nil, fmt.Errorf("list tools: %w", err)
		}
		for _, n := range names {
			if wanted(n) {
				out = append(out, n)
			}
		}
		if len(names) < namesAtOnce {
			return out, nil
		}
		after = names[len(names)-1]
	}
}

// fits reports whether globs match a tool. Globs over all sources do not match the tool that asks the user.
func fits(globs []string, tool string) bool {
	if tool != MeshSource+"__"+builtin.AskUser {
		return glob.Any(globs, tool)
	}
	return slices.ContainsFunc(globs, func(g string) bool { return strings.HasPrefix(g, MeshSource+"__") && glob.Match(g, tool) })
}

// GetDefinitions implements ToolExecutionService.
func (s *Service) GetDefinitions(ctx context.Context, req *registryv1.GetDefinitionsRequest) (*registryv1.GetDefinitionsResponse, error) {
	found, err := s.store.Definitions(ctx, authn.Tenant(ctx), req.GetHashes())
	if err != nil {
		return nil, fmt.Errorf("read definitions: %w", err)
	}
	byHash := make(map[string]store.Definition, len(found))
	names := make([]string, 0, len(found))
	for _, d := range found {
		byHash[d.Hash] = d
		names = append(names, d.Name)
	}
	slices.Sort(names)
	// The present tool has the effect class set by its source's owner, and its availability.
	present, err := s.store.Tools(ctx, authn.Tenant(ctx), slices.Compact(names))
	if err != nil {
		return nil, fmt.Errorf("read tools: %w", err)
	}
	byName := make(map[string]store.Tool, len(present))
	for _, t := range present {
		byName[t.Name] = t
	}
	resp := &registryv1.GetDefinitionsResponse{}
	for _, hash := range req.GetHashes() {
		d, ok := byHash[hash]
		if !ok {
			continue
		}
		t, ok := byName[d.Name]
		p := definitionToProto(d, t.Source.Effect(d))
		p.Available = ok && t.Source.State == store.Ready && !t.Source.Disabled
		resp.Tools = append(resp.Tools, p)
	}
	return resp, nil
}
