package mcpbridge

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// wire is the part of the library's transports that a connection uses.
type wire interface {
	Start(ctx context.Context) error
	SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error)
	SendNotification(ctx context.Context, notification mcp.JSONRPCNotification) error
	SetNotificationHandler(handler func(notification mcp.JSONRPCNotification))
	GetSessionId() string
	Close() error
}

// connection is one MCP conversation with a server, from handshake to loss. It is safe for concurrent use after open. It does not use the
// library's client, which decodes what has to stay byte for byte and hides its request ids.
type connection struct {
	spec    *spec
	wire    wire
	log     *slog.Logger
	changed func() // called when the tool list may have changed

	version string // protocol revision; set by the handshake
	server  serverInfo

	life context.Context // ends with the connection
	end  context.CancelFunc
	done chan struct{} // closed when the connection is lost or closed
	bg   sync.WaitGroup

	drained   chan struct{} // closed when the wire may be closed
	wired     chan struct{} // closed when it is known
	drainOnce sync.Once

	nextID    atomic.Int64
	tokens    string // prefix of this connection's progress tokens
	progress  routes
	stream    standing
	headers   headerTools
	questions questions

	mu      sync.Mutex
	cause   error // why it was lost; nil while it works and when we closed it
	over    bool
	calls   int
	retired bool
	used    time.Time
}

// abort ends the connection and its calls because of err; the first reason counts.
func (c *connection) abort(err error) {
	c.finish(err)
	c.drain()
}

// refuseCalls ends the connection because of err for new calls only: over HTTP, running calls have their own sockets.
func (c *connection) refuseCalls(err error) {
	c.finish(err)
	c.mu.Lock()
	idle := c.calls == 0
	c.mu.Unlock()
	if idle {
		c.drain()
	}
}

// finish marks the end. The wire is closed in the background once it is drained.
func (c *connection) finish(cause error) {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return
	}
	c.over, c.cause = true, cause
	c.bg.Add(1)
	c.mu.Unlock()
	close(c.done)
	go func() {
		defer c.bg.Done()
		<-c.drained
		<-c.wired
		c.end()
		if err := c.wire.Close(); err != nil {
			c.log.DebugContext(context.Background(), "tool server was closed with an error", "server_id", c.spec.id, "error", c.describe(err))
		}
	}()
}

// drain allows the wire to be closed.
func (c *connection) drain() { c.drainOnce.Do(func() { close(c.drained) }) }

// background runs f as part of the connection, unless that is over.
func (c *connection) background(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.bg.Go(f)
	}
}

// close ends the connection and waits until everything has stopped.
func (c *connection) close() {
	c.finish(nil)
	c.drain()
	c.bg.Wait()
}

// lost returns why the connection was lost; nil if we closed it, or while it works.
func (c *connection) lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// alive reports whether calls may be sent.
func (c *connection) alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.over
}

// begin registers a call. It returns false if the connection is over or about to be.
func (c *connection) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.retired {
		return false
	}
	c.calls++
	return true
}

// finished ends what begin began.
func (c *connection) finished() {
	c.mu.Lock()
	c.calls--
	c.used = time.Now()
	last := (c.retired || c.over) && c.calls == 0
	c.mu.Unlock()
	if last {
		c.refuseCalls(nil)
	}
}

// retire closes the connection when its calls are over.
func (c *connection) retire() {
	c.mu.Lock()
	c.retired = true
	idle := c.calls == 0
	c.mu.Unlock()
	if idle {
		c.refuseCalls(nil)
	}
}

// idle returns how long the connection has been unused.
func (c *connection) idle() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls > 0 {
		return 0
	}
	return time.Since(c.used)
}

// modern reports whether the conversation is stateless.
func (c *connection) modern() bool { return mcp.IsModernProtocol(c.version) }

// request sends one request and returns its answer: a result, or a JSON-RPC error. Errors are *sendError.
func (c *connection) request(ctx context.Context, id int64, method mcp.MCPMethod, params map[string]any) (*answer, error) {
	var header http.Header
	if c.modern() {
		params, header = c.stateless(method, params)
	}
	if err := ctx.Err(); err != nil {
		return nil, &sendError{fate: notSent, cause: err}
	}
	header = c.withKey(header, method, params)
	x := &exchange{id: id, method: method}
	req := transport.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id), Method: string(method), Header: header}
	if params != nil {
		req.Params = params
	}
	if c.spec.kind == overStdio {
		x.setSent(true)
	}
	res, err := c.wire.SendRequest(withExchange(ctx, x), req)
	return c.judge(ctx, x, res, err)
}

// stateless adds what protocol 2026-07-28 requires in each request.
func (c *connection) stateless(method mcp.MCPMethod, params map[string]any) (map[string]any, http.Header) {
	meta := map[string]any{}
	if own, ok := params["_meta"].(map[string]any); ok {
		meta = own
	}
	meta[mcp.MetaKeyProtocolVersion] = c.version
	if meta[mcp.MetaKeyClientCapabilities] == nil {
		meta[mcp.MetaKeyClientCapabilities] = elicitation()
	}
	meta[mcp.MetaKeyClientInfo] = clientInfo()
	if params == nil {
		params = map[string]any{}
	}
	params["_meta"] = meta
	if c.spec.kind == overStdio {
		return params, nil
	}
	text, err := json.Marshal(params)
	if err != nil {
		return params, nil // the transport meets the same error and reports it
	}
	header := http.Header{}
	for name, value := range mcp.StandardHeaders(c.version, method, text) {
		header.Set(name, value)
	}
	if name, ok := params["name"].(string); ok && method == mcp.MethodToolsCall {
		c.headers.add(header, name, text)
	}
	return params, header
}

// notify sends a notification and waits only for its delivery.
func (c *connection) notify(ctx context.Context, method mcp.MCPMethod, fields map[string]any) error {
	return c.wire.SendNotification(ctx, mcp.JSONRPCNotification{
		JSONRPC: mcp.JSONRPC_VERSION,
		Notification: mcp.Notification{
			Method: string(method), Params: mcp.NotificationParams{AdditionalFields: fields},
		},
	})
}

// cancelRequest tells the server that the answer is no longer needed. Over HTTP the new protocol does that by closing the stream.
func (c *connection) cancelRequest(id int64, reason string) {
	if c.modern() && c.spec.kind != overStdio {
		return
	}
	c.background(func() {
		ctx, stop := context.WithTimeout(c.life, 5*time.Second)
		defer stop()
		if err := c.notify(ctx, mcp.MethodNotificationCancelled, map[string]any{"requestId": id, "reason": reason}); err != nil {
			c.log.DebugContext(ctx, "tool server was not notified of a cancelled call", "server_id", c.spec.id, "error", c.describe(err))
		}
	})
}
