package scripted_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/scripted"
)

// FuzzGenerate feeds any message and schema: there is always an answer or a fault, free text gives valid arguments, and the same message
// gives the same answer.
func FuzzGenerate(f *testing.F) {
	f.Add(`call:x {"a":1} then say:"b" think:c`, `{"properties":{"a":{"type":["null","string"]}},"required":["a"]}`)
	f.Add("What is (19 + 23) * 2? Use the tool.", `{"properties":{"expression":{"type":"string"}},"required":["expression"]}`)
	f.Add("Remember: a, b; c = 5 'd'",
		`{"properties":{"n":{"type":"integer"},"l":{"type":"array","items":{"type":"string"}}},"required":["n","l"]}`)
	model, err := scripted.Kind{}.New(provider.Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, message, schema string) {
		if strings.Contains(message, "slow:") || strings.Contains(message, "first:") || strings.Contains(message, "tokens:") ||
			strings.Contains(message, "once") {
			return // these take time, space or a second attempt
		}
		req := provider.Request{
			Messages: []*turnv1.Message{{
				Role:    turnv1.Role_ROLE_USER,
				Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: message}}},
			}},
			Tools: []*inferencev1.ToolDefinition{{Name: "calculator__evaluate", Description: "Remember what the tool is.", InputSchemaJson: schema}},
		}
		said, arguments := play(t, model, req)
		if again, same := play(t, model, req); again != said || same != arguments {
			t.Errorf("%q %q, then %q %q", said, arguments, again, same)
		}
		if arguments != "" && !strings.Contains(message, "call:") && !json.Valid([]byte(arguments)) {
			t.Errorf("arguments %q", arguments)
		}
	})
}

// play returns what the model says and the arguments of its calls.
func play(t *testing.T, model provider.Provider, req provider.Request) (said, arguments string) {
	t.Helper()
	_, err := model.Generate(t.Context(), req, func(d provider.Delta) error {
		said += d.Reasoning + d.Text
		if d.Call != nil {
			said += d.Call.Tool
			arguments += d.Call.Arguments
		}
		return nil
	})
	if err != nil && fault.As(err) == nil {
		t.Fatal(err)
	}
	return said, arguments
}
