package reacttext

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/libs/toolresult"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

const protocol = `
Answer in exactly this form, each label at the beginning of a line:

Thought: what you think and what to do next
Action: the name of one tool of the list below
Action Input: its arguments as one JSON object

Then stop. The user's next message gives you the result as "Observation: …". Think and act again as often as you need. Write one
Action at a time, and never write an Observation yourself. When you know the answer, or need no tool, write instead:

Thought: why this is the answer
Final Answer: the answer for the user
`

// Instructions puts the protocol and the tools behind an agent's instructions.
func Instructions(own string, tools []*inferencev1.ToolDefinition) string {
	var b strings.Builder
	if strings.TrimSpace(own) != "" {
		b.WriteString(own + "\n\n")
	}
	b.WriteString(contract.MarkReactText + protocol + "\nTools:\n")
	for _, t := range tools {
		b.WriteString(contract.ToolPrefix + t.GetName() + ": " + strings.Join(strings.Fields(t.GetDescription()), " ") + "\n" +
			contract.SchemaPrefix + oneLine(t.GetInputSchemaJson()) + "\n")
	}
	if len(tools) == 0 {
		b.WriteString("(none: write the Final Answer)\n")
	}
	return b.String()
}

func oneLine(schema string) string {
	var v json.RawMessage
	if json.Unmarshal([]byte(schema), &v) == nil {
		if out, err := json.Marshal(v); err == nil { // compact
			return string(out)
		}
	}
	return strings.Join(strings.Fields(schema), " ")
}

// Conversation writes tool calls and results as the protocol's text, so that a model which knows neither can read it.
func Conversation(messages []*turnv1.Message) []*turnv1.Message {
	out := make([]*turnv1.Message, 0, len(messages))
	observed := false // the last one is ours and holds observations
	for _, m := range messages {
		switch m.GetRole() {
		case turnv1.Role_ROLE_ASSISTANT:
			if text := said(m); text != "" {
				out = append(out, Text(turnv1.Role_ROLE_ASSISTANT, text))
			}
		case turnv1.Role_ROLE_TOOL:
			text := Observation(m.GetToolResult())
			if observed {
				text = out[len(out)-1].GetContent()[0].GetText() + "\n" + text
				out = out[:len(out)-1]
			}
			out = append(out, Text(turnv1.Role_ROLE_USER, text))
			observed = true
			continue
		default:
			out = append(out, m)
		}
		observed = false
	}
	return out
}

// said writes what the model said.
func said(m *turnv1.Message) string {
	text := partsText(m.GetContent())
	if len(m.GetToolCalls()) == 0 {
		if text == "" {
			return ""
		}
		return "Final Answer: " + text
	}
	var lines []string
	if thoughts := strings.TrimSpace(m.GetReasoning() + "\n" + text); thoughts != "" {
		lines = append(lines, "Thought: "+thoughts)
	}
	for _, c := range m.GetToolCalls() {
		lines = append(lines, "Action: "+c.GetTool(), "Action Input: "+c.GetArgumentsJson())
	}
	return strings.Join(lines, "\n")
}

// Observation writes a tool's result.
func Observation(r *turnv1.ToolResult) string {
	text := strings.TrimSpace(partsText(r.GetContent()) + "\n" + toolresult.Unsaid(r))
	if text == "" {
		text = "(the tool answered nothing)"
	}
	prefix := "Observation: "
	if r.GetIsError() {
		prefix += "Error: "
	}
	if r.GetTruncated() {
		text += "\n(cut: the result was longer)"
	}
	return prefix + text
}

// Repair is the observation that asks for a text that can be read.
func Repair(problem string) string {
	return "Observation: Your last message could not be read. " + problem +
		` Write either "Action:" and "Action Input:" lines, or a "Final Answer:".`
}

func partsText(parts []*turnv1.ContentPart) string {
	var texts []string
	for _, p := range parts {
		switch v := p.GetPart().(type) {
		case *turnv1.ContentPart_Text:
			texts = append(texts, v.Text)
		case *turnv1.ContentPart_Blob:
			texts = append(texts, fmt.Sprintf("[%s, %d bytes: cannot be shown here]", v.Blob.GetMediaType(), len(v.Blob.GetData())))
		case *turnv1.ContentPart_File:
			texts = append(texts, fmt.Sprintf("[file %s: %s, %d bytes: cannot be shown here]", v.File.GetName(), v.File.GetMediaType(),
				v.File.GetSize()))
		case *turnv1.ContentPart_Link:
			texts = append(texts, strings.TrimSpace(v.Link.GetName()+" "+v.Link.GetUri()))
		}
	}
	return strings.TrimSpace(strings.Join(texts, "\n"))
}

// Text makes a message of text.
func Text(role turnv1.Role, text string) *turnv1.Message {
	return &turnv1.Message{Role: role, Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}}}
}
