// Package toolservertest starts the example tool servers as real processes and calls them as a client does.
package toolservertest

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// asServer makes a test binary run the server whose main function it contains.
const asServer = "WINDLASS_EXAMPLE_SERVER"

// environment is added to a server's environment. Otherwise the race detector would sleep a second at the end of each.
var environment = []string{asServer + "=1", "GORACE=atexit_sleep_ms=0"}

// Main is for TestMain. The test binary is also the server, so that the real main function runs in its own process, built with the race
// detector if the test is.
// of its own, built with the race detector when the test is.
func Main(m *testing.M, server func()) {
	if os.Getenv(asServer) == "1" {
		server()
		return
	}
	os.Exit(m.Run())
}

// Stdio starts the server with the given flags and returns a client that is connected to it.
func Stdio(t *testing.T, args ...string) *client.Client {
	t.Helper()
	tr := transport.NewStdioWithOptions(os.Args[0], environment, args, transport.WithCommandStderrWriter(os.Stderr))
	return connect(t, client.NewClient(tr))
}

// HTTP starts the server with the given flags on a free port and returns the URL that it printed. The server must exit successfully when it
// is stopped at the end of the test.
func HTTP(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"--http", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("server ended with %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("no ready line: %v", err)
	}
	var ready struct {
		Ready bool
		URL   string
	}
	if err := json.Unmarshal(line, &ready); err != nil || !ready.Ready {
		t.Fatalf("ready line %q: %v", line, err)
	}
	return ready.URL
}

// Dial returns a client connected to a server over streamable HTTP.
func Dial(t *testing.T, url string, options ...transport.StreamableHTTPCOption) *client.Client {
	t.Helper()
	c, err := client.NewStreamableHttpClient(url, options...)
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, c)
}

func connect(t *testing.T, c *client.Client) *client.Client {
	t.Helper()
	// The transport outlives t.Context, which ends before the cleanups run.
	ctx := context.WithoutCancel(t.Context())
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	request := mcp.InitializeRequest{}
	request.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	if _, err := c.Initialize(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	return c
}

// patience is how long a test waits for what should happen at once, even on a busy machine.
const patience = time.Minute

// Await receives from a channel. It fails the test if nothing arrives, so that its servers are stopped.
func Await[T any](t *testing.T, ch <-chan T, what string) T {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case v := <-ch:
		return v
	case <-timer.C:
		t.Fatalf("no %s within %s", what, patience)
		panic("unreachable")
	}
}

// Request builds a tool call. meta may be nil.
func Request(name string, arguments, meta map[string]any) mcp.CallToolRequest {
	request := mcp.CallToolRequest{}
	request.Params.Name = name
	request.Params.Arguments = arguments
	if meta != nil {
		request.Params.Meta = mcp.NewMetaFromMap(meta)
	}
	return request
}

// Call calls a tool and decodes its structured result into a Result. An error result fails the test.
func Call[Result any](t *testing.T, c *client.Client, name string, arguments map[string]any) Result {
	t.Helper()
	result, err := c.CallTool(t.Context(), Request(name, arguments, nil))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if result.IsError {
		t.Fatalf("%s: %s", name, Text(t, result))
	}
	return Structured[Result](t, result)
}

// CallError calls a tool that must answer with an error and returns its text.
func CallError(t *testing.T, c *client.Client, name string, arguments map[string]any) string {
	t.Helper()
	result, err := c.CallTool(t.Context(), Request(name, arguments, nil))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if !result.IsError {
		t.Fatalf("%s: no error but %s", name, Text(t, result))
	}
	return Text(t, result)
}

// Structured decodes the structured content of a result.
func Structured[Result any](t *testing.T, result *mcp.CallToolResult) Result {
	t.Helper()
	data, err := json.Marshal(result.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	var out Result
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("structured content %s: %v", data, err)
	}
	return out
}

// Text is the text of a result with one content block.
func Text(t *testing.T, result *mcp.CallToolResult) string {
	t.Helper()
	if len(result.Content) != 1 {
		t.Fatalf("%d content blocks, want one", len(result.Content))
	}
	text, ok := mcp.AsTextContent(result.Content[0])
	if !ok {
		t.Fatalf("content is a %T, want text", result.Content[0])
	}
	return text.Text
}

// Tools lists a server's tools by name.
func Tools(t *testing.T, c *client.Client) map[string]mcp.Tool {
	t.Helper()
	list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	tools := make(map[string]mcp.Tool)
	for _, tool := range list.Tools {
		tools[tool.Name] = tool
	}
	return tools
}
