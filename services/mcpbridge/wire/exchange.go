package wire

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/services/mcpbridge/outbound"
)

// exchange records what is known of one request: the MCP library keeps neither status nor headers.
type exchange struct {
	id     int64 // of the JSON-RPC request
	method mcp.MCPMethod

	mu          sync.Mutex
	sent        bool // the request may have been sent
	status      int  // of the answer; 0 without one
	contentType string
	retryAfter  time.Duration
	tooLarge    bool
	loginFailed bool      // its access token was refused before the server looked at it
	scopes      *[]string // the scopes of the token were, in favor of these
}

type exchangeKey struct{}

// withExchange returns a context whose requests are recorded in x.
func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// exchangeOf returns the record of a request; nil if the request is not recorded.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// SetSent implements outbound.Record: it records whether the request may have been sent.
func (x *exchange) SetSent(sent bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent = sent
}

// TokenRefused implements outbound.Record.
func (x *exchange) TokenRefused(certain bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.loginFailed = certain
}

// ScopesRefused implements outbound.Record.
func (x *exchange) ScopesRefused(wanted []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.scopes = &wanted
}

// markTooLarge records that the response was over the limit; x may be nil.
func (x *exchange) markTooLarge() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.tooLarge = true
}

func (x *exchange) answered(res *http.Response) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status = res.StatusCode
	x.contentType = res.Header.Get("Content-Type")
	x.retryAfter = outbound.RetryAfter(res.Header.Get("Retry-After"))
}

// answers reports whether a body is the JSON-RPC response to the request.
func (x *exchange) answers(body []byte) bool {
	var a transport.JSONRPCResponse
	return json.Unmarshal(body, &a) == nil && a.ID.Value() == any(x.id) && (a.Result != nil || a.Error != nil)
}

// facts is a copy of an exchange for reading.
type facts struct {
	sent, tooLarge bool
	loginFailed    bool
	scopes         *[]string
	status         int
	contentType    string
	retryAfter     time.Duration
}

func (x *exchange) facts() facts {
	x.mu.Lock()
	defer x.mu.Unlock()
	return facts{x.sent, x.tooLarge, x.loginFailed, x.scopes, x.status, x.contentType, x.retryAfter}
}
