package mcpbridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/libs/fault"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge/result"
)

// Forward implements BridgeService.
func (s *Service) Forward(ctx context.Context, req *mcpbridgev1.ForwardRequest) (*mcpbridgev1.ForwardResponse, error) {
	sp, err := s.resolve(req.GetServer())
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
	in := call{accepts: req.GetAccepts()}
	params["_meta"] = map[string]any{mcp.MetaKeyClientCapabilities: in.able(sp)} // the caller's own is addressed to us
	a, err := s.forward(ctx, sp, mcp.MCPMethod(req.GetMethod()), params)
	if err != nil {
		return nil, err
	}
	if a.failure != nil {
		return &mcpbridgev1.ForwardResponse{Answer: &mcpbridgev1.ForwardResponse_Error{Error: &mcpbridgev1.ProtocolError{
			Code: int32(a.failure.Code), Message: sp.redact(result.Excerpt([]byte(a.failure.Message))),
		}}}, nil
	}
	text, err := sp.cleanJSON(a.result)
	if err != nil {
		return nil, unavailable(sp, &sendError{fate: unknownFate, text: "the answer is no JSON"})
	}
	if len(text) > result.MaxBytes {
		return nil, unavailable(sp, &sendError{fate: unknownFate, text: "the answer is too large to be passed on"})
	}
	return &mcpbridgev1.ForwardResponse{Answer: &mcpbridgev1.ForwardResponse_ResultJson{ResultJson: text}}, nil
}

// forward sends a request that may be repeated: on a new connection if the server has lost the session.
func (s *Service) forward(ctx context.Context, sp *spec, method mcp.MCPMethod, params map[string]any) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, sp.callTimeout)
	defer cancel()
	for attempt := 0; ; attempt++ {
		u, err := s.pool.get(sp)
		if err != nil {
			return nil, unavailable(sp, err)
		}
		if err := u.enter(ctx, s.cfg.QueueTimeout); err != nil {
			return nil, err
		}
		a, err := forwardOn(ctx, u, method, params)
		u.leave()
		if err == nil {
			return a, nil
		}
		if attempt > 0 || ctx.Err() != nil || !errors.Is(err, errRetired) && asSendError(err).fate == unknownFate {
			return nil, unavailable(sp, err)
		}
	}
}

// forwardOn sends the request on one upstream. A connection without its session is dropped.
func forwardOn(ctx context.Context, u *upstream, method mcp.MCPMethod, params map[string]any) (*answer, error) {
	c, err := u.connection(ctx)
	if err != nil {
		return nil, err
	}
	if !c.begin() {
		return nil, errRetired
	}
	defer c.finished()
	a, err := c.ask(ctx, method, params)
	if err == nil {
		return a, nil
	}
	if e := asSendError(err); e.stale || e.fate == sessionLost {
		u.drop(c, e)
	}
	return nil, err
}

// setLogLevel has a server of the old era send log messages from the given level on, empty for none. The level is one for the whole
// connection, so it is only ever lowered.
func (c *connection) setLogLevel(ctx context.Context, level string) {
	rank := levelRank(level)
	if !c.server.logging || rank < 0 {
		return
	}
	c.levels.mu.Lock()
	defer c.levels.mu.Unlock()
	if c.levels.isSet && c.levels.rank <= rank {
		return
	}
	if _, err := c.request(ctx, c.nextID.Add(1), mcp.MethodSetLogLevel, map[string]any{"level": level}); err != nil {
		c.log.DebugContext(ctx, "tool server did not take a log level", "server_id", c.spec.id, "error", c.describe(err))
		return
	}
	c.levels.isSet, c.levels.rank = true, rank
}
