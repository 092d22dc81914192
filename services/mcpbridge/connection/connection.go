// Package connection is one MCP conversation with a server: the handshake, what it lists, calls of its tools, and what it reports.
package connection

import (
	"context"
	"log/slog"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/services/mcpbridge/notice"
	"github.com/windlass-dev/windlass/services/mcpbridge/question"
	"github.com/windlass-dev/windlass/services/mcpbridge/server"
	"github.com/windlass-dev/windlass/services/mcpbridge/watch"
	"github.com/windlass-dev/windlass/services/mcpbridge/wire"
)

// Connection is one MCP conversation with a server, from handshake to loss. It is safe for concurrent use. It does not use the library's
// client, which decodes what has to stay byte for byte and hides its request ids.
type Connection struct {
	lifetime
	spec    *server.Spec
	wire    *wire.Sender
	log     *slog.Logger
	changed func() // called when the tool list may have changed

	info      Info   // set by the handshake
	tokens    string // prefix of this connection's progress tokens
	notices   notice.Routes
	stream    standing
	questions *question.Router
	levels    logLevels
	updates   watch.Updates
}

// Info is what the server says about itself.
func (c *Connection) Info() Info { return c.info }

// Version is the protocol revision.
func (c *Connection) Version() string { return c.wire.Version() }

// Era is the form of the protocol that the server speaks.
func (c *Connection) Era() Era {
	if c.wire.Modern() {
		return ModernEra
	}
	return LegacyEra
}

// Conceal hides the secrets of a request in all that the server says from now on.
func (c *Connection) Conceal(request *server.Spec) { c.spec.Conceal(request) }

// shut closes the transport.
func (c *Connection) shut() {
	if err := c.wire.Transport.Close(); err != nil {
		c.log.DebugContext(context.Background(), "tool server was closed with an error", "server_id", c.spec.ID, "error", c.describe(err))
	}
}

// describe returns an error's text without secrets.
func (c *Connection) describe(err error) string { return wire.Describe(c.spec, err) }

// Ask sends a request that may be repeated, and settles its answer. Errors of the transport are *wire.Error.
func (c *Connection) Ask(ctx context.Context, method mcp.MCPMethod, params map[string]any) (*wire.Answer, error) {
	a, err := c.request(ctx, method, params)
	if err == nil {
		return a, nil
	}
	// An error with the status of a lost session is the answer if the server still knows the session.
	if e := wire.AsError(err); e.Answer != nil && c.Ping(ctx) == nil {
		return e.Answer, nil
	}
	return nil, err
}

// request sends a request.
func (c *Connection) request(ctx context.Context, method mcp.MCPMethod, params map[string]any) (*wire.Answer, error) {
	return c.wire.Request(ctx, c.wire.NextID(), method, params)
}

// Ping checks whether the server still knows the session after it refused a call with a status that suggests otherwise. Proxies and tools
// use these statuses too, even after they acted: only a server that also refuses a ping has lost the session, and so did not process the
// call. It returns nil if the server answers.
func (c *Connection) Ping(ctx context.Context) *wire.Error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if _, err := c.request(ctx, mcp.MethodPing, nil); err != nil {
		return wire.AsError(err)
	}
	return nil
}

// pingTimeout bounds the check for a lost session.
const pingTimeout = 5 * time.Second

// cancelRequest tells the server that the answer is no longer needed. Over HTTP the new protocol does that by closing the stream.
func (c *Connection) cancelRequest(id int64, reason string) {
	if c.wire.Modern() && c.spec.Kind != server.Stdio {
		return
	}
	c.background(func(ctx context.Context) {
		ctx, stop := context.WithTimeout(ctx, 5*time.Second)
		defer stop()
		if err := c.wire.Notify(ctx, mcp.MethodNotificationCancelled, map[string]any{"requestId": id, "reason": reason}); err != nil {
			c.log.DebugContext(ctx, "tool server was not notified of a cancelled call", "server_id", c.spec.ID, "error", c.describe(err))
		}
	})
}
