package mcpbridge

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/services/mcpbridge/listing"
	"github.com/windlass-dev/windlass/services/mcpbridge/outbound"
)

// sender sends messages to a server in the form that its protocol revision requires, and judges the responses.
type sender struct {
	spec    *spec
	wire    wire
	log     *slog.Logger
	version string // protocol revision; set by the handshake
	nextID  atomic.Int64
	headers listing.Headers
}

// modern reports whether the conversation is stateless.
func (s *sender) modern() bool { return mcp.IsModernProtocol(s.version) }

// setVersion also sets the version in the transport, which sends it as a header.
func (s *sender) setVersion(version string) {
	s.version = version
	if t, ok := s.wire.(transport.HTTPConnection); ok {
		t.SetProtocolVersion(version)
	}
}

// request sends one request and returns its answer: a result, or a JSON-RPC error. Errors are *sendError.
func (s *sender) request(ctx context.Context, id int64, method mcp.MCPMethod, params map[string]any) (*answer, error) {
	var header http.Header
	if s.modern() {
		params, header = s.stateless(method, params)
	}
	if err := ctx.Err(); err != nil {
		return nil, &sendError{fate: notSent, cause: err}
	}
	if method == mcp.MethodToolsCall && s.spec.kind != overStdio {
		header = outbound.WithKey(header, params)
		if header == nil {
			header = http.Header{}
		}
		maps.Copy(header, headersOf(ctx))
	}
	x := &exchange{id: id, method: method}
	req := transport.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id), Method: string(method), Header: header}
	if params != nil {
		req.Params = params
	}
	if s.spec.kind == overStdio {
		x.SetSent(true)
	}
	res, err := s.wire.SendRequest(withExchange(ctx, x), req)
	return s.judge(ctx, x, res, err)
}

// stateless adds what protocol 2026-07-28 requires in each request.
func (s *sender) stateless(method mcp.MCPMethod, params map[string]any) (map[string]any, http.Header) {
	meta := map[string]any{}
	if own, ok := params["_meta"].(map[string]any); ok {
		meta = own
	}
	meta[mcp.MetaKeyProtocolVersion] = s.version
	if meta[mcp.MetaKeyClientCapabilities] == nil {
		meta[mcp.MetaKeyClientCapabilities] = elicitation()
	}
	meta[mcp.MetaKeyClientInfo] = clientInfo()
	if params == nil {
		params = map[string]any{}
	}
	params["_meta"] = meta
	if s.spec.kind == overStdio {
		return params, nil
	}
	text, err := json.Marshal(params)
	if err != nil {
		return params, nil // the transport meets the same error and reports it
	}
	header := http.Header{}
	for name, value := range mcp.StandardHeaders(s.version, method, text) {
		header.Set(name, value)
	}
	if name, ok := params["name"].(string); ok && method == mcp.MethodToolsCall {
		s.headers.Add(header, name, text)
	}
	return params, header
}

// notify sends a notification and waits only for its delivery.
func (s *sender) notify(ctx context.Context, method mcp.MCPMethod, fields map[string]any) error {
	return s.wire.SendNotification(ctx, mcp.JSONRPCNotification{
		JSONRPC: mcp.JSONRPC_VERSION,
		Notification: mcp.Notification{
			Method: string(method), Params: mcp.NotificationParams{AdditionalFields: fields},
		},
	})
}
