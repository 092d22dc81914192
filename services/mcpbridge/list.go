package mcpbridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/services/mcpbridge/listing"
)

// tool is a tool as its server describes it. The raw parts are unchanged bytes.
type tool struct {
	raw, input, output                []byte
	name, title, description          string
	readOnly, idempotent, destructive *bool
}

// listTools reads all pages. Errors of the transport are *sendError.
func (c *connection) listTools(ctx context.Context) ([]tool, error) {
	var all []tool
	size, values, listed, cursor, budget := 0, 0, 0, "", listing.Budget(listing.MaxCompiled)
	seen := map[string]bool{}
	headers := map[string]*mcp.Tool{}
	for range maxPages {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		a, err := c.ask(ctx, mcp.MethodToolsList, params)
		if err != nil {
			return nil, err
		}
		if a.failure != nil {
			if a.failure.Code == mcp.METHOD_NOT_FOUND && cursor == "" {
				return nil, nil // a server without tools
			}
			return nil, fmt.Errorf("tools/list: the server answered: %s", a.failure.Message)
		}
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		}
		found, _ := canon.Measure(a.result)
		if values += found; values > maxListValues {
			return nil, fmt.Errorf("tools/list: more than %d values", maxListValues)
		}
		if err := json.Unmarshal(a.result, &page); err != nil {
			return nil, errors.New("tools/list: the server's answer is no MCP")
		}
		if listed += len(page.Tools); listed > maxTools { // including skipped ones
			return nil, fmt.Errorf("tools/list: more than %d tools", maxTools)
		}
		for _, raw := range page.Tools {
			t, ok := c.readTool(ctx, raw, headers, &budget)
			if !ok {
				continue
			}
			all = append(all, t)
			size += len(t.raw) + len(t.input) + len(t.output) + len(t.name) + len(t.title) + len(t.description) + 64
		}
		switch {
		case size > maxListBytes:
			return nil, fmt.Errorf("tools/list: more than %d bytes", maxListBytes)
		case page.NextCursor == "":
			c.headers.Set(headers)
			return all, nil
		case seen[page.NextCursor]:
			return nil, errors.New("tools/list: the server gave the same page twice")
		}
		cursor = page.NextCursor
		seen[cursor] = true
	}
	return nil, fmt.Errorf("tools/list: more than %d pages", maxPages)
}

// readTool parses one tool. It skips a tool that cannot be called.
func (c *connection) readTool(ctx context.Context, raw json.RawMessage, headers map[string]*mcp.Tool, budget *listing.Budget) (tool, bool) {
	var d listing.Tool
	err := json.Unmarshal(raw, &d)
	if err == nil && d.Name == "" {
		err = errors.New("it has no name")
	}
	if err == nil {
		err = budget.Check(d.Input, d.Output)
	}
	if err == nil && c.modern() && c.spec.kind == overHTTP && bytes.Contains(raw, []byte("x-mcp-header")) {
		t := &mcp.Tool{Name: d.Name, RawInputSchema: d.Input}
		if err = mcp.ValidateParamHeaderAnnotations(t); err == nil {
			headers[d.Name] = t
		}
	}
	if err != nil {
		c.log.WarnContext(ctx, "tool skipped: its description is invalid", "server_id", c.spec.id, "tool", d.Name, "error", err)
		return tool{}, false
	}
	if d.Title == "" {
		d.Title = d.Annotations.Title
	}
	t := tool{
		raw: raw, input: d.Input, output: d.Output, name: d.Name, title: string(d.Title), description: string(d.Description),
		readOnly: d.Annotations.ReadOnly, idempotent: d.Annotations.Idempotent, destructive: d.Annotations.Destructive,
	}
	if string(t.output) == "null" {
		t.output = nil
	}
	return t, true
}

// learnHeaders lists the tools, once per connection, to learn which arguments are repeated as headers: a server refuses calls without them,
// and a refused call is not sent again. If listing fails, the server decides.
func (c *connection) learnHeaders(ctx context.Context) {
	if !c.modern() || c.spec.kind != overHTTP {
		return
	}
	c.headers.Learning.Lock()
	defer c.headers.Learning.Unlock()
	if c.headers.Known() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.spec.connectTimeout)
	defer cancel()
	if _, err := c.listTools(ctx); err != nil {
		c.log.DebugContext(ctx, "tools could not be listed before a call", "server_id", c.spec.id, "error", c.describe(err))
		c.headers.Set(nil)
	}
}
