// Package client calls a Windlass server through its public API: REST and Server-Sent Events.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/secret"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// maxAnswer limits the body of one response in bytes.
const maxAnswer = 64 << 20

// Config configures a client.
type Config struct {
	// Server is the base URL, for example "http://127.0.0.1:8080". Required.
	Server string
	// UserAgent identifies the client.
	UserAgent string
	// Timeout bounds one call other than a stream; 0 means 90 s, since the server may wait for 60.
	Timeout time.Duration
	// Made is told the ids, by kind, of a session or turn that a call made. Optional.
	Made func(ids map[string]string)
	// Silent is called once when the server accepts connections but answers nothing for some seconds. Optional.
	Silent func()
	// Token returns the access token to send to a server, the empty one for none. Optional.
	Token func(ctx context.Context, server string) (secret.Value, error)
}

// Client calls a server. It is safe for concurrent use.
type Client struct {
	base   *url.URL
	agent  string
	egress *egress.Egress
	calls  *http.Client
	stream *http.Client
	made   func(ids map[string]string)
	doubt  *doubter
	token  func(ctx context.Context, server string) (secret.Value, error)
}

// parse reads the address of a server.
func parse(server string) (*url.URL, error) {
	full := server
	if !strings.Contains(server, "://") {
		full = "http://" + server
	}
	u, err := url.Parse(full)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" {
		return nil, fmt.Errorf("server %q is no address: want a URL such as http://127.0.0.1:8080", server)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}

// Address returns the one form of a server's address.
func Address(server string) (string, error) {
	u, err := parse(server)
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

// New checks the server's address; it connects on the first call.
func New(cfg Config) (*Client, error) {
	u, err := parse(cfg.Server)
	if err != nil {
		return nil, err
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 90 * time.Second
	}
	e, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		return nil, err
	}
	return &Client{
		base: u, agent: cfg.UserAgent, egress: e,
		calls:  e.Client(egress.Options{Timeout: cfg.Timeout, MaxResponseBytes: maxAnswer}),
		stream: e.Client(egress.Options{}),
		made:   cfg.Made, token: cfg.Token, doubt: &doubter{after: firstDoubt, tell: cfg.Silent},
	}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.egress.CloseIdle() }

// Server returns the server's address.
func (c *Client) Server() string { return c.base.String() }

// Temporary returns a client whose calls make what will be deleted: Config.Made is not told.
func (c *Client) Temporary() *Client {
	t := *c
	t.made = nil
	return &t
}

// request is one HTTP request.
type request struct {
	// method is the HTTP method, GET when empty.
	method string
	// path begins with a slash; its segments are already escaped, see Path.
	path  string
	query url.Values
	// body is JSON, nil for none.
	body []byte
	// key makes the call safe to repeat (Idempotency-Key).
	key string
}

// Path joins segments into an escaped path.
func Path(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(s))
	}
	return b.String()
}

// Invoke calls the method of the API that takes a request message, returns the JSON of the response, and reads it into resp unless that is
// nil. A problem in the response is a *fault.Error, and so is an unreachable server (code Unavailable).
func (c *Client) Invoke(ctx context.Context, req, resp proto.Message) (json.RawMessage, error) {
	r, err := requestOf(req)
	if err != nil {
		return nil, err
	}
	return c.do(ctx, r, resp)
}

func (c *Client) do(ctx context.Context, r request, out proto.Message) (json.RawMessage, error) {
	req, err := c.request(ctx, r)
	if err != nil {
		return nil, err
	}
	answered := c.watch(ctx)
	resp, err := c.calls.Do(req)
	answered()
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end below
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", c.Server(), err)
	}
	if resp.StatusCode >= 300 {
		return nil, problem(resp, body)
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		return nil, fmt.Errorf("%s answers with a web page, which is no answer of Windlass: check the address in --server or WINDLASS_SERVER",
			c.Server())
	}
	if out != nil {
		if err := codec.UnmarshalKnown(body, out); err != nil {
			return nil, fmt.Errorf("the answer is not what a Windlass server says (is %s one?): %w", c.Server(), err)
		}
	}
	if req.Method == http.MethodPost && c.made != nil {
		c.remember(body)
	}
	return body, nil
}

// Decode reads JSON of a response into a message, or into another value.
func Decode(raw json.RawMessage, into any) error {
	var err error
	if m, ok := into.(proto.Message); ok {
		err = codec.UnmarshalKnown(raw, m)
	} else {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return fmt.Errorf("the answer is not what a Windlass server says: %w", err)
	}
	return nil
}

// remember tells which session or turn an answer is about.
func (c *Client) remember(body []byte) {
	var made struct {
		ID        string `json:"id"`
		SessionID string `json:"session_id"`
	}
	if json.Unmarshal(body, &made) != nil {
		return
	}
	switch {
	case strings.HasPrefix(made.ID, ids.Session+"_"):
		c.made(map[string]string{"session": made.ID})
	case strings.HasPrefix(made.ID, ids.Turn+"_"):
		c.made(map[string]string{"turn": made.ID, "session": made.SessionID})
	}
}

// Probe makes a GET and returns status and body whatever they are; it fails only if the server is unreachable.
func (c *Client) Probe(ctx context.Context, path string) (status int, body []byte, err error) {
	req, err := c.request(ctx, request{path: path})
	if err != nil {
		return 0, nil, err
	}
	resp, err := c.calls.Do(req)
	if err != nil {
		return 0, nil, c.unreachable(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end below
	if body, err = io.ReadAll(resp.Body); err != nil {
		return 0, nil, fmt.Errorf("read the answer of %s: %w", c.Server(), err)
	}
	return resp.StatusCode, body, nil
}

// Send makes a request that may last, and returns its response, which the caller must close.
func (c *Client) Send(ctx context.Context, method, path string, header http.Header, body []byte) (*http.Response, error) {
	req, err := c.request(ctx, request{method: method, path: path, body: body})
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
	resp, err := c.stream.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	return resp, nil
}

func (c *Client) request(ctx context.Context, r request) (*http.Request, error) {
	if strings.HasSuffix(r.path, "/") || strings.Contains(r.path, "//") || strings.Contains(r.path, "/:") {
		return nil, fault.Invalid("id", "is missing").Hint("Name what you mean; the list command shows what there is.")
	}
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	method := cmp.Or(r.method, http.MethodGet)
	target := c.base.String() + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, r.path, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.agent)
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	if c.token != nil {
		token, err := c.token(ctx, c.Server())
		if err != nil {
			return nil, err
		}
		if !token.IsZero() {
			req.Header.Set("Authorization", "Bearer "+token.Reveal())
		}
	}
	return req, nil
}

// speaksAnother reports whether a server sent something else than HTTP/1, before or after it got the request. net/http has no error
// values for it.
func speaksAnother(err error) bool {
	text := err.Error()
	return strings.Contains(text, "malformed HTTP response") || strings.Contains(text, "readLoopPeekFailLocked: %!w(<nil>)")
}

// unreachable returns the error for a server that does not answer, with a hint.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without method and URL, which are in the message
	}
	if err != nil && speaksAnother(err) {
		return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "%s does not answer as an HTTP server", c.Server()).
			Hint("It may be the gRPC port: give the address of the HTTP API to --server or WINDLASS_SERVER.")
	}
	return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "no answer from %s", c.Server()).Cause(err).
		Hint("Start Windlass with 'windlass up', or say where it is with --server or WINDLASS_SERVER.")
}
