package wire

import (
	"context"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/services/mcpbridge/listing"
	"github.com/windlass-dev/windlass/services/mcpbridge/outbound"
	"github.com/windlass-dev/windlass/services/mcpbridge/server"
)

// Sender sends messages to a server in the form that its protocol revision requires, and judges the responses. It is safe for concurrent
// use once the revision is set.
type Sender struct {
	// Spec is the server, Transport the way to it.
	Spec      *server.Spec
	Transport Transport
	// Headers are the arguments that tools want to be repeated as headers.
	Headers listing.Headers

	version string // protocol revision; set by the handshake
	last    atomic.Int64
}

// NewSender returns a sender without a protocol revision. Its ids are random enough not to collide with those of other clients: a stateless
// server may have nothing else to tell requests apart.
func NewSender(sp *server.Spec) *Sender {
	s := &Sender{Spec: sp}
	s.last.Store(rand.Int64N(1<<30) + 1<<20) //nolint:gosec // a number, not a secret
	return s
}

// NextID returns the id for a request.
func (s *Sender) NextID() int64 { return s.last.Add(1) }

// Version is the protocol revision; empty before the handshake.
func (s *Sender) Version() string { return s.version }

// Modern reports whether the conversation is stateless.
func (s *Sender) Modern() bool { return mcp.IsModernProtocol(s.version) }

// SetVersion also sets the version in the transport, which sends it as a header.
func (s *Sender) SetVersion(version string) {
	s.version = version
	if t, ok := s.Transport.(transport.HTTPConnection); ok {
		t.SetProtocolVersion(version)
	}
}

// Start starts the transport; what is received belongs to ctx. If the server refuses, the error is an *Error.
func (s *Sender) Start(ctx context.Context) error {
	x := &exchange{}
	if s.Spec.Kind == server.SSE {
		ctx = withExchange(ctx, x)
	}
	err := s.Transport.Start(ctx)
	if f := x.facts(); err != nil && f.status >= 400 {
		return &Error{
			Fate: UnknownFate, RetryAfter: f.retryAfter, status: f.status, scopes: f.scopes, text: outbound.Refusal(f.status, f.scopes),
		}
	}
	return err
}

type headersKey struct{}

// WithHeaders returns a context whose tool calls over HTTP have additional headers.
func WithHeaders(ctx context.Context, headers http.Header) context.Context {
	if len(headers) == 0 {
		return ctx
	}
	return context.WithValue(ctx, headersKey{}, headers)
}

// headersOf returns them; nil for none.
func headersOf(ctx context.Context) http.Header {
	headers, _ := ctx.Value(headersKey{}).(http.Header)
	return headers
}

// Elicitation returns the capabilities that we declare for questions: forms, but not external pages.
func Elicitation() map[string]any {
	return map[string]any{"elicitation": map[string]any{"form": struct{}{}}}
}

// Client is how we introduce ourselves to servers.
func Client() mcp.Implementation { return mcp.Implementation{Name: "windlass", Version: "1"} }

// Request sends one request and returns its answer: a result, or a JSON-RPC error. Errors are *Error.
func (s *Sender) Request(ctx context.Context, id int64, method mcp.MCPMethod, params map[string]any) (*Answer, error) {
	if s.Modern() {
		params = s.stateless(params)
	}
	if err := ctx.Err(); err != nil {
		return nil, NotSent(err, "")
	}
	x := &exchange{id: id, method: method}
	req := transport.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id), Method: string(method)}
	if params != nil {
		req.Params = params
	}
	if s.Spec.Kind != server.Stdio {
		req.Header = http.Header{}
		if s.Modern() {
			req.Params = s.withHeaders(req.Header, method, params)
		}
		if method == mcp.MethodToolsCall {
			outbound.SetKey(req.Header, params)
			maps.Copy(req.Header, headersOf(ctx))
		}
	}
	if s.Spec.Kind == server.Stdio {
		x.SetSent(true)
	}
	res, err := s.Transport.SendRequest(withExchange(ctx, x), req)
	return s.judge(ctx, x, res, err)
}

// stateless adds what protocol 2026-07-28 requires in each request.
func (s *Sender) stateless(params map[string]any) map[string]any {
	meta := map[string]any{}
	if own, ok := params["_meta"].(map[string]any); ok {
		meta = own
	}
	meta[mcp.MetaKeyProtocolVersion] = s.version
	if meta[mcp.MetaKeyClientCapabilities] == nil {
		meta[mcp.MetaKeyClientCapabilities] = Elicitation()
	}
	meta[mcp.MetaKeyClientInfo] = Client()
	if params == nil {
		params = map[string]any{}
	}
	params["_meta"] = meta
	return params
}

// withHeaders sets the headers that repeat parameters over HTTP. It returns the parameters, encoded once for headers and body.
func (s *Sender) withHeaders(header http.Header, method mcp.MCPMethod, params map[string]any) any {
	text, err := json.Marshal(params)
	if err != nil {
		return params // the transport meets the same error and reports it
	}
	name, ok := params["name"].(string)
	if !ok || method != mcp.MethodToolsCall {
		for name, value := range mcp.StandardHeaders(s.version, method, text) {
			header.Set(name, value)
		}
		return json.RawMessage(text)
	}
	header.Set(mcp.HeaderMethod, string(method))
	if encoded, ok := mcp.EncodeHeaderValue(name); ok {
		header.Set(mcp.HeaderName, encoded)
	}
	s.Headers.Add(header, name, text)
	return json.RawMessage(text)
}

// Notify sends a notification and waits only for its delivery.
func (s *Sender) Notify(ctx context.Context, method mcp.MCPMethod, fields map[string]any) error {
	return s.Transport.SendNotification(ctx, mcp.JSONRPCNotification{
		JSONRPC: mcp.JSONRPC_VERSION,
		Notification: mcp.Notification{
			Method: string(method), Params: mcp.NotificationParams{AdditionalFields: fields},
		},
	})
}
