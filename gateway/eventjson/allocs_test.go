package eventjson_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/gateway/eventjson"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// TestAllocationsOfEvents bounds what each watcher of a turn costs for each of its events.
func TestAllocationsOfEvents(t *testing.T) {
	text := strings.Repeat("It is 42. ", 20)
	message := &turnv1.Message{
		Id: "msg_1", SessionId: "ses_1", TurnId: "turn_1", Role: turnv1.Role_ROLE_ASSISTANT, Seq: 7, CreateTime: timestamppb.Now(),
		Content:   []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}},
		ToolCalls: []*turnv1.ToolCall{{CallId: "call_1", Tool: "calc__add", ArgumentsJson: `{"a":40,"b":2}`}},
	}
	for _, row := range []struct {
		event *turnv1.Event
		most  float64
	}{
		{&turnv1.Event{Type: "message.delta", Data: &turnv1.Event_MessageDelta{
			MessageDelta: &turnv1.MessageDelta{MessageId: "msg_1", Text: text},
		}}, 16},
		{&turnv1.Event{Type: "message.completed", Data: &turnv1.Event_MessageCompleted{
			MessageCompleted: &turnv1.MessageCompleted{FinishReason: "tool_calls", Message: message, Usage: &turnv1.Usage{InputTokens: 70}},
		}}, 105},
	} {
		e := row.event
		e.Seq, e.SessionId, e.TurnId, e.Step, e.Attempt = 7, "ses_1", "turn_1", "infer-1", 1
		e.Time, e.AgentPath, e.Actor = timestamppb.Now(), []string{"assistant"}, "worker"
		n := testing.AllocsPerRun(100, func() {
			if _, err := eventjson.Encode(e); err != nil {
				t.Error(err)
			}
		})
		if n > row.most {
			t.Errorf("%s takes %g allocations, more than %g", e.GetType(), n, row.most)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	e := &turnv1.Event{
		Seq: 7, Type: "tool_call.completed", SessionId: "ses_1", TurnId: "turn_1", Step: "tool-1-0", Attempt: 1, Time: timestamppb.Now(),
		Data: &turnv1.Event_ToolCallCompleted{ToolCallCompleted: &turnv1.ToolCallCompleted{Result: &turnv1.ToolResult{
			CallId: "call_1", Tool: "calc__add", Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: "42"}}},
		}}},
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := eventjson.Encode(e); err != nil {
			b.Fatal(err)
		}
	}
}
