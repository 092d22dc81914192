package sessions

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/schema"
	"github.com/windlass-dev/windlass/libs/truncate"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
)

// checkClientTools refuses tools of a client that cannot be used, and gives them as they are stored; nil for none.
func (s *Service) checkClientTools(ctx context.Context, tools []*sessionsv1.ClientTool) ([]byte, error) {
	if len(tools) == 0 {
		return nil, nil
	}
	data, err := proto.Marshal(&executionv1.LoadTurnResponse{ClientTools: tools})
	if err != nil {
		return nil, fmt.Errorf("client tools: %w", err)
	}
	if len(data) > s.cfg.MaxInputBytes {
		return nil, tooLarge("tools", len(data), s.cfg.MaxInputBytes)
	}
	var wrong []fault.Field
	seen := map[string]bool{}
	for i, tool := range tools {
		at := fmt.Sprintf("tools[%d]", i)
		if seen[tool.GetName()] {
			wrong = append(wrong, fault.Field{Path: at + ".name", Message: fmt.Sprintf("%q is given twice", tool.GetName())})
		}
		seen[tool.GetName()] = true
		if !access.Storable(tool.GetDescription()) {
			wrong = append(wrong, fault.Field{Path: at + ".description", Message: "must not contain NUL"})
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if message := schemaFault(tool); message != "" {
			wrong = append(wrong, fault.Field{Path: at + ".input_schema", Message: message})
		}
	}
	if len(wrong) > 0 {
		return nil, fault.InvalidFields(wrong)
	}
	return data, nil
}

// schemaFault says why a tool's schema cannot be used, "" when it can.
func schemaFault(tool *sessionsv1.ClientTool) string {
	if tool.GetInputSchema() == nil {
		return ""
	}
	text, err := protojson.Marshal(tool.GetInputSchema())
	if err == nil {
		_, err = schema.Compile(text)
	}
	if err != nil {
		return "is no JSON Schema that can be used: " + truncate.Line(err.Error(), 300)
	}
	if kind, ok := tool.GetInputSchema().GetFields()["type"]; ok && kind.GetStringValue() != "object" {
		return `must describe an object: "type": "object"`
	}
	return ""
}
