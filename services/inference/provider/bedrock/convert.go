package bedrock

import (
	"encoding/json"
	"fmt"
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
	Images:    provider.Images{Types: provider.CommonImages(), MaxEdge: 8000, MaxBytes: 3_750_000, MaxCount: 20, InResults: true},
	Documents: provider.Files{Types: []string{provider.PDF}, MaxBytes: 4_500_000},
	Tools:     true, StructuredOutput: true,
}

// maxName is the maximum length of a tool's name.
const maxName = 64

// idForm is that of the ids of calls.
var idForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

var (
	// key is what models take as the name of a property.
	key = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	// Terms are what the models of the API accept in tools: Amazon's refuse other keywords at the top.
	Terms = provider.Terms{Form: &toolschema.Form{Top: []string{"type", "properties", "required"}, Inline: true, MaxDepth: 12, Keys: key}}
	// Claude are those of Anthropic's models.
	Claude = provider.Terms{Form: &toolschema.Form{Keys: key}}
)

var (
	// statuses are models that take the status of a result.
	statuses = regexp.MustCompile(`anthropic\.claude|amazon\.nova`)
	// uncached are those of them that take no cache points.
	uncached = regexp.MustCompile(`claude-(v2|instant|3-haiku|3-sonnet|3-opus|3-5-sonnet)`)
)

// Names of what can be left out if the provider refuses it.
const (
	reasoningField = "reasoningContent"
	cacheField     = "cachePoint"
)

// redactedField is the field of reasoning that the provider does not show.
const redactedField = "redactedContent"

// rules are what the API demands of conversations.
var rules = transcript.Rules{UserFirst: true, Alternate: true}

// call is one request as it is written.
type call struct {
	provider *Provider
	req      provider.Request
	manner   *provider.Manner
	names    *wire.Names
	ids      *wire.IDs
	returned []string // fields that can be left out
	marks    string   // cacheField if there are cache points
	// documents counts those of the conversation.
	documents int

	tools    []provider.Tool
	warnings []string
}

func (p *Provider) newCall(req provider.Request, m *provider.Manner) *call {
	return &call{
		provider: p, req: p.lessons.Prepare(req, m, rules), manner: m, names: wire.NewNames(wire.NameRule{Max: maxName}),
		ids: wire.NewIDs(idForm),
	}
}

// terms returns what the model accepts in tools.
func (c *call) terms() provider.Terms {
	if strings.Contains(c.req.Model, "anthropic.") {
		return Claude
	}
	return Terms
}

// body builds the request.
func (c *call) body() body {
	req := c.req
	if req.CallsNone() { // the API has no such choice
		req.Tools = nil
	}
	c.tools, c.warnings = c.provider.lessons.Tools(req, c.manner, c.names, c.terms())
	out := body{Messages: c.messages(req.Messages)}
	if strings.TrimSpace(req.Instructions) != "" {
		out.System = []any{block{Text: req.Instructions}}
	}
	for _, t := range c.tools {
		made := toolSpec{Name: t.Name, Description: t.Description, Schema: schema{t.Schema}}
		if t.Schema == nil {
			made.Schema.JSON = noParameters
		}
		out.add(made)
	}
	if len(c.tools) == 0 {
		c.former(&out)
	}
	c.generate(&out)
	c.cache(&out)
	return out
}

func (b *body) add(t toolSpec) {
	if b.Tools == nil {
		b.Tools = &tools{}
	}
	b.Tools.Tools = append(b.Tools.Tools, tool{t})
}

// former defines the tools of earlier calls in a request that offers none: the API refuses calls without tools.
func (c *call) former(out *body) {
	known := map[string]bool{}
	for _, m := range c.req.Messages {
		for _, tc := range m.GetToolCalls() {
			if name := c.names.Wire(tc.GetTool()); !known[name] {
				known[name] = true
				out.add(toolSpec{Name: name, Description: "Not available now.", Schema: schema{noParameters}})
			}
		}
	}
}

// cache ends the instructions and the conversation with a cache point: the next request begins with the same.
func (c *call) cache(out *body) {
	if c.manner.Unmarked || !statuses.MatchString(c.req.Model) || uncached.MatchString(c.req.Model) {
		return
	}
	point := block{Cache: &cachePoint{"default"}}
	if out.System != nil {
		out.System = append(out.System, point)
	}
	marked := 0
	for i := len(out.Messages) - 1; i >= 0 && marked < 2; i-- { // that of the request before stays
		if out.Messages[i].Role == "user" {
			out.Messages[i].Content = append(out.Messages[i].Content, point)
			marked++
		}
	}
	c.marks = cacheField
}

