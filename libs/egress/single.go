package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
)

// maxStale bounds how many kept connections that turn out to be closed are tried for one request: more than the pool keeps for a host.
const maxStale = 100

// singleTransport writes a request to at most one connection. net/http sends a request again by itself when a reused connection breaks and the
// method is safe or the request carries an Idempotency-Key, and over HTTP/2 whenever the server says that it did not process it. Here a request
// is sent again only when no byte of it was written. What is repeated beyond that is the caller's decision.
//
// GET, HEAD, OPTIONS and TRACE without such a key are left to net/http.
type singleTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper. An error of a request that certainly was not sent is a *NotSentError.
func (t singleTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		w := &sending{}
		res, err := t.next.RoundTrip(w.request(r))
		if err == nil {
			res.Request = r
			return res, nil
		}
		if w.begun(r.Context()) {
			return nil, plainRefusal(err)
		}
		again, ok := rewound(r)
		if !ok || !w.reused() || attempt == maxStale || r.Context().Err() != nil {
			return nil, &NotSentError{Err: err}
		}
		r = again
	}
}

// request returns a copy of r that reports to s, and that net/http has no way to send again.
func (s *sending) request(r *http.Request) *http.Request {
	out := r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotConn: s.gotConn, WroteHeaders: s.wroteHeaders}))
	if repeatable(r) {
		return out
	}
	out.GetBody = nil
	if r.Body != nil && r.Body != http.NoBody {
		return out
	}
	// A request without a body could still be repeated, so it gets one that is empty. Its framing stays that of a request without a body: no
	// chunks, and the length that some servers want. net/http writes Content-Length itself only for lengths above 0; under this spelling
	// it passes the header through, and HTTP/2 leaves it out.
	out.Body, out.ContentLength, out.TransferEncoding = io.NopCloser(strings.NewReader("")), -1, []string{"identity"}
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		out.Header = r.Header.Clone()
		out.Header["content-length"] = []string{"0"} //nolint:canonicalheader // see above
	}
	return out
}

// repeatable reports whether a request may be sent any number of times, as far as HTTP knows.
func repeatable(r *http.Request) bool {
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return r.Header.Get("Idempotency-Key") == "" && r.Header.Get("X-Idempotency-Key") == ""
	}
	return false
}

// rewound returns r with its body from the start; false when there is no way back.
func rewound(r *http.Request) (*http.Request, bool) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, true
	}
	if r.GetBody == nil {
		return nil, false
	}
	body, err := r.GetBody()
	if err != nil {
		return nil, false
	}
	out := r.WithContext(r.Context())
	out.Body = body
	return out, true
}

// sending observes the way of one request.
type sending struct {
	mu      sync.Mutex
	got     bool
	stale   bool // the connection had been used before
	shared  bool // HTTP/2: others write to the connection too
	headers bool // have been handed to a connection
	earlier bool // something was written to a connection before this one
	conn    *countedConn
	before  int64 // bytes written to conn before the request
}

func (s *sending) gotConn(info httptrace.GotConnInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.earlier = s.earlier || s.got && s.wrote()
	conn := info.Conn
	s.got, s.stale, s.shared = true, info.Reused, false
	if secure, ok := conn.(*tls.Conn); ok {
		s.shared = secure.ConnectionState().NegotiatedProtocol == "h2"
		conn = secure.NetConn()
	}
	if s.conn, _ = conn.(*countedConn); s.conn != nil {
		s.before = s.conn.written.Load()
	}
}

func (s *sending) wroteHeaders() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.headers = true
}

func (s *sending) reused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stale
}

// begun reports whether a byte of the request may have been written. It is asked once net/http has given the request up: over HTTP/1 the connection
// is closed by then, so what was not written never will be. Over HTTP/2 a request whose context ended may still be on its way out.
func (s *sending) begun(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.earlier || s.got && (s.wrote() || s.shared && ctx.Err() != nil)
}

// wrote tells it for the present connection. The caller holds mu.
func (s *sending) wrote() bool {
	if s.shared || s.conn == nil {
		return s.headers
	}
	return s.conn.writing.Load() > 0 || s.conn.written.Load() != s.before
}

// countedConn counts what is written to a connection.
type countedConn struct {
	net.Conn
	writing atomic.Int32 // calls of Write under way
	written atomic.Int64 // bytes
}

// Write implements net.Conn.
func (c *countedConn) Write(p []byte) (int, error) {
	c.writing.Add(1)
	defer c.writing.Add(-1)
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n))
	return n, err
}

// dialCounted dials for the transport.
func (e *Egress) dialCounted(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := e.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &countedConn{Conn: conn}, nil
}

// plainRefusal takes net/http's advice to programmers out of an error that people read.
func plainRefusal(err error) error {
	text, advice := err.Error(), "after Request.Body was written; define Request.GetBody"
	if cause, _, ok := strings.Cut(text, "] "+advice); ok {
		if _, cause, ok = strings.Cut(cause, "cannot retry err ["); ok {
			return errors.New(cause)
		}
	}
	return err
}
