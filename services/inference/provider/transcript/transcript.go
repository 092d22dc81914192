// Package transcript makes a conversation valid for the API that reads it. Conversations are stored as they happened: calls without
// results after a crash, results whose calls were compacted, empty messages, messages of other providers. An API refuses the whole request
// because of one of them, and every later request of the session too. What is stored does not change.
package transcript

import (
	"fmt"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/toolresult"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Rules are what an API demands of a conversation, beside the rules that are kept for all: each call has one result, right behind its
// message and in the order of the calls; ids are unique within a message; no message is empty; the last one is not the assistant's.
type Rules struct {
	// UserFirst means that the first message is the user's.
	UserFirst bool
	// Alternate means that no two messages of the user, and no two of the assistant, follow each other.
	Alternate bool
	// AnswerFirst means that the assistant answers between results and the user's next message.
	AnswerFirst bool
}

// What is said where something is missing.
const (
	noResult = "There is no result: the call did not finish."
	noCall   = "The result of an earlier call of %s:"
	noText   = "(empty message)"
	goOn     = "Continue."
	noAnswer = "(The answer was interrupted.)"
	earlier  = "(The conversation began earlier.)"
)

// Valid returns the messages of a conversation as the rules demand. It changes no message; those that are valid are returned themselves.
// The messages of a longer conversation begin with those of a shorter one, unless a result or an answer was late.
func Valid(messages []*turnv1.Message, rules Rules) []*turnv1.Message {
	h := history{rules: rules, out: make([]*turnv1.Message, 0, len(messages)+1)}
	pairs := paired(messages)
	for i, m := range messages {
		switch m.GetRole() {
		case turnv1.Role_ROLE_USER:
			h.user(m)
		case turnv1.Role_ROLE_ASSISTANT:
			h.assistant(m, pairs.results[m])
		case turnv1.Role_ROLE_TOOL:
			if !pairs.claimed[i] {
				h.user(withoutCall(m.GetToolResult()))
			}
		}
	}
	return h.end()
}

// history is a conversation being written.
type history struct {
	rules Rules
	out   []*turnv1.Message
}

// last returns the role of the last message.
func (h *history) last() turnv1.Role {
	if len(h.out) == 0 {
		return turnv1.Role_ROLE_UNSPECIFIED
	}
	return h.out[len(h.out)-1].GetRole()
}

func (h *history) user(m *turnv1.Message) {
	if m.GetRole() == turnv1.Role_ROLE_UNSPECIFIED {
		return
	}
	if !visible(m.GetContent()) {
		m = says(noText)
	}
	if h.rules.Alternate && h.last() == turnv1.Role_ROLE_USER {
		before := h.out[len(h.out)-1]
		h.out[len(h.out)-1] = &turnv1.Message{
			Role: turnv1.Role_ROLE_USER, Content: slices.Concat(before.GetContent(), m.GetContent()),
		}
		return
	}
	if h.rules.AnswerFirst && h.last() == turnv1.Role_ROLE_TOOL {
		h.out = append(h.out, &turnv1.Message{Role: turnv1.Role_ROLE_ASSISTANT, Content: []*turnv1.ContentPart{textPart(noAnswer)}})
	}
	h.out = append(h.out, m)
}

func (h *history) assistant(m *turnv1.Message, results []*turnv1.ToolResult) {
	calls := m.GetToolCalls()
	if len(calls) == 0 && !visible(m.GetContent()) {
		return
	}
	switch {
	case len(h.out) == 0 && h.rules.UserFirst:
		h.out = append(h.out, says(earlier))
	case h.rules.Alternate && h.last() == turnv1.Role_ROLE_ASSISTANT:
		h.out = append(h.out, says(goOn))
	}
	ids := unique(calls)
	h.out = append(h.out, withIDs(m, ids))
	for i, c := range calls {
		var r *turnv1.ToolResult
		if i < len(results) {
			r = results[i]
		}
		h.out = append(h.out, &turnv1.Message{Role: turnv1.Role_ROLE_TOOL, ToolResult: resultOf(c, ids[i], r)})
	}
}

// end completes the conversation.
func (h *history) end() []*turnv1.Message {
	switch h.last() {
	case turnv1.Role_ROLE_UNSPECIFIED, turnv1.Role_ROLE_ASSISTANT:
		h.out = append(h.out, says(goOn))
	}
	return h.out
}

// says returns a message of the user.
func says(text string) *turnv1.Message {
	return &turnv1.Message{Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{textPart(text)}}
}

func textPart(text string) *turnv1.ContentPart {
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: text}}
}

// visible reports whether parts have something to show.
func visible(content []*turnv1.ContentPart) bool {
	return slices.ContainsFunc(content, func(p *turnv1.ContentPart) bool {
		switch v := p.GetPart().(type) {
		case *turnv1.ContentPart_Text:
			return strings.TrimSpace(v.Text) != ""
		case *turnv1.ContentPart_Blob, *turnv1.ContentPart_File, *turnv1.ContentPart_Link:
			return true
		}
		return false
	})
}

// withoutCall returns the result of a call that the conversation does not have, as a message of the user.
func withoutCall(r *turnv1.ToolResult) *turnv1.Message {
	m := says(fmt.Sprintf(noCall, r.GetTool()))
	m.Content = append(m.Content, r.GetContent()...)
	if data := toolresult.Unsaid(r); data != "" {
		m.Content = append(m.Content, textPart(data))
	}
	return m
}

// unique returns the ids of calls, each once.
func unique(calls []*turnv1.ToolCall) []string {
	ids, used := make([]string, len(calls)), map[string]bool{}
	for i, c := range calls {
		ids[i] = c.GetCallId()
		for n := 1; used[ids[i]]; n++ {
			ids[i] = fmt.Sprintf("%s~%d", c.GetCallId(), n)
		}
		used[ids[i]] = true
	}
	return ids
}

// withIDs returns a message whose calls have the ids: the message itself if they have.
func withIDs(m *turnv1.Message, ids []string) *turnv1.Message {
	same := true
	for i, c := range m.GetToolCalls() {
		same = same && c.GetCallId() == ids[i]
	}
	if same {
		return m
	}
	out := &turnv1.Message{
		Role: m.GetRole(), Content: m.GetContent(), Reasoning: m.GetReasoning(), Model: m.GetModel(), Verbatim: m.GetVerbatim(),
	}
	for i, c := range m.GetToolCalls() {
		out.ToolCalls = append(out.ToolCalls, &turnv1.ToolCall{CallId: ids[i], Tool: c.GetTool(), ArgumentsJson: c.GetArgumentsJson()})
	}
	return out
}

// resultOf returns the result of a call, with the call's id and tool.
func resultOf(c *turnv1.ToolCall, id string, r *turnv1.ToolResult) *turnv1.ToolResult {
	switch {
	case r == nil:
		return &turnv1.ToolResult{CallId: id, Tool: c.GetTool(), IsError: true, Content: []*turnv1.ContentPart{textPart(noResult)}}
	case r.GetCallId() == id && r.GetTool() == c.GetTool():
		return r
	}
	return &turnv1.ToolResult{
		CallId: id, Tool: c.GetTool(), Content: r.GetContent(), StructuredContent: r.GetStructuredContent(), IsError: r.GetIsError(),
		Truncated: r.GetTruncated(), ArtifactIds: r.GetArtifactIds(),
	}
}
