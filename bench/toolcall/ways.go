package toolcall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/structpb"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// mcpVersion is the protocol revision of the calls.
const mcpVersion = "2025-06-18"

// newHTTP returns a client that keeps a connection for each caller.
func newHTTP() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConns: 1024, MaxIdleConnsPerHost: 256, DisableCompression: true}}
}

// expression differs with each call, so that no cache has its result.
func expression(n int64) map[string]any {
	return map[string]any{"expression": fmt.Sprintf("%d + 1", n)}
}

func newREST(cfg Config) way {
	c, url := newHTTP(), cfg.Base+"/v1/tools/"+cfg.Source+"__"+cfg.Tool+":invoke"
	return way{name: REST, close: c.CloseIdleConnections, call: func(ctx context.Context, n int64) error {
		raw, _, err := post(ctx, c, url, nil, map[string]any{"arguments": expression(n)})
		if err != nil {
			return err
		}
		return answered(raw, func(a answer) bool { return a.Cached || a.Error })
	}}
}

// answer is what matters of a result, in the API and in MCP.
type answer struct {
	Content []any `json:"content"`
	Cached  bool  `json:"cached"`
	Error   bool  `json:"is_error"`
	Failed  bool  `json:"isError"`
}

func answered(raw []byte, wrong func(answer) bool) error {
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		return fmt.Errorf("read the result: %w", err)
	}
	if len(a.Content) == 0 || wrong(a) {
		return fmt.Errorf("unexpected result: %.300s", raw)
	}
	return nil
}

// newMCP opens a session of a client that calls a tool.
func newMCP(ctx context.Context, name, url, tool string) (way, error) {
	c, header := newHTTP(), http.Header{"Accept": {"application/json, text/event-stream"}}
	message := func(method string, params any) map[string]any {
		return map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
	}
	_, session, err := post(ctx, c, url, header, message("initialize", map[string]any{
		"protocolVersion": mcpVersion, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "bench", "version": "1"},
	}))
	if err != nil {
		return way{}, err
	}
	header.Set("Mcp-Session-Id", session)
	header.Set("Mcp-Protocol-Version", mcpVersion)
	if _, _, err := post(ctx, c, url, header, map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"}); err != nil {
		return way{}, err
	}
	return way{name: name, close: c.CloseIdleConnections, call: func(ctx context.Context, n int64) error {
		m := message("tools/call", map[string]any{"name": tool, "arguments": expression(n)})
		m["id"] = n
		raw, _, err := post(ctx, c, url, header, m)
		if err != nil {
			return err
		}
		if _, data, ok := bytes.Cut(raw, []byte("data: ")); ok { // a stream with one message
			raw, _, _ = bytes.Cut(data, []byte("\n"))
		}
		var got struct {
			Result json.RawMessage `json:"result"`
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			return fmt.Errorf("read the response: %w", err)
		}
		return answered(got.Result, func(a answer) bool { return a.Failed })
	}}, nil
}

// post makes one request and returns the body and the session of the response.
func post(ctx context.Context, c *http.Client, url string, header http.Header, body any) (_ []byte, session string, err error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, "", fmt.Errorf("encode the request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(raw))
	if err != nil {
		return nil, "", fmt.Errorf("build the request: %w", err)
	}
	if header != nil {
		req.Header = header.Clone()
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return nil, "", err
	}
	raw, err = io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, "", fmt.Errorf("read the response: %w", err)
	}
	if resp.StatusCode >= 300 {
		return nil, "", fmt.Errorf("%s answered %d: %.300s", url, resp.StatusCode, raw)
	}
	return raw, resp.Header.Get("Mcp-Session-Id"), nil
}

// errNoCache means that the registry keeps no results.
var errNoCache = errors.New("the registry keeps no results")

// newRegistry calls the registry itself, with one call over and over.
func newRegistry(ctx context.Context, cfg Config) (way, error) {
	conn, err := grpc.NewClient(cfg.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return way{}, fmt.Errorf("connect to the registry: %w", err)
	}
	client := registryv1.NewToolServiceClient(conn)
	arguments, err := structpb.NewStruct(map[string]any{"expression": "6 * 7"})
	if err != nil {
		return way{}, fmt.Errorf("encode arguments: %w", err)
	}
	keeps := false
	req := &registryv1.InvokeToolRequest{Name: cfg.Source + "__" + cfg.Tool, Arguments: arguments}
	for range 2 { // the second gets the first one's result
		resp, err := client.InvokeTool(ctx, req)
		if err != nil {
			return way{}, errors.Join(err, conn.Close())
		}
		keeps = resp.GetCached()
	}
	if !keeps {
		return way{}, errors.Join(errNoCache, conn.Close())
	}
	stop := func() { _ = conn.Close() } // it is closed once
	return way{name: CacheHit, close: stop, call: func(ctx context.Context, _ int64) error {
		resp, err := client.InvokeTool(ctx, req)
		if err == nil && (!resp.GetCached() || resp.GetIsError()) {
			err = errors.New("the result is not from the cache")
		}
		return err
	}}, nil
}
