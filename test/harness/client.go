package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Client is a REST client.
type Client struct {
	t    testing.TB
	Base string
	HTTP *http.Client
}

// NewClient makes a client for a gateway's base URL. With addrs it connects to these in turn, whatever the URL says, as if they were behind
// one name.
func NewClient(t testing.TB, base string, addrs ...string) *Client {
	tr := &http.Transport{MaxIdleConnsPerHost: 64}
	if len(addrs) > 0 {
		tr.DialContext = inTurn(addrs)
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &Client{t: t, Base: base, HTTP: &http.Client{Transport: tr}}
}

// withToken has the client send the token of a file with requests that carry none.
func (c *Client) withToken(file string) *Client {
	c.HTTP.Transport = tokenTransport{c.HTTP.Transport, file}
	return c
}

// Token is the token that the client sends; "" if it sends none.
func (c *Client) Token() string {
	c.t.Helper()
	t, ok := c.HTTP.Transport.(tokenTransport)
	if !ok {
		return ""
	}
	token, err := t.token()
	if err != nil {
		c.t.Fatal(err)
	}
	return token
}

type tokenTransport struct {
	http.RoundTripper
	file string
}

func (t tokenTransport) token() (string, error) {
	raw, err := os.ReadFile(t.file)
	return strings.TrimSpace(string(raw)), err
}

// RoundTrip implements http.RoundTripper.
func (t tokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, set := r.Header["Authorization"]; !set {
		token, err := t.token()
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return t.RoundTripper.RoundTrip(r)
}

// inTurn connects to the next address that answers.
func inTurn(addrs []string) func(context.Context, string, string) (net.Conn, error) {
	var turn atomic.Int64
	return func(ctx context.Context, network, _ string) (conn net.Conn, err error) {
		var dialer net.Dialer
		first := int(turn.Add(1))
		for i := range addrs {
			if conn, err = dialer.DialContext(ctx, network, addrs[(first+i)%len(addrs)]); err == nil {
				return conn, nil
			}
		}
		return nil, err
	}
}

// JSON is a JSON object.
type JSON map[string]any

// Str returns a string field, "" when absent.
func (j JSON) Str(key string) string { s, _ := j[key].(string); return s }

// Do makes one request and returns status and body. A failed connection is an error.
func (c *Client) Do(ctx context.Context, method, path string, body any, header ...string) (int, JSON, error) {
	var rd io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		rd = bytes.NewBufferString(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			return 0, nil, err
		}
		rd = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, rd)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, nil, err
	}
	var out JSON
	if len(raw) > 0 && json.Unmarshal(raw, &out) != nil {
		return resp.StatusCode, nil, fmt.Errorf("%s %s answered %d with no JSON object: %.300s", method, path, resp.StatusCode, raw)
	}
	return resp.StatusCode, out, nil
}

// maxReadRetry is how long a read may be refused after a fault is over: as long as it may take until the pools of a database that was
// restarted have only connections that live.
const maxReadRetry = 5 * time.Second

// Must is Do for calls that must succeed. A read that is refused as unavailable is repeated for a while, as clients do.
func (c *Client) Must(method, path string, body any, header ...string) JSON {
	c.t.Helper()
	var status int
	var out JSON
	var err error
	Eventually(maxReadRetry, func() bool {
		status, out, err = c.Do(c.t.Context(), method, path, body, header...)
		return method != http.MethodGet || err != nil || status != http.StatusServiceUnavailable
	})
	if err != nil || status >= 300 {
		c.t.Fatalf("%s %s: %d %v %v", method, path, status, out, err)
	}
	return out
}

// Session opens a session with an agent.
func (c *Client) Session(agent string) string {
	c.t.Helper()
	return c.Must("POST", "/v1/sessions", JSON{"agent_id": agent}).Str("id")
}

// Turn sends input to a session and gives the turn's id.
func (c *Client) Turn(session, input string) string {
	c.t.Helper()
	return c.Must("POST", "/v1/sessions/"+session+"/turns", JSON{"input": input}).Str("id")
}

// Wait waits until a turn is over, across restarts of the server.
func (c *Client) Wait(turn string) JSON {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last any
	for {
		status, out, err := c.Do(ctx, "GET", "/v1/turns/"+turn+"?wait=20s", nil)
		if err == nil && status == http.StatusOK {
			switch out.Str("status") {
			case "completed", "failed", "cancelled":
				return out
			}
		}
		last = fmt.Sprint(status, out, err)
		select {
		case <-ctx.Done():
			c.t.Fatalf("turn %s does not end; last answer: %v", turn, last)
		case <-tick.C:
		}
	}
}
