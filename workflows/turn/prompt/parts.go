package prompt

import (
	"cmp"
	"strings"

	"github.com/windlass-dev/windlass/libs/mediatext"
	"github.com/windlass-dev/windlass/libs/tokens"
	"github.com/windlass-dev/windlass/libs/toolresult"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/passage"
	"github.com/windlass-dev/windlass/workflows/turn/step/conversation"
	"github.com/windlass-dev/windlass/workflows/turn/step/infer"
)

type (
	part   = sessionsv1.ContextPart
	origin = sessionsv1.ContextOrigin
)

// engineName is the name of instructions that the engine writes.
const engineName = "engine"

// parts returns the parts of a request in the order in which a model reads them. history is the conversation that it was made of.
func parts(loaded *executionv1.LoadTurnResponse, req infer.Request, history []*turnv1.Message) []*part {
	out := instructions(loaded, req)
	for _, t := range req.GetTools() {
		text := strings.TrimPrefix(t.GetDescription()+"\n"+t.GetInputSchemaJson(), "\n")
		out = append(out, &part{
			Kind: sessionsv1.ContextPartKind_CONTEXT_PART_KIND_TOOLS, Name: t.GetName(), Text: text,
			Tokens: estimate(t.GetName()) + estimate(t.GetDescription()) + estimate(t.GetInputSchemaJson()),
			Origin: &origin{DefinitionHash: definitionHash(loaded, t.GetName())},
		})
	}
	for _, m := range req.GetMessages() {
		out = append(out, message(m)...)
		if passage.IsTool(m.GetToolResult().GetTool()) {
			out = append(out, citations(conversation.Find(history, m.GetId()))...)
		}
	}
	return out
}

func estimate(text string) int64 { return int64(tokens.Text(text)) }

// definitionHash returns the hash of the definition of a tool or a sub-agent that a turn has pinned.
func definitionHash(loaded *executionv1.LoadTurnResponse, name string) string {
	for _, t := range loaded.GetTools() {
		if t.GetName() == name {
			return t.GetDefinitionHash()
		}
	}
	for _, t := range loaded.GetAgentTools() {
		if t.GetName() == name {
			return t.GetDefinitionHash()
		}
	}
	return ""
}

// instructions splits the instructions of a request into the agent's, the facts, and what the engine adds before, between and behind them.
func instructions(loaded *executionv1.LoadTurnResponse, req infer.Request) []*part {
	var out []*part
	add := func(name, text string, from *origin) {
		if text = strings.Trim(text, "\n"); text != "" {
			out = append(out, &part{
				Kind: sessionsv1.ContextPartKind_CONTEXT_PART_KIND_SYSTEM, Name: name, Text: text, Tokens: estimate(text), Origin: from,
			})
		}
	}
	before, rest, found := strings.Cut(req.GetInstructions(), req.Own)
	if req.Own != "" && found {
		add(engineName, before, nil)
		add("", req.Own, &origin{BlueprintRevision: loaded.GetSurface().GetBlueprintRevision()})
	} else {
		rest = req.GetInstructions()
	}
	if memory := contract.MemoryPrompt(req.Facts); memory != "" {
		if before, after, found := strings.Cut(rest, memory); found {
			add(engineName, before, nil)
			out = append(out, facts(memory, req)...)
			rest = after
		}
	}
	add(engineName, rest, nil)
	return out
}

// facts are the parts of the facts in instructions: what the engine says of them, then each.
func facts(text string, req infer.Request) []*part {
	head, _, _ := strings.Cut(text, "\n"+contract.ToolPrefix)
	out := []*part{{
		Kind: sessionsv1.ContextPartKind_CONTEXT_PART_KIND_MEMORY, Name: engineName, Text: head, Tokens: estimate(head),
	}}
	for _, f := range req.Facts {
		line := contract.LineOf(f)
		out = append(out, &part{
			Kind: sessionsv1.ContextPartKind_CONTEXT_PART_KIND_MEMORY, Name: f.GetEntity(), Text: line, Tokens: estimate(line),
			Origin: &origin{FactId: f.GetId()},
		})
	}
	return out
}

