package gemini

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/toolschema"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/transcript"
	"github.com/windlass-dev/windlass/services/inference/provider/wire"
)

// sheet is what the API takes: a request has at most 20 MB.
var sheet = provider.Sheet{
	Images: provider.Images{Types: []string{"image/png", "image/jpeg", "image/webp"}, MaxEdge: 3072, MaxBytes: 7 << 20, InResults: true},
	Audio: provider.Files{
		Types:    []string{"audio/wav", "audio/mpeg", "audio/ogg", "audio/flac", "audio/aac", "audio/aiff"},
		MaxBytes: 14 << 20,
	},
	Documents: provider.Files{Types: []string{provider.PDF}, MaxBytes: 14 << 20},
	Tools:     true, StructuredOutput: true,
}

// maxName is the maximum length of a tool's name.
const maxName = 64

// Terms are what the API accepts in tools.
var Terms = provider.Terms{Form: &toolschema.Google, NoEmpty: true}

// noSignature is what Google defines for calls that no model of the API has made.
var noSignature = json.RawMessage(`"skip_thought_signature_validator"`)

// unsigned are models that do not ask for the signatures of calls, and take images beside the results of tools only.
var unsigned = regexp.MustCompile(`^(gemini-(1|2|robotics|embedding)|gemma|learnlm)`)

// rules are what the API demands of conversations.
var rules = transcript.Rules{UserFirst: true, Alternate: true}

// call is one request as it is written.
type call struct {
	provider *Provider
	req      provider.Request
	manner   *provider.Manner
	names    *wire.Names
	ids      map[string]string // of the provider's own calls, by those of the conversation
	thoughts bool              // thoughts are requested, or returned

	tools    []provider.Tool
	warnings []string
}

func (p *Provider) newCall(req provider.Request, m *provider.Manner) *call {
	return &call{
		provider: p, req: p.lessons.Prepare(req, m, rules), manner: m,
		names: wire.NewNames(wire.NameRule{Max: maxName, Letter: true}), ids: map[string]string{},
	}
}

// signs reports whether the model wants a signature with each step's first call.
func (c *call) signs() bool { return !unsigned.MatchString(c.req.Model) }

// body builds the request.
func (c *call) body() body {
	req := c.req
	c.tools, c.warnings = c.provider.lessons.Tools(req, c.manner, c.names, Terms)
	out := body{Contents: c.contents(req.Messages), Config: generationConfig{
		Temperature: req.Temperature, MaxOutputTokens: max(req.MaxOutputTokens, 0),
	}}
	if c.thinks() && !c.manner.Plain {
		out.Config.Thinking, c.thoughts = &thinkingConfig{IncludeThoughts: true}, true
	}
	if req.Instructions != "" {
		out.System = &content{Parts: []any{textPart(req.Instructions)}}
	}
	if len(c.tools) > 0 {
		out.Tools = make([]tools, 1)
	}
	for _, t := range c.tools {
		out.Tools[0].Functions = append(out.Tools[0].Functions, function{t.Name, t.Description, t.Schema})
	}
	c.generate(&out)
	return out
}

// thinks reports whether a model has thoughts: others refuse a request for them.
func (c *call) thinks() bool { return c.signs() || strings.HasPrefix(c.req.Model, "gemini-2.5") }

func textPart(text string) part { return part{Text: &text} }

// contents builds the conversation. The results of a message's calls are one entry, right behind it.
func (c *call) contents(conversation []*turnv1.Message) []content {
	out := make([]content, 0, len(conversation))
	before := turnv1.Role_ROLE_UNSPECIFIED // of the last entry
	for _, m := range conversation {
		role, parts := "user", []any(nil)
		switch m.GetRole() {
		case turnv1.Role_ROLE_USER:
			parts = userParts(m.GetContent())
		case turnv1.Role_ROLE_TOOL:
			parts = c.result(m.GetToolResult())
		case turnv1.Role_ROLE_ASSISTANT:
			role, parts = "model", c.assistant(m)
		}
		switch {
		case len(parts) == 0:
			continue
		case m.GetRole() == before:
			last := &out[len(out)-1]
			last.Parts = ordered(append(last.Parts, parts...))
		default:
			out = append(out, content{Role: role, Parts: parts})
		}
		before = m.GetRole()
	}
	return out
}

// ordered puts images behind all results: the results of the calls of a message come together.
func ordered(parts []any) []any {
	if p, ok := parts[0].(part); !ok || p.Response == nil {
		return parts
	}
	isImage := func(v any) bool { p, ok := v.(part); return ok && p.Data != nil }
	slices.SortStableFunc(parts, func(a, b any) int {
		switch {
		case isImage(a) == isImage(b):
			return 0
		case isImage(a):
			return 1
		}
		return -1
	})
	return parts
}

func inline(b *turnv1.Blob) part { return part{Data: &blob{b.GetMediaType(), b.GetData()}} }

// userParts builds parts. It omits empty text.
func userParts(content []*turnv1.ContentPart) []any {
	var out []any
	for _, p := range content {
		if b := p.GetBlob(); sheet.Images.Has(b) || sheet.Audio.Has(b) || sheet.Documents.Has(b) {
			out = append(out, inline(b))
		} else if text := provider.PartText(p); text != "" {
			out = append(out, textPart(text))
		}
	}
	return out
}

// assistant has the parts of the provider's own messages as it sent them, with their signatures. It does not read other providers'.
func (c *call) assistant(m *turnv1.Message) []any {
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
	var out []any
	first := true // of the message's calls
	for _, s := range steps {
		var with extras
		if s.With != nil {
			c.thoughts = true
			_ = json.Unmarshal(s.With, &with) // we wrote it
		}
		switch {
		case s.Block != nil:
			out = append(out, s.Block)
		case s.Call != nil:
			if first && with.Signature == nil && c.signs() {
				with.Signature = noSignature
			}
			first = false
			c.ids[s.Call.GetCallId()] = with.ID
			out = append(out, part{Signature: with.Signature, Call: &functionCall{
				ID: with.ID, Name: c.names.Wire(s.Call.GetTool()), Args: provider.ArgumentsObject(s.Call.GetArgumentsJson()),
			}})
		case s.Text != "" || with.Signature != nil:
			p := textPart(s.Text)
			p.Signature = with.Signature
			out = append(out, p)
		}
	}
	return out
}

// result has the images in the result, or beside it for older models.
func (c *call) result(r *turnv1.ToolResult) []any {
	images, text := sheet.ResultParts(r)
	key := "output"
	if r.GetIsError() {
		key = "error"
	}
	made := &functionResponse{ID: c.ids[r.GetCallId()], Name: c.names.Wire(r.GetTool()), Response: map[string]string{key: text}}
	out := []any{part{Response: made}}
	for _, b := range images {
		if c.signs() {
			made.Parts = append(made.Parts, inline(b))
		} else {
			out = append(out, inline(b))
		}
	}
	return out
}
