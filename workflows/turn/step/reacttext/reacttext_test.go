package reacttext_test

import (
	"strings"
	"testing"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step/reacttext"
)

var tools = []*inferencev1.ToolDefinition{
	{
		Name: "calc__evaluate", Description: "Compute.",
		InputSchemaJson: `{"properties":{"expression":{"type":"string"}},"required":["expression"]}`,
	},
	{Name: "notes__list", Description: "List\nnotes.", InputSchemaJson: `{"properties":{"limit":{"type":"integer"},"tag":{"type":"string"}}}`},
	{Name: "k8s__scale", InputSchemaJson: `{"properties":{"replicas":{"type":"integer"}},"required":["replicas"]}`},
}

// TestParse has texts as models write them. An action is shown as "name arguments" after resolving.
func TestParse(t *testing.T) {
	for _, row := range []struct {
		name, text                     string
		thought, action, final, broken string
	}{
		{
			name: "as it should be", thought: "I need the sum.", action: `calc__evaluate {"expression":"1+1"}`,
			text: "Thought: I need the sum.\nAction: calc__evaluate\nAction Input: {\"expression\":\"1+1\"}",
		},
		{name: "a final answer", text: "Thought: easy\nFinal Answer: 2", thought: "easy", final: "2"},
		{
			name: "an answer of several lines", text: "Final Answer: one\n\nAction: is part of it\ntwo\n",
			final: "one\n\nAction: is part of it\ntwo",
		},
		{name: "a bold answer", text: "Final Answer: **Yes**, it is.", final: "**Yes**, it is."},
		{name: "no label at all", text: "The sum is 2.", final: "The sum is 2."},
		{
			name: "lower case", text: "thought: t\naction: calc__evaluate\naction input: {\"expression\":\"1\"}", thought: "t",
			action: `calc__evaluate {"expression":"1"}`,
		},
		{
			name: "bold labels", text: "**Thought:** t\n**Action:** `calc__evaluate`\n**Action Input:** {\"expression\":\"1\"}", thought: "t",
			action: `calc__evaluate {"expression":"1"}`,
		},
		{
			name: "a heading and an underscore", text: "## Thought: t\nAction: calc__evaluate\nAction_Input: {\"expression\":\"1\"}", thought: "t",
			action: `calc__evaluate {"expression":"1"}`,
		},
		{
			name: "input in a fence", text: "Action: calc__evaluate\nAction Input:\n```json\n{\n \"expression\": \"1\"\n}\n```",
			action: "calc__evaluate {\n \"expression\": \"1\"\n}",
		},
		{
			name: "all in a fence", text: "```\nThought: t\nAction: calc__evaluate\nAction Input: {\"expression\":\"1\"}\n```", thought: "t",
			action: `calc__evaluate {"expression":"1"}`,
		},
		{name: "an answer in a fence", text: "```\nThought: t\nFinal Answer: 2\n```", thought: "t", final: "2"},
		{name: "bare input", text: "Action: calc__evaluate\nAction Input: 2 * 3", action: `calc__evaluate {"expression":"2 * 3"}`},
		{name: "quoted input", text: "Action: calc__evaluate\nAction Input: \"2 * 3\"", action: `calc__evaluate {"expression":"2 * 3"}`},
		{name: "single quotes", text: "Action: calc__evaluate\nAction Input: '2 * 3'", action: `calc__evaluate {"expression":"2 * 3"}`},
		{
			name: "a quoted object", text: `Action: calc__evaluate` + "\n" + `Action Input: "{\"expression\":\"1\"}"`,
			action: `calc__evaluate {"expression":"1"}`,
		},
		{
			name: "an object of Python", text: "Action: notes__list\nAction Input: {'limit': 3, 'tag': None}",
			action: `notes__list {"limit": 3, "tag": null}`,
		},
		{name: "a last comma", text: "Action: notes__list\nAction Input: {\"limit\": 3,}", action: `notes__list {"limit": 3}`},
		{name: "a bare number", text: "Action: k8s__scale\nAction Input: 3", action: `k8s__scale {"replicas":3}`},
		{name: "a number for a text", text: "Action: calc__evaluate\nAction Input: 42", action: `calc__evaluate {"expression":"42"}`},
		{name: "key=value", text: "Action: notes__list\nAction Input: limit=5", action: `notes__list {"limit":5}`},
		{name: "no input", text: "Thought: t\nAction: notes__list", thought: "t", action: `notes__list {}`},
		{name: "input none", text: "Action: notes__list\nAction Input: None", action: `notes__list {}`},
		{
			name: "text behind the object", text: "Action: notes__list\nAction Input: {\"limit\":1} and then we wait",
			action: `notes__list {"limit":1}`,
		},
		{name: "broken JSON goes on to the mesh", text: "Action: notes__list\nAction Input: {\"limit\": ", action: `notes__list {"limit":`},
		{name: "like a function", text: "Action: evaluate(2 * 3)", action: `calc__evaluate {"expression":"2 * 3"}`},
		{name: "like the paper", text: "Action: evaluate[2 * 3]", action: `calc__evaluate {"expression":"2 * 3"}`},
		{
			name: "input on the action's line", text: "Action: calc__evaluate Action Input: {\"expression\":\"1\"}",
			action: `calc__evaluate {"expression":"1"}`,
		},
		{
			name: "object on the action's line", text: "Action: calc__evaluate with {\"expression\":\"1\"}",
			action: `calc__evaluate {"expression":"1"}`,
		},
		{
			name: "all on one line", text: "Thought: go. Action: calc__evaluate Action Input: {\"expression\":\"1\"}", thought: "go.",
			action: `calc__evaluate {"expression":"1"}`,
		},
		{name: "answer on the thought's line", text: "Thought: I know it. Final Answer: 2", thought: "I know it.", final: "2"},
		{
			name: "a JSON action", text: "Action:\n```json\n{\"action\": \"calc__evaluate\", \"action_input\": {\"expression\":\"1\"}}\n```",
			action: `calc__evaluate {"expression":"1"}`,
		},
		{
			name: "nothing but a JSON action", text: "```json\n{\"action\": \"evaluate\", \"action_input\": \"1\"}\n```",
			action: `calc__evaluate {"expression":"1"}`,
		},
		{
			name: "several actions: the first", action: `notes__list {"limit":1}`,
			text: "Action: notes__list\nAction Input: {\"limit\":1}\nAction: calc__evaluate\nAction Input: 1",
		},
		{
			name: "made-up results and answer", thought: "t", action: `notes__list {}`,
			text: "Thought: t\nAction: notes__list\nAction Input: {}\nObservation: none\nThought: so\nFinal Answer: none",
		},
		{name: "a wide colon", text: "Thought：t\nFinal Answer：2", thought: "t", final: "2"},
		{name: "windows lines", text: "Thought: t\r\nAction: notes__list\r\nAction Input: {}\r\n", thought: "t", action: `notes__list {}`},
		{name: "answer instead of final answer", text: "Thought: t\nAnswer: 2", thought: "t", final: "2"},
		{name: "final answer as an action", text: "Action: Final Answer\nAction Input: \"2\"", final: "2"},
		{name: "finish as an action", text: "Action: Finish[2]", final: "2"},
		{name: "no action, then the answer", text: "Thought: t\nAction: None\nAction Input: none\nFinal Answer: 2", thought: "t", final: "2"},
		{
			name: "a sentence as action", text: "Action: I will use the calc__evaluate tool\nAction Input: 1",
			action: `calc__evaluate {"expression":"1"}`,
		},
		{name: "other case and separators", text: "Action: Calc.Evaluate\nAction Input: 1", action: `calc__evaluate {"expression":"1"}`},
		{name: "an unknown tool", text: "Action: weather\nAction Input: {\"city\":\"Oslo\"}", action: `weather {"city":"Oslo"}`},
		{name: "words before the first label", text: "Sure!\nAction: notes__list\nAction Input: {}", thought: "Sure!", action: `notes__list {}`},
		{name: "two thoughts", text: "Thought: a\nThought: b\nFinal Answer: c", thought: "a\nb", final: "c"},
		{name: "nothing", text: " \n", broken: "empty"},
		{name: "only a thought", text: "Thought: hm", thought: "hm", broken: "neither"},
		{name: "an action without a name", text: "Action:\nAction Input: {}", broken: "names no tool"},
		{name: "input without an action", text: "Action Input: {}", broken: "no Action line"},
		{name: "only a made-up result", text: "Observation: 3", broken: "neither"},
		{name: "an empty answer", text: "Final Answer:", broken: "neither"},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := reacttext.Parse(row.text)
			got := ""
			if a.Tool != "" {
				tool := reacttext.Resolve(a.Tool, tools)
				got = tool.GetName() + " " + reacttext.Arguments(a.Input, tool.GetInputSchemaJson())
			}
			if got != row.action || a.Final != row.final || a.Thought != row.thought {
				t.Errorf("action %q, final %q, thought %q", got, a.Final, a.Thought)
			}
			if (row.broken == "") != (a.Problem == "") || !strings.Contains(a.Problem, row.broken) {
				t.Errorf("problem %q", a.Problem)
			}
		})
	}
}

