// Package wire sends single requests to an MCP server and says what became of each: its answer, or an error that knows whether the request
// can have run. It has the transports, in both eras of the protocol.
package wire

import (
	"context"
	"log/slog"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/process"
	"github.com/windlass-dev/windlass/services/mcpbridge/server"
)

// maxBytes limits one message from a server.
const maxBytes = 16 << 20

// Transport is the part of the library's transports that is used here.
type Transport interface {
	Start(ctx context.Context) error
	SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error)
	SendNotification(ctx context.Context, notification mcp.JSONRPCNotification) error
	SetNotificationHandler(handler func(notification mcp.JSONRPCNotification))
	GetSessionId() string
	Close() error
}

// Events are what a transport reports besides answers.
type Events struct {
	// Lost is called when the transport is lost.
	Lost func(error)
	// Stream is called with the response to the request for the standing stream of notifications. status is 0 if err is set.
	Stream func(status int, err error)
}

// Dialer makes transports. All fields are required.
type Dialer struct {
	// Egress dials HTTP servers.
	Egress *egress.Egress
	// Programs are those that may be started, within Limits.
	Programs *process.Programs
	Limits   process.Limits
	// Log receives, at debug level, the stderr of tool servers.
	Log *slog.Logger
}

// Open returns the transport to a server. A process is started, anything else is not connected yet.
func (d Dialer) Open(sp *server.Spec, events Events) (Transport, error) {
	switch sp.Kind {
	case server.Stdio:
		w, err := d.newStdio(sp, events.Lost)
		if err != nil {
			return nil, err
		}
		return w, nil
	case server.SSE:
		return newSSE(sp, d.Egress, events.Lost)
	default:
		return newHTTP(sp, d.Egress, events.Stream)
	}
}

// Explain adds what a process wrote to an error of its handshake. The errors of other transports stay as they are.
func Explain(t Transport, err error) error {
	if w, ok := t.(*stdio); ok {
		return w.explain(err)
	}
	return err
}
