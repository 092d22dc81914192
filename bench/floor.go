package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/windlass-dev/windlass/bench/model"
)

// mcpVersion is the protocol revision that the floor uses.
const mcpVersion = "2025-06-18"

// floor makes a turn's calls directly, as a program would that has no mesh between it and its model and tools. It sends the requests that
// the mesh sent.
type floor struct {
	http *http.Client
	// asks are the requests of the model calls: one more than there are tool calls.
	asks     [][]byte
	modelURL string
	toolURL  string
	session  string
	lastID   atomic.Int64
}

// newFloor opens an MCP session and copies the requests that the mesh sent to a model.
func newFloor(ctx context.Context, m *model.Server, name string, rounds int, toolURL string) (*floor, error) {
	f := &floor{http: newHTTP(), modelURL: m.URL + "/chat/completions", toolURL: toolURL}
	for results := range rounds + 1 {
		body, err := m.Body(model.Step{Model: name, Rounds: rounds, Results: results})
		if err != nil {
			return nil, err
		}
		f.asks = append(f.asks, body)
	}
	hello := map[string]any{
		"protocolVersion": mcpVersion, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "bench", "version": "1"},
	}
	if err := f.rpc(ctx, "initialize", hello, true); err != nil {
		return nil, err
	}
	return f, f.rpc(ctx, "notifications/initialized", nil, false)
}

// turn makes the calls of one turn.
func (f *floor) turn(ctx context.Context) (sample, error) {
	start := time.Now()
	var s sample
	saw := func() {
		if s.first == 0 {
			s.first = time.Since(start)
		}
	}
	arguments := map[string]any{"name": "evaluate", "arguments": map[string]any{"expression": "12 + 30"}}
	for i, ask := range f.asks {
		if i > 0 {
			if err := f.rpc(ctx, "tools/call", arguments, true); err != nil {
				return s, err
			}
		}
		if err := f.infer(ctx, ask, saw); err != nil {
			return s, err
		}
	}
	s.total = time.Since(start)
	if s.first == 0 {
		return s, errors.New("the model gave no text")
	}
	return s, nil
}

// infer makes one model call and calls saw at each piece of text.
func (f *floor) infer(ctx context.Context, body []byte, saw func()) error {
	resp, err := f.post(ctx, f.modelURL, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return frames(resp.Body, func(_ string, data []byte) error {
		if string(data) == "[DONE]" {
			return nil
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
				} `json:"delta"`
			} `json:"choices"`
		}
		if err := json.Unmarshal(data, &chunk); err != nil {
			return fmt.Errorf("read the model's answer: %w", err)
		}
		if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			saw()
		}
		return nil
	})
}

// rpc makes one MCP request; a notification gets no response.
func (f *floor) rpc(ctx context.Context, method string, params any, answered bool) error {
	msg := map[string]any{"jsonrpc": "2.0", "method": method}
	if params != nil {
		msg["params"] = params
	}
	if answered {
		msg["id"] = f.lastID.Add(1)
	}
	body, err := json.Marshal(msg)
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	resp, err := f.post(ctx, f.toolURL, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" && f.session == "" {
		f.session = id
	}
	if !answered {
		_, err := io.Copy(io.Discard, resp.Body)
		return err
	}
	if err := readResult(resp); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// readResult reads a JSON-RPC response, plain or in an event stream.
func readResult(resp *http.Response) error {
	var got struct {
		Result *struct {
			IsError bool `json:"isError"`
		} `json:"result"`
		Error json.RawMessage `json:"error"`
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		err := frames(resp.Body, func(_ string, data []byte) error { return json.Unmarshal(data, &got) })
		if err != nil {
			return err
		}
	} else {
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			return err
		}
	}
	if got.Result == nil || got.Result.IsError {
		return fmt.Errorf("the tool server says no: %s", got.Error)
	}
	return nil
}

func (f *floor) post(ctx context.Context, url string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("build the request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if f.session != "" && url == f.toolURL {
		req.Header.Set("Mcp-Session-Id", f.session)
		req.Header.Set("Mcp-Protocol-Version", mcpVersion)
	}
	resp, err := f.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		raw, _ := io.ReadAll(io.LimitReader(resp.Body, 500)) // the body explains enough
		return nil, errors.Join(fmt.Errorf("%s answered %d: %s", url, resp.StatusCode, raw), resp.Body.Close())
	}
	return resp, nil
}
