package connection

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/services/mcpbridge/listing"
	"github.com/windlass-dev/windlass/services/mcpbridge/server"
	"github.com/windlass-dev/windlass/services/mcpbridge/wire"
)

// Limits of lists that need no setting.
const (
	maxPages  = 1000     // pages of one tools/list
	maxTools  = 10_000   // tools of one server
	maxValues = 500_000  // of all pages of one list
	maxBytes  = 15 << 20 // of one list: what a message of the mesh holds
)

// Tool is a tool as its server describes it. The raw parts are unchanged bytes.
type Tool struct {
	Raw, Input, Output                []byte
	Name, Title, Description          string
	ReadOnly, Idempotent, Destructive *bool
}

// ListTools reads all pages. Errors of the transport are *wire.Error.
func (c *Connection) ListTools(ctx context.Context) ([]Tool, error) {
	var all []Tool
	size, values, listed, cursor, budget := 0, 0, 0, "", listing.Budget(listing.MaxCompiled)
	seen := map[string]bool{}
	headers := map[string]*mcp.Tool{}
	for range maxPages {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		a, err := c.Ask(ctx, mcp.MethodToolsList, params)
		if err != nil {
			return nil, err
		}
		if a.Failure != nil {
			if a.Failure.Code == mcp.METHOD_NOT_FOUND && cursor == "" {
				return nil, nil // a server without tools
			}
			return nil, useless("tools/list: the server answered: %s", a.Failure.Message)
		}
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		}
		found, _ := canon.Measure(a.Result)
		if values += found; values > maxValues {
			return nil, useless("tools/list: more than %d values", maxValues)
		}
		if err := json.Unmarshal(a.Result, &page); err != nil {
			return nil, useless("tools/list: the server's answer is no MCP")
		}
		if listed += len(page.Tools); listed > maxTools { // including skipped ones
			return nil, useless("tools/list: more than %d tools", maxTools)
		}
		for _, raw := range page.Tools {
			t, ok := c.readTool(ctx, raw, headers, &budget)
			if !ok {
				continue
			}
			all = append(all, t)
			size += len(t.Raw) + len(t.Input) + len(t.Output) + len(t.Name) + len(t.Title) + len(t.Description) + 64
		}
		switch {
		case size > maxBytes:
			return nil, useless("tools/list: more than %d bytes", maxBytes)
		case page.NextCursor == "":
			c.wire.Headers.Set(headers)
			return all, nil
		case seen[page.NextCursor]:
			return nil, useless("tools/list: the server gave the same page twice")
		}
		cursor = page.NextCursor
		seen[cursor] = true
	}
	return nil, useless("tools/list: more than %d pages", maxPages)
}

// useless returns the error of a list that another request would not make better.
func useless(format string, args ...any) error { return wire.Useless(fmt.Sprintf(format, args...)) }

// readTool parses one tool. It skips a tool that cannot be called.
func (c *Connection) readTool(ctx context.Context, raw json.RawMessage, headers map[string]*mcp.Tool, budget *listing.Budget) (Tool, bool) {
	var d listing.Tool
	err := json.Unmarshal(raw, &d)
	if err == nil && d.Name == "" {
		err = errors.New("it has no name")
	}
	if err == nil {
		err = budget.Check(d.Input, d.Output)
	}
	if err == nil && c.wire.Modern() && c.spec.Kind == server.HTTP && bytes.Contains(raw, []byte("x-mcp-header")) {
		t := &mcp.Tool{Name: d.Name, RawInputSchema: d.Input}
		if err = mcp.ValidateParamHeaderAnnotations(t); err == nil {
			headers[d.Name] = t
		}
	}
	if err != nil {
		c.log.WarnContext(ctx, "tool skipped: its description is invalid", "server_id", c.spec.ID, "tool", d.Name, "error", err)
		return Tool{}, false
	}
	if d.Title == "" {
		d.Title = d.Annotations.Title
	}
	t := Tool{
		Raw: raw, Input: d.Input, Output: d.Output, Name: d.Name, Title: string(d.Title), Description: string(d.Description),
		ReadOnly: d.Annotations.ReadOnly, Idempotent: d.Annotations.Idempotent, Destructive: d.Annotations.Destructive,
	}
	if string(t.Output) == "null" {
		t.Output = nil
	}
	return t, true
}

// LearnHeaders lists the tools, once per connection, to learn which arguments are repeated as headers: a server refuses calls without them,
// and a refused call is not sent again. If listing fails, the server decides.
func (c *Connection) LearnHeaders(ctx context.Context) {
	if !c.wire.Modern() || c.spec.Kind != server.HTTP {
		return
	}
	c.wire.Headers.Learning.Lock()
	defer c.wire.Headers.Learning.Unlock()
	if c.wire.Headers.Known() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.spec.ConnectTimeout)
	defer cancel()
	if _, err := c.ListTools(ctx); err != nil {
		c.log.DebugContext(ctx, "tools could not be listed before a call", "server_id", c.spec.ID, "error", c.describe(err))
		c.wire.Headers.Set(nil)
	}
}

// ForgetHeaders makes the next call list the tools first: their arguments to repeat as headers have changed.
func (c *Connection) ForgetHeaders() { c.wire.Headers.Forget() }
