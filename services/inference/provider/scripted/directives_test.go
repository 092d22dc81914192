package scripted_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// exampleTools are the tools of the examples, as the mesh shows them to a model.
func exampleTools() []*inferencev1.ToolDefinition {
	return []*inferencev1.ToolDefinition{
		{
			Name: "calculator__convert",
			Description: "Convert a value from one unit to another of the same quantity. Units: m, km, mi, kg, lb, C, F. " +
				`Common English names such as "miles" or "celsius" are understood too.`,
			InputSchemaJson: `{"type":"object","properties":{"value":{"type":"number","description":"the number to convert"},
				"from":{"type":"string","description":"unit of the value, for example km, lb or C"},
				"to":{"type":"string","description":"wanted unit, for example mi, kg or F"}},"required":["value","from","to"]}`,
		},
		{
			Name: "calculator__evaluate",
			Description: "Compute an arithmetic expression exactly and return the number. Use it for any calculation instead of computing " +
				"yourself. Supports + - * / % ^ (power), parentheses, decimals such as 0.1 or 1.5e3, and the functions sqrt(x), abs(x), " +
				"min(a, b, ...), max(a, b, ...), round(x) and round(x, decimal_places). No variables, no thousands separators, no units " +
				"(see convert). Errors name the position in the expression.",
			InputSchemaJson: `{"type":"object","properties":{"expression":{"type":"string",
				"description":"arithmetic expression, for example (2 + 3) * 4 or round(sqrt(2), 3)"}},"required":["expression"],"additionalProperties":false}`,
		},
		{
			Name:            "calculator__health_check",
			Description:     "Report whether this tool server works. For operators and monitoring; not needed to answer a user.",
			InputSchemaJson: `{"type":"object"}`,
		},
		{
			Name:        "notes__create",
			Description: "Store a new note that outlives this conversation. Each call makes another note. Returns it with its id.",
			InputSchemaJson: `{"type":"object","properties":{"title":{"type":"string","description":"short title, at most 200 characters"},
				"text":{"type":"string","description":"what to remember, in full"},
				"tags":{"type":"array","items":{"type":"string"},"description":"labels to find the note by"}},"required":["title","text"]}`,
		},
		{
			Name:            "notes__delete",
			Description:     "Delete one stored note for good. Deleting a note that is gone already is not an error.",
			InputSchemaJson: `{"type":"object","properties":{"id":{"type":"string","description":"id of the note"}},"required":["id"]}`,
		},
		{
			Name:        "notes__list",
			Description: "List the stored notes, the newest first, with the beginning of their text. Use search when you know a word.",
			InputSchemaJson: `{"type":"object","properties":{"tag":{"type":"string","description":"only notes with this tag"},
				"limit":{"type":"integer","description":"at most this many, 20 by default, 100 at most"}}}`,
		},
		{
			Name:            "notes__read",
			Description:     "Read one stored note in full.",
			InputSchemaJson: `{"type":"object","properties":{"id":{"type":"string","description":"id of the note"}},"required":["id"]}`,
		},
		{
			Name:        "notes__search",
			Description: "Find stored notes by words in their title, text or tags, the newest first.",
			InputSchemaJson: `{"type":"object","properties":{"query":{"type":"string","description":"words that must all occur"},
				"limit":{"type":"integer"}},"required":["query"]}`,
		},
	}
}

// converse plays a turn to its end: each call gets the result that answer gives.
func converse(t *testing.T, client inferencev1.InferenceServiceClient, req *inferencev1.GenerateRequest,
	answer func(*turnv1.ToolCall) string,
) (steps []inferencetest.Answer) {
	t.Helper()
	req = proto.CloneOf(req)
	for len(steps) < 50 {
		got, err := inferencetest.Ask(t.Context(), t, client, req)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, got)
		if got.Finished.GetFinishReason() != "tool_calls" {
			return steps
		}
		req.Messages = append(req.Messages, &turnv1.Message{Role: turnv1.Role_ROLE_ASSISTANT, ToolCalls: got.Finished.GetToolCalls()})
		for _, c := range got.Finished.GetToolCalls() {
			req.Messages = append(req.Messages, inferencetest.Called(answer(c), c)[1])
		}
	}
	t.Fatal("the turn does not end")
	return nil
}

