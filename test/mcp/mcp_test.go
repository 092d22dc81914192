// Package mcp tests what the mesh offers to MCP clients, with real clients in front of it and real servers behind it.
package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// servers are the sources of the mesh: one server in each era of the protocol, one that misbehaves on request, and one that is away.
const (
	legacy = "legacy"
	modern = "modern"
	faulty = "faulty"
	away   = "away"
)

func TestMCP(t *testing.T) {
	up := harness.Up(t, t.TempDir(), nil)
	for name, args := range map[string][]string{legacy: {"--legacy"}, modern: {}} {
		server := harness.Start(t, name, nil, harness.Bin(t, "examples/conformance"), append(args, "--http", "127.0.0.1:0")...)
		src := up.Client.Must("POST", "/v1/sources", harness.JSON{
			"name": name, "kind": "mcp", "url": server.Ready["url"], "client_requests": []string{"sampling", "roots"},
		})
		if src.Str("state") != "ready" {
			t.Fatalf("%s = %v", name, src)
		}
	}
	up.Client.Must("POST", "/v1/sources", harness.JSON{"name": faulty, "kind": "mcp", "command": []string{harness.Bin(t, "examples/faulty")}})
	up.Client.Must("POST", "/v1/sources", harness.JSON{"name": away, "kind": "mcp", "url": "http://127.0.0.1:1/mcp"})
	for name, test := range map[string]func(t *testing.T, up *harness.Embedded){
		"conformance": testConformance, "SDK": testSDK, "inspector": testInspector, "catalogue": testCatalogue, "wire": testWire,
		"questions": testQuestions, "failures": testFailures, "notifications": testNotifications, "cancel": testCancel,
		"origins": testOrigins, "orchestrator": testOrchestrator, "stdio": testStdio,
	} {
		t.Run(name, func(t *testing.T) { test(t, up) })
	}
}

// client makes requests by hand, in one era.
type client struct {
	t      *testing.T
	url    string
	header map[string]string
	meta   harness.JSON // of the new era
}

const (
	newest = "2026-07-28"
	oldest = "2025-11-25"
)

func newClient(t *testing.T, up *harness.Embedded, path string) *client {
	return &client{t: t, url: up.Client.Base + path, header: map[string]string{}}
}

// asModern has the client speak the new protocol, with capabilities.
func (c *client) asModern(able harness.JSON) *client {
	c.meta = harness.JSON{
		"io.modelcontextprotocol/protocolVersion": newest, "io.modelcontextprotocol/clientCapabilities": able,
	}
	c.header["Mcp-Protocol-Version"] = newest
	return c
}

// initialize begins a session of the old protocol.
func (c *client) initialize(able harness.JSON) *client {
	c.t.Helper()
	res := c.post(harness.JSON{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": harness.JSON{
		"protocolVersion": oldest, "capabilities": able, "clientInfo": harness.JSON{"name": "test", "version": "1"},
	}})
	defer res.Body.Close()
	c.header["Mcp-Session-Id"] = res.Header.Get("Mcp-Session-Id")
	c.header["Mcp-Protocol-Version"] = oldest
	if c.header["Mcp-Session-Id"] == "" {
		c.t.Fatalf("initialize: %s", res.Status)
	}
	return c
}

// post sends a message.
func (c *client) post(body any) *http.Response {
	c.t.Helper()
	text, ok := body.([]byte)
	if !ok {
		var err error
		if text, err = json.Marshal(body); err != nil {
			c.t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url, bytes.NewReader(text))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range c.header {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	return res
}

// request returns the message of a request.
func (c *client) request(id any, method string, params harness.JSON) harness.JSON {
	if params == nil {
		params = harness.JSON{}
	}
	if c.meta != nil {
		params["_meta"] = c.meta
		c.header["Mcp-Method"] = method
		delete(c.header, "Mcp-Name")
		for _, key := range []string{"name", "uri"} {
			if name, ok := params[key].(string); ok {
				c.header["Mcp-Name"] = name
			}
		}
	}
	return harness.JSON{"jsonrpc": "2.0", "id": id, "method": method, "params": params}
}

// do makes a request and returns all messages of the response, its own answer last.
func (c *client) do(method string, params harness.JSON) []harness.JSON {
	c.t.Helper()
	res := c.post(c.request(1, method, params))
	defer res.Body.Close()
	return messages(c.t, res)
}

// result makes a request that succeeds.
func (c *client) result(method string, params harness.JSON) harness.JSON {
	c.t.Helper()
	all := c.do(method, params)
	last := all[len(all)-1]
	result, ok := last["result"].(map[string]any)
	if !ok {
		c.t.Fatalf("%s: got %v", method, last)
	}
	return result
}

// failure makes a request that fails.
func (c *client) failure(method string, params harness.JSON) harness.JSON {
	c.t.Helper()
	all := c.do(method, params)
	last := all[len(all)-1]
	failure, ok := last["error"].(map[string]any)
	if !ok {
		c.t.Fatalf("%s: got %v", method, last)
	}
	return failure
}

// messages reads a response.
func messages(t *testing.T, res *http.Response) []harness.JSON {
	t.Helper()
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		var m harness.JSON
		if err := json.NewDecoder(res.Body).Decode(&m); err != nil {
			t.Fatalf("%s: %v", res.Status, err)
		}
		return []harness.JSON{m}
	}
	var all []harness.JSON
	next := events(t, res.Body)
	for m := next(); m != nil; m = next() {
		all = append(all, m)
	}
	return all
}

// events returns a function that reads the next message of a stream; nil at its end.
func events(t *testing.T, body io.Reader) func() harness.JSON {
	t.Helper()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	return func() harness.JSON {
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var m harness.JSON
			if err := json.Unmarshal([]byte(data), &m); err != nil {
				t.Fatalf("event %q: %v", data, err)
			}
			return m
		}
		return nil
	}
}

// textOf returns the text of a tool's result.
func textOf(result harness.JSON) string {
	var b strings.Builder
	content, _ := result["content"].([]any)
	for _, part := range content {
		p, _ := part.(map[string]any)
		s, _ := p["text"].(string)
		b.WriteString(s)
	}
	return b.String()
}
