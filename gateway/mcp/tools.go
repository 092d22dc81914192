package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/gateway/mcp/orchestrator"
	"github.com/windlass-dev/windlass/libs/schema"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// toolsPage is the number of tools on a page: few enough for their schemas to fit a message.
const toolsPage = 250

// tool is a tool on the wire.
type tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"inputSchema"`
	Output      json.RawMessage `json:"outputSchema,omitempty"`
	Annotations annotations     `json:"annotations"`
}

type annotations struct {
	ReadOnly   bool `json:"readOnlyHint"`
	Idempotent bool `json:"idempotentHint"`
}

func (c *calls) listTools(q *request) (any, *failure) {
	if q.source == orchestrator.Name {
		return agentTools(), nil
	}
	page, err := c.tools.ListTools(q.ctx, &registryv1.ListToolsRequest{
		PageSize: toolsPage, PageToken: q.common.Cursor, Source: q.source,
	})
	if err != nil {
		return nil, failureOf(err)
	}
	tools := []tool{}
	for _, t := range page.GetTools() {
		if listed, ok := q.tool(t); ok && !t.GetDrifted() {
			tools = append(tools, listed)
		}
	}
	result := map[string]any{"tools": tools}
	if next := page.GetNextPageToken(); next != "" {
		result["nextCursor"] = next
	}
	return result, nil
}

// tool returns a tool as the protocol has it; false if it cannot be listed, which its source says.
func (q *request) tool(t *registryv1.Tool) (tool, bool) {
	input, err := schema.Object([]byte(t.GetInputSchemaJson()))
	if err != nil {
		return tool{}, false
	}
	out := tool{
		Name: t.GetName(), Title: t.GetTitle(), Description: t.GetDescription(), Input: input,
		Annotations: annotations{
			ReadOnly:   t.GetEffect() == turnv1.EffectClass_EFFECT_CLASS_READ,
			Idempotent: t.GetEffect() == turnv1.EffectClass_EFFECT_CLASS_READ || t.GetEffect() == turnv1.EffectClass_EFFECT_CLASS_IDEMPOTENT,
		},
	}
	if q.source != "" {
		out.Name = t.GetOriginalName()
	}
	if output := []byte(t.GetOutputSchemaJson()); schema.IsObject(output) { // results of other types are not described
		if out.Output, err = schema.Object(output); err != nil {
			out.Output = nil
		}
	}
	return out, true
}

// originalName is a tool by the name that its source uses.
type originalName struct{ caller, source, name string }

// toolName returns the name of the mesh for the name that the client uses.
func (c *calls) toolName(q *request) (string, *failure) {
	if q.source == "" {
		return q.common.Name, nil
	}
	key := originalName{subject(q.ctx), q.source, q.common.Name}
	if name, ok := c.names.Get(key); ok {
		return name, nil
	}
	found := ""
	for token := ""; ; {
		page, err := c.tools.ListTools(q.ctx, &registryv1.ListToolsRequest{PageSize: 1000, PageToken: token, Source: q.source})
		if err != nil {
			return "", failureOf(err)
		}
		for _, t := range page.GetTools() {
			if t.GetOriginalName() == q.common.Name {
				found = t.GetName()
			}
			c.names.Add(originalName{key.caller, q.source, t.GetOriginalName()}, t.GetName())
		}
		if token = page.GetNextPageToken(); token == "" || found != "" {
			break
		}
	}
	if found == "" {
		return "", noTool(q.common.Name)
	}
	return found, nil
}

func noTool(name string) *failure { return invalidParams(fmt.Sprintf("there is no tool %q", name)) }

// checkHeaders compares the headers that repeat arguments with the arguments, as the tool's schema asks for.
func (c *calls) checkHeaders(q *request, name string) *failure {
	t, err := c.tools.GetTool(q.ctx, &registryv1.GetToolRequest{Name: name})
	if err != nil {
		return failureOf(err)
	}
	if !strings.Contains(t.GetInputSchemaJson(), "x-mcp-header") {
		return nil
	}
	has := func(header string) (string, bool) {
		values := q.header.Values(header)
		return strings.Join(values, ", "), len(values) > 0
	}
	described := &mcp.Tool{Name: name, RawInputSchema: json.RawMessage(t.GetInputSchemaJson())}
	if err := mcp.ValidateParamHeadersLookup(has, described, q.params); err != nil {
		return &failure{Code: mcp.HEADER_MISMATCH, Message: err.Error()}
	}
	return nil
}
