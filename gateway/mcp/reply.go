package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// reply is the response to one request. It is a single JSON object, unless something is sent before the result: then it is a stream of
// events.
type reply struct {
	w       http.ResponseWriter
	timeout time.Duration
	accepts bool // the client reads streams
	cancel  context.CancelFunc

	mu     sync.Mutex
	stream bool
	ended  bool
	last   time.Time
	beat   *time.Timer // of keepAlive
}

func newReply(w http.ResponseWriter, r *http.Request, timeout time.Duration, cancel context.CancelFunc) *reply {
	accept := r.Header.Get("Accept")
	return &reply{
		w: w, timeout: timeout, cancel: cancel, last: time.Now(),
		accepts: accept == "" || strings.Contains(accept, "text/event-stream") || strings.Contains(accept, "*/*"),
	}
}

func (o *reply) header() http.Header { return o.w.Header() }

// send sends a message before the result. It returns false if the client does not read streams or is gone.
func (o *reply) send(m any) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.accepts || o.ended {
		return false
	}
	text, err := json.Marshal(m)
	if err != nil {
		return false
	}
	return o.write(event(text))
}

func event(text []byte) []byte {
	return append(append([]byte("event: message\ndata: "), text...), "\n\n"...)
}

// write sends bytes of the stream, and begins it if needed. The caller holds mu.
func (o *reply) write(text []byte) bool {
	rc := http.NewResponseController(o.w)
	if rc.SetWriteDeadline(time.Now().Add(o.timeout)) == nil { // not supported by every writer in tests
		defer func() { _ = rc.SetWriteDeadline(time.Time{}) }()
	}
	if !o.stream {
		o.stream = true
		h := o.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-cache, no-transform")
		h.Set("X-Accel-Buffering", "no")
		o.w.WriteHeader(http.StatusOK)
	}
	o.last = time.Now()
	if _, err := o.w.Write(text); err != nil || rc.Flush() != nil {
		o.ended = true
		o.cancel()
		return false
	}
	return true
}

// keepAlive sends a comment whenever the response was silent for a while, until the response ends.
func (o *reply) keepAlive(every time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.beat = time.AfterFunc(every, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.ended || !o.accepts {
			return
		}
		silent := time.Since(o.last)
		if silent >= every {
			o.write([]byte(": keep-alive\n\n"))
			silent = 0
		}
		o.beat.Reset(every - silent)
	})
}

// close makes sure that nothing is written any more, so that the handler may return.
func (o *reply) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	if o.beat != nil {
		o.beat.Stop()
	}
}

// end sends the result or the error, and with that the response is complete.
func (o *reply) end(id json.RawMessage, result any, f *failure) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	body, status := envelope(id, result, f)
	if o.stream {
		o.write(event(body))
		o.ended = true
		return
	}
	o.ended = true
	writeJSON(o.w, status, body)
}

// envelope returns a JSON-RPC response and its HTTP status.
func envelope(id json.RawMessage, result any, f *failure) ([]byte, int) {
	if f == nil {
		body, err := json.Marshal(struct {
			Version string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Result  any             `json:"result"`
		}{mcp.JSONRPC_VERSION, id, result})
		if err == nil {
			return body, http.StatusOK
		}
		f = &failure{Code: mcp.INTERNAL_ERROR, Message: "the result cannot be represented as JSON"}
	}
	if id == nil {
		id = json.RawMessage("null")
	}
	body, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *failure        `json:"error"`
	}{mcp.JSONRPC_VERSION, id, f})
	if err != nil {
		body = []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}`)
	}
	if f.status == 0 {
		return body, http.StatusOK
	}
	return body, f.status
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(bytes.TrimSpace(body)) // the client may be gone
}
