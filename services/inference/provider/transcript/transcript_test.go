package transcript_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider/transcript"
)

// message reads a short form: "u text", "a text", "a text | id:tool id:tool", "r id text".
func message(text string) *turnv1.Message {
	kind, rest, _ := strings.Cut(text, " ")
	content := func(text string) []*turnv1.ContentPart {
		if text == "" {
			return nil
		}
		return []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}}
	}
	switch kind {
	case "a":
		says, calls, _ := strings.Cut(rest, "| ")
		m := &turnv1.Message{Role: turnv1.Role_ROLE_ASSISTANT, Content: content(strings.TrimSpace(says))}
		for c := range strings.FieldsSeq(calls) {
			id, tool, _ := strings.Cut(c, ":")
			m.ToolCalls = append(m.ToolCalls, &turnv1.ToolCall{CallId: id, Tool: tool, ArgumentsJson: "{}"})
		}
		return m
	case "r":
		id, says, _ := strings.Cut(rest, " ")
		return &turnv1.Message{Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{CallId: id, Tool: "t", Content: content(says)}}
	}
	return &turnv1.Message{Role: turnv1.Role_ROLE_USER, Content: content(rest)}
}

// short is the other way round.
func short(m *turnv1.Message) string {
	text := func(parts []*turnv1.ContentPart) string {
		var texts []string
		for _, p := range parts {
			texts = append(texts, p.GetText())
		}
		return strings.Join(texts, "+")
	}
	switch m.GetRole() {
	case turnv1.Role_ROLE_ASSISTANT:
		out := "a " + text(m.GetContent())
		if len(m.GetToolCalls()) > 0 {
			out += " |"
		}
		for _, c := range m.GetToolCalls() {
			out += " " + c.GetCallId() + ":" + c.GetTool()
		}
		return strings.ReplaceAll(out, "  ", " ")
	case turnv1.Role_ROLE_TOOL:
		return "r " + m.GetToolResult().GetCallId() + " " + text(m.GetToolResult().GetContent())
	}
	return "u " + text(m.GetContent())
}

var strict = transcript.Rules{UserFirst: true, Alternate: true}

func TestConversationsBecomeValid(t *testing.T) {
	const none = "There is no result: the call did not finish."
	for _, row := range []struct {
		name      string
		rules     transcript.Rules
		have, out []string
	}{
		{name: "a good one", have: []string{"u hi", "a | 1:t", "r 1 ok", "a done", "u more"}},
		{name: "a call without a result", have: []string{"u hi", "a | 1:t", "u more"}, out: []string{"u hi", "a | 1:t", "r 1 " + none, "u more"}},
		{
			name: "one of two", have: []string{"u hi", "a | 1:t 2:t", "r 2 ok", "u more"},
			out: []string{"u hi", "a | 1:t 2:t", "r 1 " + none, "r 2 ok", "u more"},
		},
		{
			name: "results in another order", have: []string{"u hi", "a | 1:t 2:t", "r 2 b", "r 1 a"},
			out: []string{"u hi", "a | 1:t 2:t", "r 1 a", "r 2 b"},
		},
		{
			name: "a result behind the user's message", have: []string{"u hi", "a | 1:t", "u wait", "r 1 ok", "u go"},
			out: []string{"u hi", "a | 1:t", "r 1 ok", "u wait", "u go"},
		},
		{
			name: "a result without its call", have: []string{"r 9 ok", "u hi"},
			out: []string{"u The result of an earlier call of t:+ok", "u hi"},
		},
		{
			name: "two results of a call", have: []string{"u hi", "a | 1:t", "r 1 a", "r 1 b", "u more"},
			out: []string{"u hi", "a | 1:t", "r 1 a", "u The result of an earlier call of t:+b", "u more"},
		},
		{
			name: "an id twice in a message", have: []string{"u hi", "a | 1:t 1:t", "r 1 a", "r 1 b"},
			out: []string{"u hi", "a | 1:t 1~1:t", "r 1 a", "r 1~1 b"},
		},
		{
			name: "an id in two messages", have: []string{"u hi", "a | 1:t", "r 1 a", "a | 1:t", "r 1 b"},
		},
		{
			name: "the newest call of an id", have: []string{"u hi", "a | 1:t", "u stop", "a | 1:t", "r 1 b"},
			out: []string{"u hi", "a | 1:t", "r 1 " + none, "u stop", "a | 1:t", "r 1 b"},
		},
		{name: "a result with another tool", have: []string{"u hi", "a | 1:other", "r 1 a"}},
		{name: "an empty answer", have: []string{"u hi", "a ", "u more"}, out: []string{"u hi", "u more"}},
		{name: "an empty message", have: []string{"u hi", "a ok", "u  "}, out: []string{"u hi", "a ok", "u (empty message)"}},
		{name: "the assistant last", have: []string{"u hi", "a ok"}, out: []string{"u hi", "a ok", "u Continue."}},
		{name: "nothing", out: []string{"u Continue."}},
		{
			name: "the assistant first", rules: strict, have: []string{"a hello", "u hi"},
			out: []string{"u (The conversation began earlier.)", "a hello", "u hi"},
		},
		{name: "the assistant first, where that is allowed", have: []string{"a hello", "u hi"}},
		{
			name: "a cut in the middle of a step", rules: strict, have: []string{"r 1 ok", "a | 2:t", "r 2 ok"},
			out: []string{"u The result of an earlier call of t:+ok", "a | 2:t", "r 2 ok"},
		},
		{name: "two of the user", rules: strict, have: []string{"u a", "u b", "u c"}, out: []string{"u a+b+c"}},
		{
			name: "two of the assistant", rules: strict, have: []string{"u a", "a b", "a c", "u d"},
			out: []string{"u a", "a b", "u Continue.", "a c", "u d"},
		},
		{
			name: "a message behind a result", rules: transcript.Rules{AnswerFirst: true}, have: []string{"u a", "a | 1:t", "r 1 ok", "u b"},
			out: []string{"u a", "a | 1:t", "r 1 ok", "a (The answer was interrupted.)", "u b"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			var messages, before []*turnv1.Message
			for _, text := range row.have {
				messages = append(messages, message(text))
				before = append(before, proto.CloneOf(messages[len(messages)-1]))
			}
			got := shorts(transcript.Valid(messages, row.rules))
			want := row.out
			if want == nil {
				want = row.have
			}
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			for i, m := range messages {
				if !proto.Equal(m, before[i]) {
					t.Errorf("message %d was changed: %v", i, m)
				}
			}
		})
	}
}

