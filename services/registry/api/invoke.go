package api

import (
	"context"
	"encoding/json"
	"strings"
	"unicode"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry/execute"
)

// InvokeTool implements ToolService.
func (s *Tools) InvokeTool(ctx context.Context, req *registryv1.InvokeToolRequest) (*registryv1.InvokeToolResponse, error) {
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
