package builtin

import (
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
)

// askState marks the question of ask_user, of which there is one per call.
var askState = []byte("ask_user")

// ask asks the question on the first call, and returns the answer as its result when the call comes again with it.
func ask(r *source.Request) (source.Reply, error) {
	if r.Answer != nil {
		return answered(r.Answer)
	}
	if !r.CanAsk {
		return source.Reply{}, source.Unsent(fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_INPUT_REQUIRED,
			"the tool asks the user something, and this call cannot wait for the answer").Hint("Have an agent call it in a turn."))
	}
	question, _ := r.Arguments["question"].(string) // the schema has checked the type
	schema, err := json.Marshal(answerSchema(r.Arguments))
	if err != nil {
		return source.Reply{}, source.Unsent(fault.Internal(fmt.Errorf("schema of an answer: %w", err)))
	}
	return source.Reply{Input: &registryv1.InputRequired{Message: question, SchemaJson: string(schema), State: askState}}, nil
}

// answerSchema returns the schema of a form with the one field "answer", unless the call has its own.
func answerSchema(args map[string]any) any {
	if own, ok := args["schema"]; ok {
		return own
	}
	answer := map[string]any{"type": "string"}
	if options, ok := args["options"]; ok {
		answer["enum"] = options
	}
	return map[string]any{
		"type": "object", "properties": map[string]any{"answer": answer}, "required": []string{"answer"},
		"additionalProperties": false,
	}
}

func answered(a *registryv1.InputAnswer) (source.Reply, error) {
	switch a.GetAction() {
	case "accept":
	case "decline":
		return source.Reply{Result: source.Text("The user does not want to answer.", true)}, nil
	default:
		return source.Reply{Result: source.Text("The user did not answer.", true)}, nil
	}
	content := a.GetContent()
	if content == nil {
		content = &structpb.Struct{}
	}
	result := &turnv1.ToolResult{StructuredContent: structpb.NewStructValue(content)}
	if only, ok := content.GetFields()["answer"].GetKind().(*structpb.Value_StringValue); ok && len(content.GetFields()) == 1 {
		result.Content = source.Text(only.StringValue, false).GetContent()
		return source.Reply{Result: result}, nil
	}
	result.Content = source.Text(string(canon.StructJSON(content)), false).GetContent()
	return source.Reply{Result: result}, nil
}
