package responses

import (
	"cmp"
	"encoding/base64"
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
	Images:    provider.Images{Types: provider.CommonImages(), MaxEdge: 2048, MaxBytes: 20 << 20, InResults: true},
	Documents: provider.Files{Types: []string{provider.PDF}, MaxBytes: 20 << 20},
	Tools:     true, StructuredOutput: true,
}

// maxName is the maximum length of a tool's name.
const maxName = 64

// Terms are what the API accepts in tools.
var Terms = provider.Terms{Form: &toolschema.Full, MaxDescription: 1024, MaxTools: 128}

// encrypted has the API send reasoning in a form that it takes back.
const encrypted = "reasoning.encrypted_content"

// call is one request as it is written.
type call struct {
	provider *Provider
	req      provider.Request
	manner   *provider.Manner
	names    *wire.Names
	ids      *wire.IDs

	tools    []provider.Tool
	warnings []string
}

func (p *Provider) newCall(req provider.Request, m *provider.Manner) *call {
	return &call{
		provider: p, req: p.lessons.Prepare(req, m, transcript.Rules{}), manner: m,
		names: wire.NewNames(wire.NameRule{Max: maxName}), ids: wire.NewIDs(wire.AnyID),
	}
}

// body builds the request.
func (c *call) body() body {
	req := c.req
	out := body{
		Model: req.Model, Instructions: req.Instructions, Input: make([]any, 0, len(req.Messages)),
		MaxOutputTokens: max(req.MaxOutputTokens, 0), Temperature: req.Temperature, Stream: true,
	}
	if !c.manner.Plain {
		out.Include = []string{encrypted}
	}
	c.tools, c.warnings = c.provider.lessons.Tools(req, c.manner, c.names, Terms)
	for _, m := range req.Messages {
		switch m.GetRole() {
		case turnv1.Role_ROLE_USER:
			out.Input = append(out.Input, message{Role: "user", Content: parts(m.GetContent())})
		case turnv1.Role_ROLE_ASSISTANT:
			out.Input = append(out.Input, c.assistant(m)...)
		case turnv1.Role_ROLE_TOOL:
			out.Input = append(out.Input, c.result(m.GetToolResult()))
		}
	}
	for _, t := range c.tools {
		made := tool{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Schema}
		if t.Schema == nil {
			made.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		out.Tools = append(out.Tools, made)
	}
	out.generation = c.generation(len(out.Tools) > 0)
	return out
}

func dataURL(b *turnv1.Blob) string {
	return "data:" + b.GetMediaType() + ";base64," + base64.StdEncoding.EncodeToString(b.GetData())
}

func image(b *turnv1.Blob) contentPart { return contentPart{Type: "input_image", ImageURL: dataURL(b)} }

// parts builds the content of a user's message.
func parts(content []*turnv1.ContentPart) []contentPart {
	out := []contentPart{}
	for _, p := range content {
		if b := p.GetBlob(); sheet.Images.Has(b) {
			out = append(out, image(b))
		} else if sheet.Documents.Has(b) {
			out = append(out, contentPart{Type: "input_file", Name: cmp.Or(b.GetName(), "document.pdf"), Data: dataURL(b)})
		} else if text := provider.PartText(p); text != "" {
			out = append(out, contentPart{Type: "input_text", Text: text})
		}
	}
	return out
}

// assistant has the items of the provider's own messages in the order in which it sent them, with its reasoning.
func (c *call) assistant(m *turnv1.Message) (out []any) {
	var steps []provider.Step
	if !c.manner.Plain && strings.HasSuffix(m.GetModel(), "/"+c.req.Model) {
		steps = provider.Steps(m, c.provider.issuer)
	}
	if steps == nil {
		steps = []provider.Step{{Text: provider.Text(m.GetContent())}}
		for _, tc := range m.GetToolCalls() {
			steps = append(steps, provider.Step{Call: tc})
		}
	}
	for len(steps) > 0 && steps[len(steps)-1].Block != nil { // the API refuses reasoning that nothing follows
		steps = steps[:len(steps)-1]
	}
	for _, s := range steps {
		switch {
		case s.Block != nil:
			out = append(out, s.Block)
		case s.Call != nil:
			out = append(out, functionCall{
				Type: "function_call", CallID: c.ids.Call(s.Call), Name: c.names.Wire(s.Call.GetTool()),
				Arguments: string(provider.ArgumentsObject(s.Call.GetArgumentsJson())),
			})
		case s.Text != "":
			made := message{Role: "assistant", Content: s.Text}
			_ = json.Unmarshal(s.With, &made.Phase) // none
			out = append(out, made)
		}
	}
	return out
}

// result marks a failed call in its text: the API has no other way.
func (c *call) result(r *turnv1.ToolResult) output {
	images, text := sheet.ResultParts(r)
	if r.GetIsError() {
		text = "Error: " + text
	}
	made := output{Type: "function_call_output", CallID: c.ids.Result(r), Output: text}
	if len(images) > 0 {
		list := []contentPart{}
		if text != "" {
			list = append(list, contentPart{Type: "input_text", Text: text})
		}
		for _, b := range images {
			list = append(list, image(b))
		}
		made.Output = list
	}
	return made
}
