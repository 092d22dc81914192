package rpc

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func conversation(n int) []*turnv1.Message {
	out := make([]*turnv1.Message, n)
	for i := range out {
		out[i] = &turnv1.Message{
			Id: "msg_1", Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{CallId: "call_1"},
			Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: "It is 42."}}},
		}
	}
	return out
}

// transfer sends a message within the process.
func transfer(from, to proto.Message) error {
	p, err := pack(from)
	if err != nil {
		return err
	}
	return p.open(to)
}

func TestSharedFieldsArePassedOn(t *testing.T) {
	req := &inferencev1.GenerateRequest{
		Model: "a/b", Messages: conversation(3), Tools: []*inferencev1.ToolDefinition{{Name: "t"}}, Temperature: new(0.5),
	}
	got := &inferencev1.GenerateRequest{}
	if err := transfer(req, got); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(req, got) {
		t.Errorf("%v arrives as %v", req, got)
	}
	if got.GetMessages()[2] != req.GetMessages()[2] || got.GetTools()[0] == req.GetTools()[0] {
		t.Error("only messages are shared")
	}
	got.Messages[0] = nil // the list is the receiver's
	if req.GetMessages()[0] == nil {
		t.Error("the list is shared")
	}
	load := &executionv1.LoadTurnResponse{Context: &executionv1.GetContextResponse{Messages: req.GetMessages(), Inputs: 2}, ContextBytes: 7}
	loaded := &executionv1.LoadTurnResponse{}
	if err := transfer(load, loaded); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(load, loaded) || loaded.GetContext() == load.GetContext() || loaded.GetContext().GetMessages()[0] != req.GetMessages()[0] {
		t.Errorf("%v arrives as %v", load, loaded)
	}
}

func TestMessagesWithSharedFieldsAreChecked(t *testing.T) {
	for name, req := range map[string]*inferencev1.GenerateRequest{
		"no UTF-8":  {Messages: conversation(1), Instructions: "\xff"},
		"too large": {Messages: []*turnv1.Message{{Reasoning: strings.Repeat("x", MaxMessage)}}},
	} {
		if err := transfer(req, &inferencev1.GenerateRequest{}); err == nil {
			t.Errorf("%s passes", name)
		}
	}
}

// TestAConversationIsNotCopied: each model call takes the whole conversation through two roles.
func TestAConversationIsNotCopied(t *testing.T) {
	req := &inferencev1.GenerateRequest{Messages: conversation(1000)}
	n := testing.AllocsPerRun(20, func() {
		if err := transfer(req, &inferencev1.GenerateRequest{}); err != nil {
			t.Error(err)
		}
	})
	if n > 1100 { // one for each place in the list; copies take seven
		t.Errorf("1,000 messages take %g allocations", n)
	}
}
