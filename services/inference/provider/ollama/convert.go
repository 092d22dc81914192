package ollama

import (
	"encoding/json"
	"strings"

	"github.com/windlass-dev/windlass/libs/toolschema"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/transcript"
	"github.com/windlass-dev/windlass/services/inference/provider/wire"
)

// sheet is what the API takes.
var sheet = provider.Sheet{
	Images: provider.Images{Types: []string{"image/png", "image/jpeg", "image/webp"}, MaxEdge: 2048, InResults: true},
	Tools:  true, StructuredOutput: true,
}

// maxName is the maximum length of a tool's name, which models know from other APIs.
const maxName = 64

// Terms are what the API reads of tools: other keywords do not reach the model.
var Terms = provider.Terms{Form: &toolschema.Form{
	Keywords: []string{"type", "description", "enum", "items", "properties", "required", "anyOf"},
	Top:      []string{"type", "properties", "required"},
	Inline:   true, MaxDepth: maxDepth,
}}

// maxDepth is the maximum nesting of schemas: models read them with each request.
const maxDepth = 12

// thinking is the field with the reasoning, and the ability of models that have it.
const thinking = "thinking"

// rules are what the templates of models demand of conversations.
var rules = transcript.Rules{Alternate: true}

// call is one request as it is written.
type call struct {
	provider *Provider
	req      provider.Request
	manner   *provider.Manner
	can      abilities
	names    *wire.Names
	ids      *wire.IDs
	returned []string // fields that are returned as the provider sent them

	tools    []provider.Tool
	warnings []string
}

func (p *Provider) newCall(req provider.Request, m *provider.Manner, can abilities) *call {
	return &call{
		provider: p, req: p.lessons.Prepare(req, m, rules), manner: m, can: can,
		names: wire.NewNames(wire.NameRule{Max: maxName, Letter: true}), ids: wire.NewIDs(wire.AnyID),
	}
}

// body builds the request.
func (c *call) body() body {
	req := c.req
	if req.CallsNone() { // the API has no such choice
		req.Tools = nil
	}
	out := body{Model: req.Model, Think: c.think(), Stream: true, Options: options{
		NumCtx: max(req.ContextWindow, 0), NumPredict: max(req.MaxOutputTokens, 0), Temperature: req.Temperature, sampling: c.sampling(),
	}}
	if o := req.Output; o != nil && o.Native {
		out.Format = json.RawMessage(o.Schema)
	}
	out.Messages = make([]message, 0, len(req.Messages)+1)
	if req.Instructions != "" {
		out.Messages = append(out.Messages, message{Role: "system", Content: req.Instructions})
	}
	c.tools, c.warnings = c.provider.lessons.Tools(req, c.manner, c.names, Terms)
	for _, m := range req.Messages {
		switch m.GetRole() {
		case turnv1.Role_ROLE_USER:
			made := message{Role: "user"}
			made.Images, made.Content = c.content(m.GetContent())
			out.Messages = append(out.Messages, made)
		case turnv1.Role_ROLE_ASSISTANT:
			if made := c.assistant(m); made.Content != "" || len(made.ToolCalls) > 0 {
				out.Messages = append(out.Messages, made)
			}
		case turnv1.Role_ROLE_TOOL:
			out.Messages = append(out.Messages, c.result(m.GetToolResult()))
		}
	}
	for _, t := range c.tools {
		made := tool{Type: "function", Function: function{t.Name, t.Description, t.Schema}}
		if t.Schema == nil {
			made.Function.Parameters = noParameters
		}
		out.Tools = append(out.Tools, made)
	}
	return out
}

// sees reports whether a model takes images; one of which nothing is known gets them.
func (c *call) sees() bool {
	sees, known := c.can.has("vision")
	return sees || !known
}

// content returns the images of a message, and everything else as text.
func (c *call) content(parts []*turnv1.ContentPart) (images [][]byte, text string) {
	var others []*turnv1.ContentPart
	for _, p := range parts {
		if b := p.GetBlob(); sheet.Images.Has(b) && c.sees() {
			images = append(images, b.GetData())
		} else {
			others = append(others, p)
		}
	}
	return images, provider.Text(others)
}

// assistant has the reasoning only beside calls, and only if the provider sent it: models read it until their answer.
func (c *call) assistant(m *turnv1.Message) message {
	out := message{Role: "assistant", Content: provider.Text(m.GetContent())}
	for _, tc := range m.GetToolCalls() {
		out.ToolCalls = append(out.ToolCalls, madeCall{ID: c.ids.Call(tc), Function: madeFunction{
			Name: c.names.Wire(tc.GetTool()), Arguments: provider.ArgumentsObject(tc.GetArgumentsJson()),
		}})
	}
	v := m.GetVerbatim()
	if v.GetIssuer() == c.provider.issuer && len(v.GetReasoningFields()) > 0 && len(out.ToolCalls) > 0 && !c.manner.Plain {
		out.Thinking, c.returned = m.GetReasoning(), []string{thinking}
	}
	return out
}

// result marks a failed call in its text: the API has no other way.
func (c *call) result(r *turnv1.ToolResult) message {
	out := message{Role: "tool", ToolName: c.names.Wire(r.GetTool()), ToolCallID: c.ids.Result(r), Content: provider.ResultText(r)}
	if c.sees() {
		var images []*turnv1.Blob
		if images, out.Content = sheet.ResultParts(r); out.Content == "" {
			out.Content = "(see the image)"
		}
		for _, b := range images {
			out.Images = append(out.Images, b.GetData())
		}
	}
	if r.GetIsError() {
		out.Content = "Error: " + strings.TrimSpace(out.Content)
	}
	return out
}
