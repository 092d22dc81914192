package input

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/schema"
	"github.com/windlass-dev/windlass/libs/truncate"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Tools checks the tools that a caller runs.
func (c Checker) Tools(ctx context.Context, tools []*store.ClientTool) error {
	size := 0
	for _, tool := range tools {
		size += proto.Size(tool)
	}
	if err := c.Size("tools", size); err != nil {
		return err
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
			return err
		}
		if message := schemaFault(tool); message != "" {
			wrong = append(wrong, fault.Field{Path: at + ".input_schema", Message: message})
		}
	}
	if len(wrong) > 0 {
		return fault.InvalidFields(wrong)
	}
	return nil
}

// schemaFault says why a tool's schema cannot be used, "" when it can.
func schemaFault(tool *store.ClientTool) string {
	if tool.GetInputSchema() == nil {
		return ""
	}
	if _, err := schema.Compile(canon.StructJSON(tool.GetInputSchema())); err != nil {
		return "is no JSON Schema that can be used: " + truncate.Line(err.Error(), 300)
	}
	if kind, ok := tool.GetInputSchema().GetFields()["type"]; ok && kind.GetStringValue() != "object" {
		return `must describe an object: "type": "object"`
	}
	return ""
}