// messages builds the conversation. Roles alternate, and all results come right after their calls.
func (c *call) messages(conversation []*turnv1.Message) []message {
	out := make([]message, 0, len(conversation))
	for _, m := range conversation {
		role, blocks := "user", []any(nil)
		switch m.GetRole() {
		case turnv1.Role_ROLE_USER:
			blocks = c.content(m.GetContent())
		case turnv1.Role_ROLE_TOOL:
			blocks = []any{c.result(m.GetToolResult())}
		case turnv1.Role_ROLE_ASSISTANT:
			role, blocks = "assistant", c.assistant(m)
		}
		switch n := len(out) - 1; {
		case len(blocks) == 0:
		case n >= 0 && out[n].Role == role:
			out[n].Content = append(out[n].Content, blocks...)
		default:
			out = append(out, message{role, blocks})
		}
	}
	return out
}

func imageBlock(b *turnv1.Blob) block {
	made := &image{Format: strings.TrimPrefix(b.GetMediaType(), "image/")}
	made.Source.Bytes = b.GetData()
	return block{Image: made}
}

// documentBlock names a document by its number: the API takes few characters in names, and each once.
func documentBlock(b *turnv1.Blob, n int) block {
	made := &document{Format: "pdf", Name: fmt.Sprintf("document %d", n)}
	made.Source.Bytes = b.GetData()
	return block{Document: made}
}

// content builds blocks. It omits blank text, which the API rejects.
func (c *call) content(parts []*turnv1.ContentPart) []any {
	var out []any
	alone := false // a document without a text, which the API rejects
	for _, p := range parts {
		if b := p.GetBlob(); sheet.Images.Has(b) {
			out = append(out, imageBlock(b))
		} else if sheet.Documents.Has(b) {
			c.documents++
			alone = true
			out = append(out, documentBlock(b, c.documents))
		} else if text := provider.PartText(p); strings.TrimSpace(text) != "" {
			out = append(out, block{Text: text})
		}
	}
	if alone && !slices.ContainsFunc(out, func(b any) bool { made, ok := b.(block); return ok && made.Text != "" }) {
		out = append(out, block{Text: "Read the document."})
	}
	return out
}

// assistant has the reasoning only as the provider sent it, with its signatures, and only beside calls: there it is wanted back.
func (c *call) assistant(m *turnv1.Message) []any {
	var steps []provider.Step
	if !c.manner.Plain && len(m.GetToolCalls()) > 0 {
		steps = provider.Steps(m, c.provider.issuer)
	}
	if steps == nil {
		steps = []provider.Step{{Text: provider.Text(m.GetContent())}}
		for _, tc := range m.GetToolCalls() {
			steps = append(steps, provider.Step{Call: tc})
		}
	}
	var out []any
	for _, s := range steps {
		switch {
		case s.Block != nil:
			out = append(out, map[string]any{reasoningField: reasoningOf(s.Block)})
			if !slices.Contains(c.returned, reasoningField) {
				c.returned = append(c.returned, reasoningField)
			}
		case s.Call != nil:
			out = append(out, block{Use: &toolUse{
				ID: c.ids.Call(s.Call), Name: c.names.Wire(s.Call.GetTool()), Input: provider.ArgumentsObject(s.Call.GetArgumentsJson()),
			}})
		case strings.TrimSpace(s.Text) != "":
			out = append(out, block{Text: s.Text})
		}
	}
	return out
}

// reasoningOf returns the content of a block of reasoning.
func reasoningOf(block json.RawMessage) any {
	var fields map[string]json.RawMessage
	if json.Unmarshal(block, &fields) == nil && fields[redactedField] == nil {
		return map[string]json.RawMessage{"reasoningText": block}
	}
	return block
}

// result keeps images; everything else is text.
func (c *call) result(r *turnv1.ToolResult) block {
	made := &toolResult{ID: c.ids.Result(r)}
	images, text := sheet.ResultParts(r)
	for _, b := range images {
		made.Content = append(made.Content, imageBlock(b))
	}
	switch failed := r.GetIsError(); {
	case failed && statuses.MatchString(c.req.Model):
		made.Status = "error"
	case failed:
		text = "Error: " + text
	}
	if strings.TrimSpace(text) != "" {
		made.Content = append(made.Content, block{Text: text})
	}
	return block{Result: made}
}
