package anthropic

import (
	"encoding/base64"
	"fmt"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/windlass-dev/windlass/libs/fault"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// params builds the request.
func params(req provider.Request) (sdk.MessageNewParams, error) {
	out := sdk.MessageNewParams{Model: req.Model, MaxTokens: defaultMaxTokens, Messages: messages(req.Messages)}
	if req.MaxOutputTokens > 0 {
		out.MaxTokens = int64(req.MaxOutputTokens)
	}
	if strings.TrimSpace(req.Instructions) != "" {
		out.System = []sdk.TextBlockParam{{Text: req.Instructions}}
	}
	if req.Temperature != nil {
		out.Temperature = sdk.Float(*req.Temperature)
	}
	for i, t := range req.Tools {
		schema, err := provider.Schema(t.GetInputSchemaJson())
		if err != nil {
			return out, fault.Invalid(fmt.Sprintf("tools[%d].input_schema_json", i), "the schema of %s %v", t.GetName(), err)
		}
		tool := &sdk.ToolParam{Name: t.GetName(), InputSchema: param.Override[sdk.ToolInputSchemaParam](schema)}
		if t.GetDescription() != "" {
			tool.Description = sdk.String(t.GetDescription())
		}
		out.Tools = append(out.Tools, sdk.ToolUnionParam{OfTool: tool})
	}
	return out, nil
}

// messages builds the conversation. Tool results and the user message after them are one message: the API requires all results right after
// their calls, and before any text.
func messages(conversation []*turnv1.Message) []sdk.MessageParam {
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
			open = append(open, result(m.GetToolResult()))
		case turnv1.Role_ROLE_ASSISTANT:
			if blocks := assistant(m); len(blocks) > 0 {
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

// assistant omits reasoning: it could be sent only with its signature, and is not required.
func assistant(m *turnv1.Message) []sdk.ContentBlockParamUnion {
	out := content(m.GetContent())
	for _, c := range m.GetToolCalls() {
		out = append(out, sdk.NewToolUseBlock(c.GetCallId(), provider.ArgumentsObject(c.GetArgumentsJson()), c.GetTool()))
	}
	return out
}

// result keeps images; everything else is text.
func result(r *turnv1.ToolResult) sdk.ContentBlockParamUnion {
	block := sdk.ToolResultBlockParam{ToolUseID: r.GetCallId()}
	if r.GetIsError() {
		block.IsError = sdk.Bool(true)
	}
	var texts []*turnv1.ContentPart
	for _, p := range r.GetContent() {
		if b := p.GetBlob(); provider.IsImage(b.GetMediaType()) {
			image := sdk.NewImageBlockBase64(b.GetMediaType(), base64.StdEncoding.EncodeToString(b.GetData()))
			block.Content = append(block.Content, sdk.ToolResultBlockParamContentUnion{OfImage: image.OfImage})
			continue
		}
		texts = append(texts, p)
	}
	if len(texts) > 0 || len(block.Content) == 0 {
		text := provider.ResultText(&turnv1.ToolResult{
			Content: texts, StructuredContent: r.GetStructuredContent(), Truncated: r.GetTruncated(),
		})
		block.Content = append(block.Content, sdk.ToolResultBlockParamContentUnion{OfText: &sdk.TextBlockParam{Text: text}})
	}
	return sdk.ContentBlockParamUnion{OfToolResult: &block}
}
