package wire

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/services/mcpbridge/outbound"
	"github.com/windlass-dev/windlass/services/mcpbridge/server"
)

// newHTTP returns the streamable HTTP transport. For servers of the old era it also listens for notifications; the library skips that
// in the new era.
func newHTTP(sp *server.Spec, out *egress.Egress, stream func(status int, err error)) (Transport, error) {
	return transport.NewStreamableHTTP(sp.URL,
		transport.WithHTTPBasicClient(newHTTPClient(sp, out, &tap{stream: stream})),
		transport.WithContinuousListening(),                     //nolint:staticcheck // deprecated with the old era, which has nothing else
		transport.WithHTTPLogger(slog.New(slog.DiscardHandler))) // it would log URLs with their queries
}

// newSSE returns the transport of 2024: one stream for all responses, and a POST per request.
func newSSE(sp *server.Spec, out *egress.Egress, lost func(error)) (Transport, error) {
	t, err := transport.NewSSE(sp.URL,
		transport.WithHTTPClient(newHTTPClient(sp, out, &tap{apart: true})),
		transport.WithEndpointTimeout(sp.ConnectTimeout),
		transport.WithResponseTimeout(48*time.Hour), // contexts decide
		transport.WithSSELogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	t.SetConnectionLostHandler(lost)
	return sse{t}, nil
}

// sse hides deadlines from the library, which would turn them into timeouts that are not context errors.
type sse struct{ *transport.SSE }

func (w sse) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	return w.SSE.SendRequest(undated{ctx}, req)
}

// undated is a context without its parent's deadline; it still ends with it.
type undated struct{ context.Context }

func (undated) Deadline() (time.Time, bool) { return time.Time{}, false }

// newHTTPClient returns a client over egress that adds the entry's headers to each request, and limits and records each response.
func newHTTPClient(sp *server.Spec, out *egress.Egress, t *tap) *http.Client {
	c := out.Client(egress.Options{})
	t.headers = sp.Headers
	t.login = outbound.Login{Next: c.Transport, Set: sp.Credentials, Home: credential.Origin(sp.URL), User: sp.User}
	c.Transport = t
	return c
}

// tap observes all requests of one connection.
type tap struct {
	login   outbound.Login
	headers map[string]string
	stream  func(status int, err error)
	apart   bool // responses come on a separate stream
}

// closeTimeout bounds the DELETE of a session.
const closeTimeout = time.Second

// RoundTrip implements http.RoundTripper.
func (t *tap) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := req.Context(), context.CancelFunc(func() {})
	if req.Method == http.MethodDelete {
		ctx, cancel = context.WithTimeout(ctx, closeTimeout)
	}
	x := exchangeOf(ctx)
	request := x != nil && req.Header.Get("Last-Event-ID") == "" // resuming a stream says nothing about the request
	var rest *unfinished
	if request && req.Method == http.MethodPost && !t.apart {
		ctx, rest = begin(ctx)
		cancel = rest.cancel
	}
	req = req.Clone(ctx)
	for name, value := range t.headers {
		if req.Header.Set(name, value); name == "Host" {
			req.Host = value
		}
	}
	var recorded outbound.Record
	if request {
		recorded = x
	}
	res, err := t.login.Send(req, recorded, request && x.method == mcp.MethodToolsCall)
	standing := req.Method == http.MethodGet && x == nil && t.stream != nil
	if err != nil {
		cancel()
		if standing && ctx.Err() == nil {
			t.stream(0, err)
		}
		return nil, err
	}
	if rest != nil {
		res.Body, cancel = rest.body(res.Body), func() {}
	}
	res.Body = &outbound.Body{ReadCloser: res.Body, Limit: maxBytes, Events: isEventStream(res), TooLarge: x.markTooLarge, Done: cancel}
	if standing {
		t.stream(res.StatusCode, nil)
		// The library retries every second on anything but 405 and 404; a refusal is final.
		if res.StatusCode >= 400 && res.StatusCode < 500 && res.StatusCode != http.StatusNotFound || res.StatusCode == http.StatusNotImplemented {
			res.StatusCode = http.StatusMethodNotAllowed
		}
	}
	if request {
		x.answered(res)
		if req.Method == http.MethodPost && !t.apart {
			present(res, x)
		}
	}
	return res, nil
}

// present passes a response to the library so that its id counts and not its status: the library drops the bodies of 401 and 404, and ends
// a session by itself for the latter. The exchange has the real status.
func present(res *http.Response, x *exchange) {
	media, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case err == nil && media == "text/event-stream":
		if x.method == mcp.MethodToolsCall {
			res.StatusCode = http.StatusOK
		}
		return
	case err == nil && media == "application/json" && (res.StatusCode == http.StatusOK || res.StatusCode == http.StatusAccepted):
		return
	}
	body, err := io.ReadAll(res.Body) // limited by outbound.Body
	rest := io.Reader(bytes.NewReader(body))
	if err != nil {
		rest = io.MultiReader(rest, failing{err})
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{rest, res.Body}
	switch {
	case err == nil && x.answers(body):
		res.StatusCode = http.StatusOK
		res.Header.Set("Content-Type", "application/json")
	case res.StatusCode == http.StatusNotFound:
		res.StatusCode = http.StatusBadRequest
	}
}

// failing is the remainder of a body that broke off.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func isEventStream(res *http.Response) bool {
	media, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return err == nil && media == "text/event-stream"
}
