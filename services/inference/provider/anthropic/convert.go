package anthropic

import (
	"encoding/base64"
	"regexp"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/windlass-dev/windlass/libs/toolschema"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/wire"
)

// maxName is the maximum length of a tool's name. Anthropic's own API takes more; others that serve its models do not.
const maxName = 64

// idForm is that of the ids of calls.
var idForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// terms are what the API accepts in tools.
var terms = provider.Terms{Form: toolschema.Form{Keys: true}}

// call is one request as it is written.
type call struct {
	provider *Provider
	req      provider.Request
	manner   *provider.Manner
	names    *wire.Names
	ids      *wire.IDs
	returned bool // something is returned as the provider sent it

	tools    []provider.Tool
	warnings []string
}

func (p *Provider) newCall(req provider.Request, m *provider.Manner) *call {
	return &call{
		provider: p, req: req, manner: m, names: wire.NewNames(wire.NameRule{Max: maxName}), ids: wire.NewIDs(idForm),
	}
}

// params builds the request.
func (c *call) params() sdk.MessageNewParams {
	req := c.req
	c.tools, c.warnings = c.provider.lessons.Tools(req, c.manner, c.names, terms)
	out := sdk.MessageNewParams{Model: req.Model, MaxTokens: defaultMaxTokens, Messages: c.messages(req.Messages)}
	if req.MaxOutputTokens > 0 {
		out.MaxTokens = int64(req.MaxOutputTokens)
	}
	if strings.TrimSpace(req.Instructions) != "" {
		out.System = []sdk.TextBlockParam{{Text: req.Instructions}}
	}
	if req.Temperature != nil {
		out.Temperature = sdk.Float(*req.Temperature)
	}
	for _, t := range c.tools {
		tool := &sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](t.Schema)}
		if t.Description != "" {
			tool.Description = sdk.String(t.Description)
		}
		out.Tools = append(out.Tools, sdk.ToolUnionParam{OfTool: tool})
	}
	if len(out.Tools) == 0 {
		c.former(&out)
	}
	return out
}

// former defines the tools of earlier calls in a request that offers none: the API refuses calls of tools that are not defined.
func (c *call) former(out *sdk.MessageNewParams) {
	known := map[string]bool{}
	for _, m := range c.req.Messages {
		for _, tc := range m.GetToolCalls() {
			name := c.names.Wire(tc.GetTool())
			if known[name] {
				continue
			}
			known[name] = true
			out.Tools = append(out.Tools, sdk.ToolUnionParam{OfTool: &sdk.ToolParam{
				Name: name, Description: sdk.String("Not available now."), InputSchema: sdk.ToolInputSchemaParam{Properties: map[string]any{}},
			}})
		}
	}
	if len(known) > 0 {
		out.ToolChoice = sdk.ToolChoiceUnionParam{OfNone: &sdk.ToolChoiceNoneParam{}}
	}
}

// messages builds the conversation. Tool results and the user message after them are one message: the API requires all results right after
// their calls, and before any text.
func (c *call) messages(conversation []*turnv1.Message) []sdk.MessageParam {
	var out []sdk.MessageParam
	var open []sdk.ContentBlockParamUnion // of the user's message being built
	flush := func() {
		if len(open) > 0 {
			out, open = append(out, sdk.NewUserMessage(open...)), nil
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
				out = append(out, sdk.NewAssistantMessage(blocks...))
			}
		}
	}
	flush()
	return out
}

// content builds blocks. It omits blank text, which the API rejects.
func content(parts []*turnv1.ContentPart) []sdk.ContentBlockParamUnion {
	var out []sdk.ContentBlockParamUnion
	for _, p := range parts {
		if b := p.GetBlob(); provider.IsImage(b.GetMediaType()) {
			out = append(out, sdk.NewImageBlockBase64(b.GetMediaType(), base64.StdEncoding.EncodeToString(b.GetData())))
		} else if text := provider.PartText(p); strings.TrimSpace(text) != "" {
			out = append(out, sdk.NewTextBlock(text))
		}
	}
	return out
}

// assistant has the reasoning only as the provider sent it, with its signatures, and only beside calls: there it is wanted back.
func (c *call) assistant(m *turnv1.Message) []sdk.ContentBlockParamUnion {
	calls := make([]sdk.ContentBlockParamUnion, 0, len(m.GetToolCalls()))
	for _, tc := range m.GetToolCalls() {
		calls = append(calls, sdk.NewToolUseBlock(c.ids.Call(tc), provider.ArgumentsObject(tc.GetArgumentsJson()), c.names.Wire(tc.GetTool())))
	}
	if blocks := c.returns(m, calls); blocks != nil {
		return blocks
	}
	return append(content(m.GetContent()), calls...)
}

// result keeps images; everything else is text.
func (c *call) result(r *turnv1.ToolResult) sdk.ContentBlockParamUnion {
	block := sdk.ToolResultBlockParam{ToolUseID: c.ids.Result(r)}
	if r.GetIsError() {
		block.IsError = sdk.Bool(true)
	}
	images, text := provider.ResultParts(r)
	for _, b := range images {
		image := sdk.NewImageBlockBase64(b.GetMediaType(), base64.StdEncoding.EncodeToString(b.GetData()))
		block.Content = append(block.Content, sdk.ToolResultBlockParamContentUnion{OfImage: image.OfImage})
	}
	if text != "" {
		block.Content = append(block.Content, sdk.ToolResultBlockParamContentUnion{OfText: &sdk.TextBlockParam{Text: text}})
	}
	return sdk.ContentBlockParamUnion{OfToolResult: &block}
}