// calls writes the calls of a step as "tool arguments".
func calls(g inferencetest.Answer) (out []string) {
	for _, c := range g.Finished.GetToolCalls() {
		out = append(out, c.GetTool()+" "+c.GetArgumentsJson())
	}
	return out
}

func TestScriptedFollowsDirectives(t *testing.T) {
	client := inferencetest.Serve(t, inferencetest.Config(), nil)
	for _, row := range []struct {
		name, message string
		steps         [][]string // calls of each model step but the last
		text, think   string     // of the last step
		finish        string     // "" = stop
	}{
		{name: "say", message: "say:Hello there, friend.", text: "Hello there, friend."},
		{name: "say quoted", message: `say:"two  spaces, then call:x and \"quotes\"" trailing`, text: `two  spaces, then call:x and "quotes"`},
		{name: "two says", message: "say:a b tokens:2", text: "a b w1 w2"},
		{name: "tokens", message: "tokens:3", text: "w1 w2 w3"},
		{
			name: "a call by its suffix", message: `call:evaluate {"expression": "1+1"}`,
			steps: [][]string{{`calculator__evaluate {"expression": "1+1"}`}}, text: "calculator__evaluate answered: result.",
		},
		{
			name: "a call by its whole name, with a final answer", message: `call:notes__list say:that is all`,
			steps: [][]string{{`notes__list {}`}}, text: "that is all",
		},
		{
			name: "parallel calls", message: `Please call:evaluate {"expression":"1"} and call:list {"limit":3} say:ok`,
			steps: [][]string{{`calculator__evaluate {"expression":"1"}`, `notes__list {"limit":3}`}}, text: "ok",
		},
		{
			name: "stages", message: `call:list then call:read {"id":"n1"} then say:both done`,
			steps: [][]string{{"notes__list {}"}, {`notes__read {"id":"n1"}`}}, text: "both done",
		},
		{
			name: "a loop that counts", message: `loop:3 call:evaluate {"expression":"$n*2","x":"$name"} say:x`,
			steps: [][]string{
				{`calculator__evaluate {"expression":"1*2","x":"$name"}`},
				{`calculator__evaluate {"expression":"2*2","x":"$name"}`},
				{`calculator__evaluate {"expression":"3*2","x":"$name"}`},
			}, text: "x",
		},
		{
			name: "a loop and then another stage", message: "call:list loop:2 then call:health_check",
			steps: [][]string{{"notes__list {}"}, {"notes__list {}"}, {"calculator__health_check {}"}},
			text:  "notes__list answered: result.\nnotes__list answered: result.\ncalculator__health_check answered: result.",
		},
		{name: "a tool that is not there", message: "call:gone {}", steps: [][]string{{"gone {}"}}, text: "gone answered: result."},
		{
			name: "arguments that are no JSON", message: `call:read {"id": oops then say:fine`,
			steps: [][]string{{`notes__read {"id": oops`}}, text: "fine",
		},
		{
			name: "nested arguments", message: `call:x {"a":{"b":"} then say:no"}} say:yes`, steps: [][]string{{`x {"a":{"b":"} then say:no"}}`}},
			text: "yes",
		},
		{name: "thoughts", message: "think:let me see say:hi", think: "let me see", text: "hi"},
		{name: "length", message: "tokens:2 finish:length", text: "w1 w2", finish: "length"},
		{name: "content filter", message: "finish:content_filter say:no", text: "no", finish: "content_filter"},
		{name: "several lines", message: "call:list\nsay:über\nzwei Zeilen", steps: [][]string{{"notes__list {}"}}, text: "über\nzwei Zeilen"},
		{name: "pauses", message: "first:1 slow:1 say:a b c", text: "a b c"},
	} {
		t.Run(row.name, func(t *testing.T) {
			req := &inferencev1.GenerateRequest{Messages: []*turnv1.Message{inferencetest.User(row.message)}, Tools: exampleTools()}
			steps := converse(t, client, req, func(*turnv1.ToolCall) string { return "result" })
			var got [][]string
			for _, s := range steps[:len(steps)-1] {
				got = append(got, calls(s))
			}
			last := steps[len(steps)-1].Finished
			if !slices.EqualFunc(got, row.steps, slices.Equal[[]string]) {
				t.Errorf("calls %q, want %q", got, row.steps)
			}
			if last.GetFinishReason() != cmp.Or(row.finish, "stop") {
				t.Errorf("finish reason %q", last.GetFinishReason())
			}
			if last.GetText() != row.text || last.GetReasoning() != row.think {
				t.Errorf("said %q, thought %q", last.GetText(), last.GetReasoning())
			}
			if !last.GetUsageEstimated() || last.GetModel() != "builtin/scripted" {
				t.Errorf("estimated %t, model %q", last.GetUsageEstimated(), last.GetModel())
			}
		})
	}
}

