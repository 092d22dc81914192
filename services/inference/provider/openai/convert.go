package openai

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/windlass-dev/windlass/libs/toolschema"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/wire"
)

// Limits of OpenAI's API, which others have copied.
const (
	maxName        = 64
	maxDescription = 1024
)

// call is one request as it is written.
type call struct {
	provider *Provider
	req      provider.Request
	manner   *provider.Manner
	names    *wire.Names
	ids      *wire.IDs
	returned map[string]bool // fields that are returned as the provider sent them

	tools    []provider.Tool
	warnings []string
}

func (p *Provider) newCall(req provider.Request, m *provider.Manner) *call {
	return &call{
		provider: p, req: req, manner: m, names: wire.NewNames(wire.NameRule{Max: maxName, Letter: !p.official}),
		ids: wire.NewIDs(p.ids()), returned: map[string]bool{},
	}
}

// ids returns the form of call ids that the provider accepts.
func (p *Provider) ids() *regexp.Regexp {
	if strings.HasSuffix(p.host, "mistral.ai") {
		return wire.ShortID
	}
	return wire.AnyID
}

// terms returns what the provider accepts in tools. Google's API knows a part of JSON Schema only.
func (c *call) terms() provider.Terms {
	google := strings.HasSuffix(c.provider.host, ".googleapis.com") || strings.Contains(c.req.Model, "gemini")
	return provider.Terms{Form: toolschema.Form{Subset: google}, MaxDescription: maxDescription}
}

// params builds the request.
func (c *call) params() (sdk.ChatCompletionNewParams, error) {
	req := c.req
	out := sdk.ChatCompletionNewParams{
		Model:         req.Model,
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}
	if req.Instructions != "" {
		out.Messages = append(out.Messages, sdk.SystemMessage(req.Instructions))
	}
	c.tools, c.warnings = c.provider.lessons.Tools(req, c.manner, c.names, c.terms())
	for _, m := range req.Messages {
		switch m.GetRole() {
		case turnv1.Role_ROLE_USER:
			out.Messages = append(out.Messages, userMessage(m.GetContent()))
		case turnv1.Role_ROLE_ASSISTANT:
			if am, ok := c.assistantMessage(m); ok {
				out.Messages = append(out.Messages, am)
			}
		case turnv1.Role_ROLE_TOOL:
			out.Messages = append(out.Messages, c.resultMessage(m.GetToolResult()))
		}
	}
	for _, t := range c.tools {
		definition, err := json.Marshal(function{t.Name, t.Description, t.Schema})
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
		if c.provider.official { // OpenAI's newer models reject the old name, most other servers only know that
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
	Parameters  json.RawMessage `json:"parameters,omitempty"`
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

// assistantMessage has the reasoning only in the fields in which the provider wants it back. An empty message is omitted.
func (c *call) assistantMessage(m *turnv1.Message) (sdk.ChatCompletionMessageParamUnion, bool) {
	out := &sdk.ChatCompletionAssistantMessageParam{}
	text := provider.Text(m.GetContent())
	if text != "" {
		out.Content.OfString = sdk.String(text)
	}
	back := c.returns(m)
	for i, tc := range m.GetToolCalls() {
		made := &sdk.ChatCompletionMessageFunctionToolCallParam{
			ID: c.ids.Call(tc),
			Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{
				Name: c.names.Wire(tc.GetTool()), Arguments: string(provider.ArgumentsObject(tc.GetArgumentsJson())),
			},
		}
		if fields := back.call(i); len(fields) > 0 {
			made.SetExtraFields(fields)
		}
		out.ToolCalls = append(out.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: made})
	}
	if len(back.Message) > 0 {
		out.SetExtraFields(anyFields(back.Message))
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: out}, text != "" || len(out.ToolCalls) > 0
}

// resultMessage marks a failed call in its text: the API has no other way.
func (c *call) resultMessage(r *turnv1.ToolResult) sdk.ChatCompletionMessageParamUnion {
	text := provider.ResultText(r)
	if r.GetIsError() {
		text = "Error: " + text
	}
	return sdk.ToolMessage(text, c.ids.Result(r))
}
