package anthropic

import (
	"regexp"
	"strings"

	"github.com/windlass-dev/windlass/libs/toolschema"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/transcript"
	"github.com/windlass-dev/windlass/services/inference/provider/wire"
)

// sheet is what the API takes. It refuses images of more than 5 MB in base64, and scales those above an edge itself.
var sheet = provider.Sheet{
	Images:    provider.Images{Types: provider.CommonImages(), MaxEdge: 1568, MaxBytes: 3_750_000, MaxCount: 100, InResults: true},
	Documents: provider.Files{Types: []string{provider.PDF}, MaxBytes: 20 << 20},
	Tools:     true, StructuredOutput: true,
}

// maxName is the maximum length of a tool's name. Anthropic's own API takes more; others that serve its models do not.
const maxName = 64

// idForm is that of the ids of calls.
var idForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Terms are what the API accepts in tools.
var Terms = provider.Terms{Form: &toolschema.Form{Keys: regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)}}

// rules are what the API demands of conversations.
var rules = transcript.Rules{UserFirst: true, Alternate: true}

// call is one request as it is written.
type call struct {
	provider *Provider
	req      provider.Request
	manner   *provider.Manner
	names    *wire.Names
	ids      *wire.IDs
	returned bool // something is returned as the provider sent it
	cached   bool // something is marked for the cache

	tools    []provider.Tool
	warnings []string
}

func (p *Provider) newCall(req provider.Request, m *provider.Manner) *call {
	return &call{
		provider: p, req: p.lessons.Prepare(req, m, rules), manner: m, names: wire.NewNames(wire.NameRule{Max: maxName}),
		ids: wire.NewIDs(idForm),
	}
}

// body builds the request.
func (c *call) body() body {
	req := c.req
	c.tools, c.warnings = c.provider.lessons.Tools(req, c.manner, c.names, Terms)
	out := body{
		Model: req.Model, MaxTokens: defaultMaxTokens, Messages: c.messages(req.Messages), Temperature: req.Temperature, Stream: true,
	}
	if req.MaxOutputTokens > 0 {
		out.MaxTokens = req.MaxOutputTokens
	}
	if strings.TrimSpace(req.Instructions) != "" {
		out.System = []any{textBlock(req.Instructions)}
	}
	for _, t := range c.tools {
		made := tool{Name: t.Name, Description: t.Description, InputSchema: t.Schema}
		if made.InputSchema == nil {
			made.InputSchema = noParameters
		}
		out.Tools = append(out.Tools, made)
	}
	if len(out.Tools) == 0 {
		c.former(&out)
	} else {
		out.ToolChoice = c.choice()
	}
	c.generate(&out)
	c.cache(&out)
	return out
}

// former defines the tools of earlier calls in a request that offers none: the API refuses calls of tools that are not defined.
func (c *call) former(out *body) {
	known := map[string]bool{}
	for _, m := range c.req.Messages {
		for _, tc := range m.GetToolCalls() {
			name := c.names.Wire(tc.GetTool())
			if known[name] {
				continue
			}
			known[name] = true
			out.Tools = append(out.Tools, tool{Name: name, Description: "Not available now.", InputSchema: noParameters})
		}
	}
	if len(known) > 0 {
		out.ToolChoice = &toolChoice{Type: "none"}
	}
}

// messages builds the conversation. Tool results and the user message after them are one message: the API requires all results right after
// their calls, and before any text.
func (c *call) messages(conversation []*turnv1.Message) []message {
	out := make([]message, 0, len(conversation))
	var open []any // blocks of the user's message being built
	flush := func() {
		if len(open) > 0 {
			out, open = append(out, message{Role: "user", Content: open}), nil
		}
	}
	for _, m := range conversation {
		switch m.GetRole() {
		case turnv1.Role_ROLE_USER:
			open = append(open, content(m.GetContent())...)
		case turnv1.Role_ROLE_TOOL:
			open = append(open, c.result(m.GetToolResult()))
		case turnv1.Role_ROLE_ASSISTANT:
			if blocks := c.assistant(m); len(blocks) > 0 {
				flush()
				out = append(out, message{Role: "assistant", Content: blocks})
			}
		}
	}
	flush()
	return out
}

// content builds blocks. It omits blank text, which the API rejects.
func content(parts []*turnv1.ContentPart) []any {
	var out []any
	for _, p := range parts {
		if b := p.GetBlob(); sheet.Images.Has(b) {
			out = append(out, sourceBlock("image", b))
		} else if sheet.Documents.Has(b) {
			made := sourceBlock("document", b)
			made.Title = b.GetName()
			out = append(out, made)
		} else if text := provider.PartText(p); strings.TrimSpace(text) != "" {
			out = append(out, textBlock(text))
		}
	}
	return out
}

// assistant has the reasoning only as the provider sent it, with its signatures, and only beside calls: there it is wanted back.
func (c *call) assistant(m *turnv1.Message) []any {
	if blocks := c.returns(m); blocks != nil {
		return blocks
	}
	blocks := content(m.GetContent())
	for _, tc := range m.GetToolCalls() {
		blocks = append(blocks, c.toolUse(tc))
	}
	return blocks
}

func (c *call) toolUse(tc *turnv1.ToolCall) contentBlock {
	return contentBlock{
		Type: "tool_use", ID: c.ids.Call(tc), Name: c.names.Wire(tc.GetTool()), Input: provider.ArgumentsObject(tc.GetArgumentsJson()),
	}
}

// result keeps images; everything else is text.
func (c *call) result(r *turnv1.ToolResult) contentBlock {
	out := contentBlock{Type: "tool_result", ToolUseID: c.ids.Result(r), IsError: r.GetIsError()}
	images, text := sheet.ResultParts(r)
	for _, b := range images {
		out.Content = append(out.Content, sourceBlock("image", b))
	}
	if text != "" {
		out.Content = append(out.Content, textBlock(text))
	}
	return out
}
