package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/windlass-dev/windlass/libs/fault"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// params builds the request.
func (p *Provider) params(req provider.Request) (sdk.ChatCompletionNewParams, error) {
	out := sdk.ChatCompletionNewParams{
		Model:         req.Model,
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}
	if req.Instructions != "" {
		out.Messages = append(out.Messages, sdk.SystemMessage(req.Instructions))
	}
	for _, m := range req.Messages {
		switch m.GetRole() {
		case turnv1.Role_ROLE_USER:
			out.Messages = append(out.Messages, userMessage(m.GetContent()))
		case turnv1.Role_ROLE_ASSISTANT:
			if am, ok := assistantMessage(m); ok {
				out.Messages = append(out.Messages, am)
			}
		case turnv1.Role_ROLE_TOOL:
			out.Messages = append(out.Messages, resultMessage(m.GetToolResult()))
		}
	}
	for i, t := range req.Tools {
		schema, err := provider.Schema(t.GetInputSchemaJson())
		if err != nil {
			return out, fault.Invalid(fmt.Sprintf("tools[%d].input_schema_json", i), "the schema of %s %v", t.GetName(), err)
		}
		definition, err := json.Marshal(function{t.GetName(), t.GetDescription(), schema})
		if err != nil {
			return out, err
		}
		out.Tools = append(out.Tools, sdk.ChatCompletionFunctionTool(
			param.Override[shared.FunctionDefinitionParam](json.RawMessage(definition))))
	}
	if req.Temperature != nil {
		out.Temperature = sdk.Float(*req.Temperature)
	}
	if n := int64(req.MaxOutputTokens); n > 0 {
		if p.official { // OpenAI's newer models reject the old name, most other servers only know that
			out.MaxCompletionTokens = sdk.Int(n)
		} else {
			out.MaxTokens = sdk.Int(n)
		}
	}
	return out, nil
}

// function is a tool's definition with its schema unchanged: the SDK's own type would reorder it.
type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// userMessage is plain text, or parts if there are images.
func userMessage(content []*turnv1.ContentPart) sdk.ChatCompletionMessageParamUnion {
	images := false
	for _, c := range content {
		images = images || provider.IsImage(c.GetBlob().GetMediaType())
	}
	if !images {
		return sdk.UserMessage(provider.Text(content))
	}
	var parts []sdk.ChatCompletionContentPartUnionParam
	for _, c := range content {
		if b := c.GetBlob(); provider.IsImage(b.GetMediaType()) {
			parts = append(parts, sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{
				URL: "data:" + b.GetMediaType() + ";base64," + base64.StdEncoding.EncodeToString(b.GetData()),
			}))
		} else if text := provider.PartText(c); text != "" {
			parts = append(parts, sdk.TextContentPart(text))
		}
	}
	return sdk.UserMessage(parts)
}

// assistantMessage omits reasoning, which the API does not accept. An empty message is omitted.
func assistantMessage(m *turnv1.Message) (sdk.ChatCompletionMessageParamUnion, bool) {
	out := &sdk.ChatCompletionAssistantMessageParam{}
	text := provider.Text(m.GetContent())
	if text != "" {
		out.Content.OfString = sdk.String(text)
	}
	for _, c := range m.GetToolCalls() {
		out.ToolCalls = append(out.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID: c.GetCallId(),
				Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name: c.GetTool(), Arguments: string(provider.ArgumentsObject(c.GetArgumentsJson())),
				},
			},
		})
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: out}, text != "" || len(out.ToolCalls) > 0
}

// resultMessage marks a failed call in its text: the API has no other way.
func resultMessage(r *turnv1.ToolResult) sdk.ChatCompletionMessageParamUnion {
	text := provider.ResultText(r)
	if r.GetIsError() {
		text = "Error: " + text
	}
	return sdk.ToolMessage(text, r.GetCallId())
}
