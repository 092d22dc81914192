package openai

import (
	"cmp"
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/toolschema"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/transcript"
	"github.com/windlass-dev/windlass/services/inference/provider/wire"
)

// sheet is what the API takes.
var sheet = provider.Sheet{
	Images:    provider.Images{Types: provider.CommonImages(), MaxEdge: 2048, MaxBytes: 20 << 20},
	Audio:     provider.Files{Types: slices.Sorted(maps.Keys(audioFormats)), MaxBytes: 20 << 20},
	Documents: provider.Files{Types: []string{provider.PDF}, MaxBytes: 20 << 20},
	Tools:     true, StructuredOutput: true,
}

// audioFormats are the names of the formats of sound.
var audioFormats = map[string]string{"audio/wav": "wav", "audio/mpeg": "mp3"}

// maxName is the maximum length of a tool's name.
const maxName = 64

var (
	// Terms are what OpenAI's API accepts in tools. Servers that implement it limit descriptions as well, but not the number of tools.
	Terms = provider.Terms{Form: &toolschema.Full, MaxDescription: 1024, MaxTools: 128}
	// Google are those of Google's implementation, which knows a part of JSON Schema only.
	Google = provider.Terms{Form: &toolschema.Google, NoEmpty: true, MaxDescription: 1024}
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
		provider: p, req: p.lessons.Prepare(req, m, p.rules()), manner: m,
		names: wire.NewNames(wire.NameRule{Max: maxName, Letter: !p.profile.official}),
		ids:   wire.NewIDs(p.ids()), returned: map[string]bool{},
	}
}

// rules returns what the provider demands of conversations: the templates of many models do not take two messages of the user in a row,
// and Mistral's do not take one right behind a result.
func (p *Provider) rules() transcript.Rules {
	return transcript.Rules{Alternate: !p.profile.official, AnswerFirst: p.profile.bridge}
}

// ids returns the form of call ids that the provider accepts.
func (p *Provider) ids() *regexp.Regexp {
	if p.profile.shortIDs {
		return wire.ShortID
	}
	return wire.AnyID
}

// terms returns what the provider accepts in tools.
func (c *call) terms() provider.Terms {
	if c.provider.profile.subset || strings.Contains(c.req.Model, "gemini") {
		return Google
	}
	terms := Terms
	if !c.provider.profile.official {
		terms.MaxTools = 0
	}
	return terms
}

// body builds the request.
func (c *call) body() body {
	req := c.req
	out := body{Model: req.Model, Temperature: req.Temperature, Stream: true}
	if !c.provider.profile.noStreamOptions {
		out.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	out.Messages = make([]any, 0, len(req.Messages)+1)
	if req.Instructions != "" {
		out.Messages = append(out.Messages, message{Role: "system", Content: req.Instructions})
	}
	c.tools, c.warnings = c.provider.lessons.Tools(req, c.manner, c.names, c.terms())
	for _, m := range req.Messages {
		switch m.GetRole() {
		case turnv1.Role_ROLE_USER:
			out.Messages = append(out.Messages, message{Role: "user", Content: userContent(m.GetContent())})
		case turnv1.Role_ROLE_ASSISTANT:
			if am, ok := c.assistantMessage(m); ok {
				out.Messages = append(out.Messages, am)
			}
		case turnv1.Role_ROLE_TOOL:
			out.Messages = append(out.Messages, c.resultMessage(m.GetToolResult()))
		}
	}
	for _, t := range c.tools {
		out.Tools = append(out.Tools, tool{Type: typeFunction, Function: function{t.Name, t.Description, t.Schema}})
	}
	out.generation = c.generation(len(out.Tools) > 0)
	// OpenAI's newer models reject the old name, most other servers only know that.
	if n := max(req.MaxOutputTokens, 0); c.provider.profile.official || c.provider.profile.completionLimit {
		out.MaxCompletionTokens = n
	} else {
		out.MaxTokens = n
	}
	return out
}

// userContent is plain text, or parts if there is something else.
func userContent(content []*turnv1.ContentPart) any {
	if !slices.ContainsFunc(content, func(c *turnv1.ContentPart) bool { _, ok := blobPart(c.GetBlob()); return ok }) {
		return provider.Text(content)
	}
	var parts []contentPart
	for _, c := range content {
		if part, ok := blobPart(c.GetBlob()); ok {
			parts = append(parts, part)
		} else if text := provider.PartText(c); text != "" {
			parts = append(parts, contentPart{Type: "text", Text: text})
		}
	}
	return parts
}

// blobPart is an image, a sound or a document; false for what the API does not take.
func blobPart(b *turnv1.Blob) (contentPart, bool) {
	data := base64.StdEncoding.EncodeToString(b.GetData())
	url := "data:" + b.GetMediaType() + ";base64," + data
	switch {
	case sheet.Images.Has(b):
		return contentPart{Type: "image_url", Image: &imageURL{url}}, true
	case sheet.Audio.Has(b):
		return contentPart{Type: "input_audio", Audio: &inputAudio{data, audioFormats[b.GetMediaType()]}}, true
	case sheet.Documents.Has(b):
		return contentPart{Type: "file", File: &inputFile{cmp.Or(b.GetName(), "document.pdf"), url}}, true
	}
	return contentPart{}, false
}

// assistantMessage has the reasoning only in the fields in which the provider wants it back. An empty message is omitted.
func (c *call) assistantMessage(m *turnv1.Message) (any, bool) {
	out := message{Role: "assistant"}
	text := provider.Text(m.GetContent())
	if text != "" {
		out.Content = text
	}
	back := c.returns(m)
	for i, tc := range m.GetToolCalls() {
		made := madeCall{ID: c.ids.Call(tc), Type: typeFunction, Function: madeFunction{
			Name: c.names.Wire(tc.GetTool()), Arguments: string(provider.ArgumentsObject(tc.GetArgumentsJson())),
		}}
		out.ToolCalls = append(out.ToolCalls, wire.With(made, back.Calls[i]))
	}
	return wire.With(out, back.Message), text != "" || len(out.ToolCalls) > 0
}

// resultMessage marks a failed call in its text: the API has no other way.
func (c *call) resultMessage(r *turnv1.ToolResult) message {
	text := provider.ResultText(r)
	if r.GetIsError() {
		text = "Error: " + text
	}
	return message{Role: "tool", Content: text, ToolCallID: c.ids.Result(r)}
}
