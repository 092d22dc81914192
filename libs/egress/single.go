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

// maxStale limits how many closed pooled connections are tried for one request: more than the pool keeps per host.
const maxStale = 100

// singleTransport writes a request to at most one connection. net/http retries by itself if a reused connection breaks and the method is
// safe or the request has an Idempotency-Key, and over HTTP/2 whenever the server says that it did not process the request. Here a request
// is retried only if no byte of it was written; further retries are up to the caller.
//
// GET, HEAD, OPTIONS and TRACE without such a key are left to net/http.
type singleTransport struct {
	next http.RoundTripper
	once bool // not even those
}

// RoundTrip implements http.RoundTripper. It returns a *NotSentError if the request was certainly not sent.
func (t singleTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		w := &sending{}
		res, err := t.next.RoundTrip(w.request(r, t.once))
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

// request returns a copy of r that reports to s and that net/http cannot send again.
func (s *sending) request(r *http.Request, once bool) *http.Request {
	out := r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotConn: s.gotConn, WroteHeaders: s.wroteHeaders}))
	if !once && repeatable(r) {
		return out
	}
	out.GetBody = nil
	if r.Body != nil && r.Body != http.NoBody {
		return out
	}
	// net/http could still repeat a request without a body, so give it an empty one. On the wire it must look like a request without a body:
	// no chunks, and the Content-Length that some servers require. net/http writes Content-Length itself only for lengths above 0; it passes
	// this spelling through, and HTTP/2 drops it.
	out.Body, out.ContentLength, out.TransferEncoding = io.NopCloser(strings.NewReader("")), -1, []string{"identity"}
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		out.Header = r.Header.Clone()
		out.Header["content-length"] = []string{"0"}
	}
	return out
}

// repeatable reports whether HTTP allows the request to be sent any number of times.
func repeatable(r *http.Request) bool {
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return r.Header.Get("Idempotency-Key") == "" && r.Header.Get("X-Idempotency-Key") == ""
	}
	return false
}

// rewound returns r with its body at the start; false if the body cannot be rewound.
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

// sending observes how one request is sent.
type sending struct {
	mu      sync.Mutex
	got     bool
	stale   bool // the connection was used before
	shared  bool // HTTP/2: other requests share the connection
	headers bool // headers were written to a connection
	earlier bool // something was written to an earlier connection
	conn    *countedConn
	before  int64 // bytes written to conn before this request
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

// begun reports whether a byte of the request may have been written. It is called after net/http gave up on the request: over HTTP/1 the
// connection is closed by then, so nothing more is written. Over HTTP/2 a request whose context ended may still be on its way.
func (s *sending) begun(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.earlier || s.got && (s.wrote() || s.shared && ctx.Err() != nil)
}

// wrote is begun for the current connection. The caller holds mu.
func (s *sending) wrote() bool {
	if s.shared || s.conn == nil {
		return s.headers
	}
	return s.conn.writing.Load() > 0 || s.conn.written.Load() != s.before
}

// countedConn counts the bytes written to a connection.
type countedConn struct {
	net.Conn
	writing atomic.Int32 // Write calls in progress
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

// plainRefusal removes net/http's advice to programmers from an error that users read.
func plainRefusal(err error) error {
	text, advice := err.Error(), "after Request.Body was written; define Request.GetBody"
	if cause, _, ok := strings.Cut(text, "] "+advice); ok {
		if _, cause, ok = strings.Cut(cause, "cannot retry err ["); ok {
			return errors.New(cause)
		}
	}
	return err
}