func shorts(messages []*turnv1.Message) []string {
	out := make([]string, 0, len(messages))
	for _, m := range messages {
		out = append(out, short(m))
	}
	return out
}

// TestAnyConversationBecomesValid: whatever happened, each call has one result right behind it, nothing is empty, and it is valid again.
func TestAnyConversationBecomesValid(t *testing.T) {
	forms := []string{"u hi", "u ", "a ok", "a ", "a | 1:t", "a x | 1:t 2:t", "a | 1:t 1:t", "a | :t", "r 1 a", "r 2 b", "r 9 c", "r  d"}
	rapid.Check(t, func(t *rapid.T) {
		var messages []*turnv1.Message
		for _, form := range rapid.SliceOfN(rapid.SampledFrom(forms), 0, 12).Draw(t, "messages") {
			messages = append(messages, message(form))
		}
		for _, rules := range []transcript.Rules{{}, strict, {Alternate: true}, {Alternate: true, AnswerFirst: true}} {
			got := transcript.Valid(messages, rules)
			if wrong := fault(got, rules); wrong != "" {
				t.Fatalf("%s in\n%s\nof\n%s", wrong, strings.Join(shorts(got), "\n"), strings.Join(shorts(messages), "\n"))
			}
			again := transcript.Valid(got, rules)
			if strings.Join(shorts(again), "\n") != strings.Join(shorts(got), "\n") {
				t.Fatalf("a valid conversation changes:\n%s\nto\n%s", strings.Join(shorts(got), "\n"), strings.Join(shorts(again), "\n"))
			}
		}
	})
}

// fault says what is wrong with a conversation.
func fault(messages []*turnv1.Message, rules transcript.Rules) string {
	var open []string
	before := turnv1.Role_ROLE_UNSPECIFIED
	for i, m := range messages {
		role := m.GetRole()
		if role == turnv1.Role_ROLE_TOOL {
			if len(open) == 0 || open[0] != m.GetToolResult().GetCallId() {
				return fmt.Sprintf("%d: the result of no open call", i)
			}
			open = open[1:]
			before = role
			continue
		}
		switch {
		case len(open) > 0:
			return fmt.Sprintf("%d: calls without results", i)
		case len(m.GetContent()) == 0 && len(m.GetToolCalls()) == 0:
			return fmt.Sprintf("%d: empty", i)
		case rules.Alternate && role == before:
			return fmt.Sprintf("%d: two in a row", i)
		case rules.UserFirst && i == 0 && role != turnv1.Role_ROLE_USER:
			return "the first is not the user's"
		case rules.AnswerFirst && before == turnv1.Role_ROLE_TOOL && role == turnv1.Role_ROLE_USER:
			return fmt.Sprintf("%d: the user behind a result", i)
		}
		seen := map[string]bool{}
		for _, c := range m.GetToolCalls() {
			if seen[c.GetCallId()] {
				return fmt.Sprintf("%d: an id twice", i)
			}
			seen[c.GetCallId()] = true
			open = append(open, c.GetCallId())
		}
		before = role
	}
	if len(open) > 0 || before == turnv1.Role_ROLE_ASSISTANT || len(messages) == 0 {
		return "the assistant is last"
	}
	return ""
}