func TestScriptedStreamsWords(t *testing.T) {
	client := inferencetest.Serve(t, inferencetest.Config(), nil)
	got, err := inferencetest.Ask(t.Context(), t, client, &inferencev1.GenerateRequest{
		Messages: []*turnv1.Message{inferencetest.User("tokens:5")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Texts, []string{"w1 ", "w2 ", "w3 ", "w4 ", "w5"}) {
		t.Errorf("deltas %q", got.Texts)
	}
}

func TestScriptedPicksATool(t *testing.T) {
	client := inferencetest.Serve(t, inferencetest.Config(), nil)
	for _, row := range []struct {
		message string
		call    string // "" = none
		says    string // part of the answer where there is no call
	}{
		{message: "What is (19 + 23) * 2? Use the calculator.", call: `calculator__evaluate {"expression":"(19 + 23) * 2"}`},
		{message: "what's 6 times 7", call: `calculator__evaluate {"expression":"6 * 7"}`},
		{message: "Please compute sqrt(2) + 1.", call: `calculator__evaluate {"expression":"sqrt(2) + 1"}`},
		{message: "Calculate 12/4", call: `calculator__evaluate {"expression":"12/4"}`},
		{message: "Remember a note: buy milk", call: `notes__create {"text":"buy milk","title":"buy milk"}`},
		{message: "Save a note with title: Shopping, text: milk and eggs", call: `notes__create {"text":"milk and eggs","title":"Shopping"}`},
		{message: `Make a note "call Ada tomorrow"`, call: `notes__create {"text":"call Ada tomorrow","title":"call Ada tomorrow"}`},
		{message: "List my notes", call: "notes__list {}"},
		{message: "Which notes do I have? limit: 5", call: `notes__list {"limit":5}`},
		{message: "Search my notes for milk", call: `notes__search {"query":"milk"}`},
		{message: "Find the note about the dentist.", call: `notes__search {"query":"the dentist"}`},
		{message: "Read note note-42", call: `notes__read {"id":"note-42"}`},
		{message: "Delete the note n_17 please", call: `notes__delete {"id":"n_17"}`},
		{message: "Convert 98.6 F to C", call: `calculator__convert {"from":"F","to":"C","value":98.6}`},
		{message: "Delete a note", says: "cannot find its argument id"},
		{message: "Hello, how are you today?", says: "not an AI"},
		{message: "Tell me a joke", says: "notes__create"},
	} {
		t.Run(row.message, func(t *testing.T) {
			got, err := inferencetest.Ask(t.Context(), t, client, &inferencev1.GenerateRequest{
				Messages: []*turnv1.Message{inferencetest.User(row.message)},
				Tools:    exampleTools(),
			})
			if err != nil {
				t.Fatal(err)
			}
			if c := strings.Join(calls(got), "; "); c != row.call {
				t.Errorf("calls %q, want %q; says %q", c, row.call, got.Finished.GetText())
			}
			if !strings.Contains(got.Finished.GetText(), row.says) {
				t.Errorf("says %q", got.Finished.GetText())
			}
		})
	}
}

func TestScriptedAnswersWithTheResult(t *testing.T) {
	req := &inferencev1.GenerateRequest{Tools: exampleTools(), Messages: []*turnv1.Message{
		inferencetest.User("say:an older turn"),
		{Role: turnv1.Role_ROLE_ASSISTANT, Content: []*turnv1.ContentPart{inferencetest.Text("an older turn")}},
		inferencetest.User("What is (19 + 23) * 2? Use the calculator."),
	}}
	client := inferencetest.Serve(t, inferencetest.Config(), nil)
	steps := converse(t, client, req, func(*turnv1.ToolCall) string { return "(19 + 23) * 2 = 84" })
	if len(steps) != 2 {
		t.Fatalf("%d model steps, want 2", len(steps))
	}
	if text := steps[1].Finished.GetText(); text != "calculator__evaluate answered: (19 + 23) * 2 = 84." {
		t.Errorf("says %q", text)
	}
}

func TestScriptedFails(t *testing.T) {
	client := inferencetest.Serve(t, inferencetest.Config(), nil)
	for _, row := range []struct {
		message string
		code    codes.Code
		reason  faultv1.Reason
	}{
		{"fail:always say:x", codes.FailedPrecondition, faultv1.Reason_REASON_MODEL_REJECTED},
		{"loop:1001 call:x", codes.FailedPrecondition, faultv1.Reason_REASON_MODEL_REJECTED},
		{"tokens:99999999999999999999", codes.FailedPrecondition, faultv1.Reason_REASON_MODEL_REJECTED},
	} {
		req := &inferencev1.GenerateRequest{Messages: []*turnv1.Message{inferencetest.User(row.message)}}
		_, err := inferencetest.Ask(t.Context(), t, client, req)
		if f := fault.From(err); f == nil || f.Code != row.code || f.Reason != row.reason {
			t.Errorf("%s: %v", row.message, err)
		}
	}
	for _, step := range []string{"infer-1", "infer-2", ""} {
		req := &inferencev1.GenerateRequest{TurnId: "trn_1", Step: step, Messages: []*turnv1.Message{inferencetest.User("fail:once say:here")}}
		_, err := inferencetest.Ask(t.Context(), t, client, req)
		if fault.ReasonOf(err) != faultv1.Reason_REASON_MODEL_UNAVAILABLE || !fault.Retryable(err) {
			t.Errorf("first attempt of %q: %v", step, err)
		}
		got, err := inferencetest.Ask(t.Context(), t, client, req)
		if err != nil || got.Finished.GetText() != "here" {
			t.Errorf("second attempt of %q: %v, %v", step, got.Finished, err)
		}
	}
}

func TestScriptedKeepsToItsLimit(t *testing.T) {
	client := inferencetest.Serve(t, inferencetest.Config(), nil)
	for _, tt := range []struct {
		tokens         int32
		finish, answer string
	}{
		{tokens: 0, finish: "stop", answer: "w1 w2 w3 w4 w5"},
		{tokens: 10, finish: "stop", answer: "w1 w2 w3 w4 w5"},
		{tokens: 4, finish: "length", answer: "w1 w2 "},
	} {
		got, err := inferencetest.Ask(t.Context(), t, client, &inferencev1.GenerateRequest{
			Messages:        []*turnv1.Message{inferencetest.User("tokens:5")},
			MaxOutputTokens: tt.tokens,
		})
		if err != nil {
			t.Fatal(err)
		}
		if f := got.Finished; f.GetFinishReason() != tt.finish || f.GetText() != tt.answer ||
			tt.tokens > 0 && f.GetUsage().GetOutputTokens() > tt.tokens {
			t.Errorf("at most %d tokens: %v", tt.tokens, f)
		}
	}
}
