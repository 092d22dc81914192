package executor_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	executorv1 "github.com/windlass-dev/windlass/proto/gen/windlass/executor/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
	"github.com/windlass-dev/windlass/workflows/turn/executor"
)

const reference = "../../../docs/reference"

// described checks a line against the published schema.
func described(t *testing.T, line []byte) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(line)))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(reference, "executor-protocol.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s: %v", line, err)
	}
}

func TestRequestsAreAsDescribed(t *testing.T) {
	temperature := 0.5
	result := &turnv1.ToolResult{
		CallId: "a", Tool: "t__x", Content: executiontest.Text("42"), StructuredContent: structpb.NewNumberValue(42), IsError: true,
	}
	image := &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: "image/png", Data: []byte{1}}}}
	said := &turnv1.Message{Role: turnv1.Role_ROLE_USER, Content: append(executiontest.Text("two\nlines"), image)}
	for name, req := range map[string]*executorv1.RunRequest{
		"invocation": {Request: &executorv1.RunRequest_Invocation{Invocation: &executorv1.Invocation{
			Schema: executor.Schema, Mode: executorv1.Mode_MODE_RESUME, InvocationId: "i", Attempt: 2, SessionId: "s", TurnId: "t",
			ExecutorSessionId: "mine",
			Deadline:          timestamppb.Now(), Tenant: "default", Subject: "local", Input: []*turnv1.Message{said},
			ToolResults: []*turnv1.ToolResult{result},
			Agent: &executorv1.AgentSpec{Id: "a", Revision: 1, Temperature: &temperature, Tools: []*executorv1.ToolSpec{
				{Name: "t__x", InputSchemaJson: "{\n  \"type\": \"object\"\n}"}, {Name: "t__y"},
			}},
			Conversation: []*turnv1.Message{
				said,
				{Role: turnv1.Role_ROLE_ASSISTANT, ToolCalls: []*turnv1.ToolCall{{CallId: "a", Tool: "t__x", ArgumentsJson: `{"n":1`}}},
				{Role: turnv1.Role_ROLE_TOOL, ToolResult: result},
			}, ConversationTruncated: true,
		}}},
		"empty invocation": {Request: &executorv1.RunRequest_Invocation{Invocation: &executorv1.Invocation{Schema: executor.Schema, Attempt: 1}}},
		"tool_result":      {Request: &executorv1.RunRequest_ToolResult{ToolResult: result}},
		"input":            {Request: &executorv1.RunRequest_Input{Input: said}},
		"continue":         {Request: &executorv1.RunRequest_Continue{Continue: &executorv1.Continue{InvocationId: "i", Attempt: 1}}},
	} {
		line, err := executor.Encode(req)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if strings.Contains(string(line), "\n") {
			t.Errorf("%s is more than one line: %s", name, line)
		}
		described(t, line)
	}
	if _, err := executor.Encode(&executorv1.RunRequest{}); err == nil {
		t.Error("an empty request was encoded")
	}
}

// TestThePageShowsWhatIsSpoken reads the examples of the reference.
func TestThePageShowsWhatIsSpoken(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(reference, "executor-protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(raw), "```json\n")[1:]
	for _, block := range blocks {
		line, _, _ := strings.Cut(block, "```")
		described(t, []byte(line))
	}
	if len(blocks) < 4 {
		t.Errorf("the page has %d examples", len(blocks))
	}
}

func FuzzDecode(f *testing.F) {
	for _, line := range []string{
		`{"type":"session","executor_session_id":"x"}`, `{"type":"text.delta","text":"a\u0000"}`,
		`{"type":"tool_call","id":"a","name":"t","arguments":{"n":1}}`,
		`{"type":"tool_call","name":"t","arguments":"{\"n\":1}"}`, `{"type":"usage","input_tokens":1e99,"output_tokens":-1}`,
		`{"type":"answer","text":"x"}`,
		`{"type":"error","code":"c","retryable":true,"retry_after_ms":5}`, `{"type":"end","stay":true}`,
		"{\"type\":\"answer\",\"text\":\"\xff\"}", "", "[]", `{"type":1}`, `{"type":"new"}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := executor.Decode(line)
		if err != nil || e == nil {
			return
		}
		if c := e.GetToolCall(); c != nil && c.GetArgumentsJson() == "" && json.Valid(line) {
			var said struct{ Arguments any }
			if json.Unmarshal(line, &said) == nil && said.Arguments != "" {
				t.Errorf("a call without arguments from %q", line)
			}
		}
		if u := e.GetUsage(); u.GetInputTokens() < 0 || u.GetOutputTokens() < 0 {
			t.Errorf("usage %v from %q", u, line)
		}
	})
}
