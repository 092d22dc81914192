package mcpbridge

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
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
	loginFailed bool // its access token was refused before the server looked at it
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
	x.retryAfter = retryAfter(res.Header.Get("Retry-After"))
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
	status         int
	contentType    string
	retryAfter     time.Duration
}

func (x *exchange) facts() facts {
	x.mu.Lock()
	defer x.mu.Unlock()
	return facts{x.sent, x.tooLarge, x.loginFailed, x.status, x.contentType, x.retryAfter}
}

// retryAfter parses both forms of the header; 0 for anything else. It is limited to a day.
func retryAfter(text string) time.Duration {
	var d time.Duration
	if seconds, err := strconv.Atoi(text); err == nil {
		d = time.Duration(min(seconds, 86400)) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		d = min(time.Until(at), 24*time.Hour)
	}
	return max(d, 0)
}
