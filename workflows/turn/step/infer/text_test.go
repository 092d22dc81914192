package infer_test

import (
	"strings"
	"testing"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step/steptest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

const reactText = turnv1.Strategy_STRATEGY_REACT_TEXT

func TestReactText(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Strategy: reactText, Tools: []string{"*"}, Instructions: "Be kind."}, turntest.Tool("x__echo"))
	w.Model(steptest.Texts("Thought: I must ask.\nAction: x__echo\nAction Input: {\"a\": 1}", "Thought: I know.\nFinal Answer: it is 1"))
	all := w.Walk()
	if got := steptest.Keys(all); got != "begin infer-1 tool-1.0 infer-2 finish" {
		t.Errorf("steps: %s", got)
	}
	first, second := w.Asked()[0], w.Asked()[1]
	if len(first.GetTools()) != 0 || !strings.HasPrefix(first.GetInstructions(), "Be kind.") ||
		!strings.Contains(first.GetInstructions(), "- x__echo: tool x__echo\n") {
		t.Errorf("the model was asked %v", first)
	}
	if got := steptest.LastText(second); got != `Observation: {"a": 1}` || len(second.GetMessages()) != 3 {
		t.Errorf("the model was shown %v", second.GetMessages())
	}
	if got := w.Called()[0]; got.GetArgumentsJson() != `{"a": 1}` || got.GetCallId() != "call_1_0" ||
		got.GetDefinitionHash() != "hash-x__echo" {
		t.Errorf("call = %v", got)
	}
	if done := w.Completed(); steptest.Text(done.GetMessage()) != "it is 1" || done.GetMessage().GetReasoning() != "I know." ||
		done.GetFinishReason() != "stop" {
		t.Errorf("completed = %v", done)
	}
	if all[1].GetFinishReason() != "tool_calls" {
		t.Errorf("outcome = %v", all[1])
	}
}

// TestReactTextForcesNoTool: none is offered to the provider, which refuses such a choice.
func TestReactTextForcesNoTool(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{
		Strategy: reactText, Tools: []string{"*"}, Generation: &turnv1.Generation{ToolChoice: "required", Seed: new(int32(7))},
	}, turntest.Tool("x__echo"))
	w.Model(steptest.Texts("Final Answer: it is 1"))
	w.Walk()
	if g := w.Asked()[0].GetGeneration(); g.GetToolChoice() != "" || g.GetSeed() != 7 {
		t.Errorf("the model was asked with %v", g)
	}
}

// TestReactTextStreams: thoughts are reasoning, the answer alone is the message, and a call looks like any other.
func TestReactTextStreams(t *testing.T) {
	for _, row := range []struct{ name, text, reasoning, message, arguments string }{
		{name: "a call", text: "Thought: I ask now\nAction: x__echo\nAction Input: {}", reasoning: "I ask now", arguments: "x__echo{}"},
		{name: "an answer", text: "Thought: I know it\nFinal Answer: one two\n", reasoning: "I know it", message: "one two"},
		{name: "an answer that does not look like one", text: "one two", reasoning: "one two", message: "one two"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := steptest.New(t, &sessionsv1.Agent{Strategy: reactText, Tools: []string{"*"}}, turntest.Tool("x__echo"))
			ref := w.UpTo(turnv1.StepKind_STEP_KIND_INFER)
			sub := w.Transient()
			w.Model(steptest.Texts(row.text))
			w.Do(ref)
			var reasoning, message, arguments string
			for range w.Completed().GetDeltas() {
				e := w.Next(sub)
				reasoning += e.GetReasoningDelta().GetText()
				message += e.GetMessageDelta().GetText()
				arguments += e.GetToolCallArgumentsDelta().GetTool() + e.GetToolCallArgumentsDelta().GetText()
			}
			if reasoning != row.reasoning || message != row.message || arguments != row.arguments {
				t.Errorf("reasoning %q, message %q, arguments %q", reasoning, message, arguments)
			}
		})
	}
}

func TestReactTextRepairs(t *testing.T) {
	for _, row := range []struct {
		name  string
		model turntest.Generate
		calls int32
		want  string
	}{
		{"once", steptest.Texts("Thought: hm", "Final Answer: yes"), 2, "yes"},
		{"twice", steptest.Texts("", "Action:\nAction Input: {}", "Final Answer: yes"), 3, "yes"},
		{"not for ever", steptest.Texts("Thought: hm"), 3, "hm"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := steptest.New(t, &sessionsv1.Agent{Strategy: reactText})
			w.Model(row.model)
			all := w.Walk()
			if steptest.Keys(all) != "begin infer-1 finish" || all[1].GetUsage().GetModelCalls() != row.calls ||
				all[1].GetUsage().GetInputTokens() != 10*row.calls {
				t.Errorf("steps %s, usage %v", steptest.Keys(all), all[1].GetUsage())
			}
			if got := steptest.Text(w.Completed().GetMessage()); got != row.want {
				t.Errorf("answer %q", got)
			}
			if got := steptest.LastText(w.Asked()[1]); !strings.HasPrefix(got, "Observation: Your last message could not be read.") {
				t.Errorf("repair asks %q", got)
			}
		})
	}
}

func TestReactTextPassesUnknownToolsOn(t *testing.T) {
	w := steptest.New(t, &sessionsv1.Agent{Strategy: reactText, Tools: []string{"*"}}, turntest.Tool("x__echo"))
	w.Model(steptest.Texts("Action: weather\nAction Input: {\"city\": ", "Final Answer: sorry"))
	w.Walk()
	if got := w.Called()[0]; got.GetTool() != "weather" || got.GetDefinitionHash() != "" || got.GetArgumentsJson() != `{"city":` {
		t.Errorf("call = %v", got)
	}
}
