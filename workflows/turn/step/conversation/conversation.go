// Package conversation reads conversations and makes the parts of them that a step needs.
package conversation

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Dialogue returns what was said in a conversation, without tool calls and their results.
func Dialogue(messages []*turnv1.Message) []*turnv1.Message {
	out := make([]*turnv1.Message, 0, len(messages))
	for _, m := range messages {
		switch {
		case m.GetRole() == turnv1.Role_ROLE_TOOL, len(m.GetContent()) == 0:
		case len(m.GetToolCalls()) > 0:
			out = append(out, &turnv1.Message{Role: m.GetRole(), TurnId: m.GetTurnId(), Content: m.GetContent()})
		default:
			out = append(out, m)
		}
	}
	return out
}

// Asked returns the conversation up to the request of a turn, without what the turn has done so far.
func Asked(messages []*turnv1.Message, turnID string) []*turnv1.Message {
	var out []*turnv1.Message
	for _, m := range messages {
		if m.GetTurnId() != turnID || m.GetRole() == turnv1.Role_ROLE_USER {
			out = append(out, m)
		}
	}
	return out
}

// Query returns the text of a turn's request.
func Query(messages []*turnv1.Message, turnID string) string {
	var texts []string
	for _, m := range messages {
		if m.GetTurnId() == turnID && m.GetRole() == turnv1.Role_ROLE_USER {
			texts = append(texts, Text(m))
		}
	}
	return strings.Join(texts, "\n")
}

// Text returns the texts of a message, each on lines of its own.
func Text(m *turnv1.Message) string {
	var texts []string
	for _, part := range m.GetContent() {
		if part.GetText() != "" {
			texts = append(texts, part.GetText())
		}
	}
	return strings.Join(texts, "\n")
}

// Find returns the message with an id, nil if there is none.
func Find(messages []*turnv1.Message, id string) *turnv1.Message {
	i := slices.IndexFunc(messages, func(m *turnv1.Message) bool { return id != "" && m.GetId() == id })
	if i < 0 {
		return nil
	}
	return messages[i]
}

// Adopted returns the conversation of a re-run with what it took over as its own: the messages after its request. The journal names them
// after the turn that is run again, which keeps its calls apart from the new ones. Other turns have only messages of their own there.
func Adopted(messages []*turnv1.Message, turnID string) []*turnv1.Message {
	var out []*turnv1.Message
	began := false
	for i, m := range messages {
		foreign := began && m.GetTurnId() != turnID && m.GetTurnId() != ""
		began = began || m.GetTurnId() == turnID
		if foreign && out == nil {
			out = slices.Clone(messages)
		}
		if foreign {
			m = proto.CloneOf(m)
			m.TurnId, out[i] = turnID, m
		}
	}
	if out == nil {
		return messages
	}
	return out
}