// TestSplitter: what is said as it comes is what Parse finds in the end, wherever the pieces are cut.
func TestSplitter(t *testing.T) {
	for _, row := range []struct{ name, text, think, say string }{
		{"thought and action", "Thought: I need it.\nAction: x\nAction Input: {}\n", "I need it.", ""},
		{"thought and answer", "Thought: easy\nFinal Answer:  one\n\n two \n", "easy", "one\n\n two"},
		{"bold, lower case", "**thought:** easy\n**final answer:** yes: no", "easy", "yes: no"},
		{"a bold answer", "Final Answer: **Yes** it is", "", "**Yes** it is"},
		{"an empty answer", "Thought: a\nFinal Answer:", "a", ""},
		{"labels inside the answer", "Final Answer: a\nThought: b", "", "a\nThought: b"},
		{"made-up results", "Thought: a\nAction: x\nObservation: 1\nFinal Answer: 2", "a", ""},
		{"words like labels", "Thought: Act on\nThinking: more\nFinally\nFinal Answer: x", "Act on\nThinking: more\nFinally", "x"},
		{"a beginning of a label at the end", "Thought: a\nFinal", "a\nFinal", ""},
		{"no label", "just words", "just words", ""},
		{"wide colon", "Thought：a\nFinal Answer：b", "a", "b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			for size := 1; size <= len(row.text); size++ {
				var think, say strings.Builder
				s := reacttext.Splitter{Think: func(p string) { think.WriteString(p) }, Say: func(p string) { say.WriteString(p) }}
				for text := row.text; text != ""; {
					n := min(size, len(text))
					s.Add(text[:n])
					text = text[n:]
				}
				s.Close()
				if think.String() != row.think || say.String() != row.say {
					t.Fatalf("pieces of %d: think %q, say %q", size, think.String(), say.String())
				}
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("Thought: t\nAction: calc__evaluate(1\nAction Input: {'a")
	f.Add("Action: Finish[\nAction Input: \"")
	f.Add("```json\n{\"action\": \"x\"}")
	f.Fuzz(func(t *testing.T, text string) {
		a := reacttext.Parse(text)
		if (a.Tool != "") == (a.Final != "" || a.Problem != "") && a.Tool != "" {
			t.Errorf("%q is %+v", text, a)
		}
		if a.Tool == "" && a.Final == "" && a.Problem == "" {
			t.Errorf("%q says nothing", text)
		}
		tool := reacttext.Resolve(a.Tool, tools)
		if reacttext.Arguments(a.Input, tool.GetInputSchemaJson()) == "" {
			t.Errorf("%q has no arguments", text)
		}
		said := ""
		s := reacttext.Splitter{Think: func(string) {}, Say: func(p string) { said += p }}
		s.Add(text)
		s.Close()
		_ = reacttext.Salvage(text)
	})
}

func TestConversation(t *testing.T) {
	call := &turnv1.Message{
		Role: turnv1.Role_ROLE_ASSISTANT, Reasoning: "hm",
		ToolCalls: []*turnv1.ToolCall{{Tool: "a__b", ArgumentsJson: `{"x":1}`}, {Tool: "a__c", ArgumentsJson: `{}`}},
	}
	result := func(text string, bad bool) *turnv1.Message {
		m := reacttext.Text(turnv1.Role_ROLE_TOOL, text)
		return &turnv1.Message{Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{Content: m.GetContent(), IsError: bad}}
	}
	var lines []string
	for _, m := range reacttext.Conversation([]*turnv1.Message{
		reacttext.Text(turnv1.Role_ROLE_USER, "go"), call, result("one", false), result("two", true),
		reacttext.Text(turnv1.Role_ROLE_ASSISTANT, "done"),
		{Role: turnv1.Role_ROLE_ASSISTANT},
	}) {
		if m.GetToolResult() != nil || len(m.GetToolCalls()) > 0 {
			t.Errorf("not text: %v", m)
		}
		lines = append(lines, strings.ToLower(m.GetRole().String()[5:6])+" "+m.GetContent()[0].GetText())
	}
	want := "u go\na Thought: hm\nAction: a__b\nAction Input: {\"x\":1}\nAction: a__c\nAction Input: {}\n" +
		"u Observation: one\nObservation: Error: two\na Final Answer: done"
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if text := reacttext.Instructions("Be kind.", tools); !strings.HasPrefix(text, "Be kind.\n\n") ||
		!strings.Contains(text, "- notes__list: List notes.\n  input schema: {") {
		t.Errorf("instructions: %s", text)
	}
}
