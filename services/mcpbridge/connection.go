package mcpbridge

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/services/mcpbridge/watch"
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
	sender
	lifetime
	changed func() // called when the tool list may have changed

	server    serverInfo // set by the handshake
	tokens    string     // prefix of this connection's progress tokens
	progress  routes
	stream    standing
	questions questions
	levels    logLevels
	updates   watch.Updates
}

// logLevels is the lowest level of log messages that was asked for. The zero value is ready for use.
type logLevels struct {
	mu    sync.Mutex
	isSet bool
	rank  int
}

// levelRank orders log levels; it returns -1 for an unknown one.
func levelRank(level string) int {
	return slices.Index([]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}, level)
}

// shut closes the transport.
func (c *connection) shut() {
	if err := c.wire.Close(); err != nil {
		c.log.DebugContext(context.Background(), "tool server was closed with an error", "server_id", c.spec.id, "error", c.describe(err))
	}
}

// cancelRequest tells the server that the answer is no longer needed. Over HTTP the new protocol does that by closing the stream.
func (c *connection) cancelRequest(id int64, reason string) {
	if c.modern() && c.spec.kind != overStdio {
		return
	}
	c.background(func(ctx context.Context) {
		ctx, stop := context.WithTimeout(ctx, 5*time.Second)
		defer stop()
		if err := c.notify(ctx, mcp.MethodNotificationCancelled, map[string]any{"requestId": id, "reason": reason}); err != nil {
			c.log.DebugContext(ctx, "tool server was not notified of a cancelled call", "server_id", c.spec.id, "error", c.describe(err))
		}
	})
}
