package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/process"
	"github.com/windlass-dev/windlass/services/mcpbridge/outbound"
	"github.com/windlass-dev/windlass/services/mcpbridge/server"
)

// judge classifies the response to a request, or its absence. A response with the request's id is its answer, whatever the HTTP status; an
// error with the status of a lost session may be one, which a ping finds out. Anything else says nothing about a tool call that
// was written: it may come from a proxy, or from a tool that acted before it failed.
func (s *Sender) judge(ctx context.Context, x *exchange, res *transport.JSONRPCResponse, err error) (*Answer, error) {
	f := x.facts()
	switch {
	case err != nil:
		return nil, s.judgeError(ctx, x, f, err)
	case f.scopes != nil: // whatever its body says
		return nil, s.judgeError(ctx, x, f, fmt.Errorf("status %d", f.status))
	}
	if res == nil {
		return nil, Useless("the server sent an empty answer")
	}
	other := res.ID.Value() != any(x.id)
	switch {
	case res.Error != nil && res.Error.Code == process.TooLargeCode && s.Spec.Kind == server.Stdio:
		return nil, &Error{Fate: UnknownFate, TooLarge: true, text: "the answer is " + res.Error.Message}
	case !other && res.Error != nil && res.Error.Code == mcp.UNSUPPORTED_PROTOCOL_VERSION && x.method != mcp.MethodServerDiscover &&
		x.method != mcp.MethodToolsCall:
		return nil, staleness(f, wrongRevision)
	case !other && res.Error != nil && s.mayBeLost(x.method, f.status, res.Error.Code):
		e := s.judgeError(ctx, x, f, fmt.Errorf("status %d: %s", f.status, res.Error.Message))
		e.Answer = &Answer{Failure: res.Error}
		return nil, e
	case other && f.status >= 400 && res.Error != nil:
		e := s.judgeError(ctx, x, f, fmt.Errorf("status %d: %s", f.status, res.Error.Message))
		if x.method == mcp.MethodToolsCall || e.refusedLogin() || e.Lost() || f.status >= 500 {
			return nil, e
		}
	case other && f.status >= 400:
		return nil, s.judgeError(ctx, x, f, fmt.Errorf("status %d", f.status))
	case other && (res.Error == nil || x.method == mcp.MethodToolsCall):
		return nil, Useless("the server answered another request than the one that was sent")
	case res.Error == nil && len(res.Result) == 0:
		return nil, Useless("the server's answer has neither a result nor an error")
	}
	return &Answer{Result: res.Result, Failure: res.Error}, nil
}

func (s *Sender) judgeError(ctx context.Context, x *exchange, f facts, err error) *Error {
	e := &Error{Fate: UnknownFate, RetryAfter: f.retryAfter, status: f.status, cause: err}
	switch {
	case f.tooLarge || errors.Is(err, egress.ErrTooLarge):
		e.TooLarge, e.text = f.status < 300, fmt.Sprintf("the answer is larger than %d bytes", maxBytes)
	case errors.Is(err, egress.ErrRedirect):
		e.redirected = true
	case errors.Is(err, transport.ErrSessionTerminated) && !f.sent:
		e.Fate, e.Stale, e.text = Unsent, true, ErrSessionGone.Error()
	case !f.sent || notWritten(err):
		e.Fate = Unsent
	case f.status == http.StatusUnauthorized && f.loginFailed:
		e.Fate, e.text = Unsent, outbound.Refusal(f.status, nil)
	case f.scopes != nil:
		e.Fate, e.scopes, e.text = Unsent, f.scopes, outbound.Refusal(f.status, f.scopes)
	case ctx.Err() != nil:
		e.text = "no answer came in time"
		if errors.Is(ctx.Err(), context.Canceled) {
			e.text = "the call was cancelled"
		}
	case s.mayBeLost(x.method, f.status, 0):
		e.Fate, e.text = SessionLost, ErrSessionGone.Error()
	case f.status == http.StatusBadRequest && s.Modern() && staleMessage(err.Error()):
		return staleness(f, err.Error())
	case f.status >= 400 && f.status < 500 && f.status != http.StatusRequestTimeout:
		e.text = outbound.Refusal(f.status, nil)
	case f.status >= 500:
		e.text = fmt.Sprintf("the server answered with status %d", f.status)
	case f.status != 0 && !strings.Contains(f.contentType, "json") && !strings.Contains(f.contentType, "event-stream"):
		e.text = fmt.Sprintf("the server answered with %q instead of MCP (status %d)", f.contentType, f.status)
	}
	return e
}

// mayBeLost reports whether a status says that the server has forgotten the session of the request. A server that answers a ping by not
// knowing the method knows the session.
func (s *Sender) mayBeLost(method mcp.MCPMethod, status, code int) bool {
	return s.inSession(method) && (status == http.StatusNotFound || status == http.StatusBadRequest) &&
		(method != mcp.MethodPing || code != mcp.METHOD_NOT_FOUND)
}

// inSession reports whether a request belongs to a session that the server may have forgotten.
func (s *Sender) inSession(method mcp.MCPMethod) bool {
	return s.version != "" && !s.Modern() && s.Spec.Kind != server.Stdio &&
		method != mcp.MethodInitialize && method != mcp.MethodServerDiscover
}