// message returns the parts of a message: its texts as one, content of other kinds, then its calls. Together they have the tokens of the
// message.
func message(m *turnv1.Message) []*part {
	r := m.GetToolResult()
	kind, content := sessionsv1.ContextPartKind_CONTEXT_PART_KIND_MESSAGE, m.GetContent()
	if r != nil {
		kind, content = sessionsv1.ContextPartKind_CONTEXT_PART_KIND_TOOL_RESULT, r.GetContent()
	}
	made := func(p *part) *part {
		p.Kind, p.Role = kind, m.GetRole()
		from := &origin{MessageId: m.GetId(), Seq: m.GetSeq(), TurnId: m.GetTurnId(), CallId: r.GetCallId()}
		if p.GetOrigin() != nil {
			from.CallId, from.FileId = cmp.Or(p.GetOrigin().GetCallId(), from.GetCallId()), p.GetOrigin().GetFileId()
		}
		p.Origin = from
		return p
	}
	var texts []string
	var others []*part
	for _, c := range content {
		if text, ok := textOf(c); ok {
			texts = append(texts, text)
		} else {
			others = append(others, made(other(c)))
		}
	}
	if unsaid := toolresult.Unsaid(r); unsaid != "" {
		texts = append(texts, unsaid)
	}
	for _, call := range m.GetToolCalls() {
		others = append(others, made(&part{
			Name: call.GetTool(), Text: call.GetArgumentsJson(), Origin: &origin{CallId: call.GetCallId()},
			Tokens: int64(tokens.Message(&turnv1.Message{ToolCalls: []*turnv1.ToolCall{call}}) - tokens.PerMessage),
		}))
	}
	rest := int64(tokens.Message(m))
	for _, p := range others {
		rest -= p.GetTokens()
	}
	if len(texts) > 0 || len(others) == 0 {
		text := made(&part{Name: r.GetTool(), Text: strings.Join(texts, "\n"), Tokens: rest})
		return append([]*part{text}, others...)
	}
	others[0].Tokens += rest
	return others
}

// textOf returns what a model reads of content as text, and whether it does.
func textOf(c *turnv1.ContentPart) (string, bool) {
	switch p := c.GetPart().(type) {
	case *turnv1.ContentPart_Text:
		return p.Text, true
	case *turnv1.ContentPart_Link:
		return strings.TrimSpace(p.Link.GetName() + " " + p.Link.GetUri()), true
	case *turnv1.ContentPart_Blob:
		return mediatext.Of(p.Blob.GetMediaType(), p.Blob.GetData())
	case *turnv1.ContentPart_Resource:
		return p.Resource.GetText(), p.Resource.GetText() != ""
	}
	return "", false
}

// other returns the part of content that is not text.
func other(c *turnv1.ContentPart) *part {
	p := &part{Tokens: int64(tokens.Message(&turnv1.Message{Content: []*turnv1.ContentPart{c}}) - tokens.PerMessage)}
	switch content := c.GetPart().(type) {
	case *turnv1.ContentPart_Blob:
		p.Name, p.MediaType, p.Size = content.Blob.GetName(), content.Blob.GetMediaType(), int64(len(content.Blob.GetData()))
	case *turnv1.ContentPart_File:
		p.Name, p.MediaType, p.Size = content.File.GetName(), content.File.GetMediaType(), content.File.GetSize()
		p.Origin = &origin{FileId: content.File.GetFileId()}
	}
	return p
}

// citations are the passages that the result of a call has.
func citations(m *turnv1.Message) []*part {
	if m == nil {
		return nil
	}
	var out []*part
	for _, p := range passage.Of(m.GetToolResult()) {
		out = append(out, &part{
			Kind: sessionsv1.ContextPartKind_CONTEXT_PART_KIND_CITATION, Name: p.Name, Text: p.Quote,
			Origin: &origin{
				MessageId: m.GetId(), Seq: m.GetSeq(), TurnId: m.GetTurnId(), CallId: m.GetToolResult().GetCallId(), BankId: p.Bank,
				DocumentId: p.Document, DocumentVersion: p.Version,
			},
		})
	}
	return out
}
