package api

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/libs/fault"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge/question"
	"github.com/windlass-dev/windlass/services/mcpbridge/result"
	"github.com/windlass-dev/windlass/services/mcpbridge/wire"
)

// Forward implements BridgeService.
func (b *Bridge) Forward(ctx context.Context, req *mcpbridgev1.ForwardRequest) (*mcpbridgev1.ForwardResponse, error) {
	sp, err := b.servers.Resolve(req.GetServer())
	if err != nil {
		return nil, err
	}
	params := map[string]any{}
	if text := bytes.TrimSpace(req.GetParamsJson()); len(text) > 0 {
		var raw map[string]json.RawMessage
		if text[0] != '{' || json.Unmarshal(text, &raw) != nil {
			return nil, fault.Invalid("params_json", "want a JSON object")
		}
		for name, value := range raw {
			params[name] = value
		}
	}
	caller := question.Caller{Accepts: req.GetAccepts()}
	params["_meta"] = map[string]any{mcp.MetaKeyClientCapabilities: caller.Able(sp)} // the caller's own is addressed to us
	a, err := b.runner.Forward(ctx, sp, mcp.MCPMethod(req.GetMethod()), params)
	if err != nil {
		return nil, err
	}
	if a.Failure != nil {
		return &mcpbridgev1.ForwardResponse{Answer: &mcpbridgev1.ForwardResponse_Error{Error: &mcpbridgev1.ProtocolError{
			Code: int32(a.Failure.Code), Message: sp.Redact(result.Excerpt([]byte(a.Failure.Message))),
		}}}, nil
	}
	text, err := sp.CleanJSON(a.Result)
	if err != nil {
		return nil, wire.Unavailable(sp, wire.Useless("the answer is no JSON"))
	}
	if len(text) > result.MaxBytes {
		return nil, wire.Unavailable(sp, wire.Useless("the answer is too large to be passed on"))
	}
	return &mcpbridgev1.ForwardResponse{Answer: &mcpbridgev1.ForwardResponse_ResultJson{ResultJson: text}}, nil
}
