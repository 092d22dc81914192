package rpc

import (
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// TestRulesAreFoundAtAnyDepth compares with a validator that visits everything.
func TestRulesAreFoundAtAnyDepth(t *testing.T) {
	link := &turnv1.ContentPart{Part: &turnv1.ContentPart_Link{Link: &turnv1.ResourceLink{Uri: strings.Repeat("x", 5000)}}}
	for name, m := range map[string]proto.Message{
		"content": &executionv1.CommitStepRequest{TurnId: "t", Outcome: &turnv1.StepOutcome{}, Messages: []*turnv1.Message{
			{Content: []*turnv1.ContentPart{link}},
		}},
		"a result": &executionv1.CommitStepRequest{TurnId: "t", Outcome: &turnv1.StepOutcome{}, Messages: []*turnv1.Message{
			{ToolResult: &turnv1.ToolResult{Content: []*turnv1.ContentPart{link}}},
		}},
		"an event": &executionv1.AppendEventsRequest{TurnId: "t", Step: "s", Events: []*turnv1.Event{
			{Data: &turnv1.Event_ToolCallCompleted{ToolCallCompleted: &turnv1.ToolCallCompleted{
				Result: &turnv1.ToolResult{Content: []*turnv1.ContentPart{link}},
			}}},
		}},
		"a field": &executionv1.ClaimStepRequest{},
	} {
		bad, err := Violations(protovalidate.GlobalValidator, m)
		if err != nil || len(bad) == 0 {
			t.Errorf("%s passes: %v", name, err)
		}
		if protovalidate.Validate(m) == nil {
			t.Errorf("%s has no violation", name)
		}
	}
}

func TestWhatHasNoRulesIsNotVisited(t *testing.T) {
	if d := (&turnv1.ToolCall{}).ProtoReflect().Descriptor(); ruled(nil, d) {
		t.Errorf("%s has no rules", d.FullName())
	}
	if d := (&turnv1.Message{}).ProtoReflect().Descriptor(); !ruled(nil, d) || ruled(nil, d.Fields().ByName("tool_calls")) {
		t.Errorf("%s has rules in its content only", d.FullName())
	}
}
