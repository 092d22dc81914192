package eventjson_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/gateway/eventjson"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// The type of an event names its payload; this finds payloads that no type maps to.
func TestEveryPayloadComesBack(t *testing.T) {
	fields := (&turnv1.Event{}).ProtoReflect().Descriptor().Oneofs().ByName("data").Fields()
	types := map[string]string{
		"turn_ended": "turn.failed", "tool_call_arguments_delta": "tool_call.arguments.delta", "turn_cancel_requested": "turn.cancel_requested",
	}
	for i := range fields.Len() {
		fd := fields.Get(i)
		kind := types[fd.TextName()]
		if kind == "" { // the last word is the verb
			cut := strings.LastIndex(fd.TextName(), "_")
			kind = fd.TextName()[:cut] + "." + fd.TextName()[cut+1:]
		}
		ev := &turnv1.Event{
			Seq: 7, Delta: 2, Type: kind, SessionId: "ses_1", TurnId: "trn_1", Step: "infer-1", Attempt: 1, AgentPath: []string{"a", "b"},
			Actor: "worker", TraceId: "t", Time: timestamppb.New(time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)),
		}
		m := ev.ProtoReflect()
		m.Set(fd, m.NewField(fd))
		text, err := eventjson.Encode(ev)
		if err != nil {
			t.Fatal(err)
		}
		back, err := eventjson.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(ev, back) {
			t.Errorf("%s: got %v\nwant %v\ntext %s", kind, back, ev, text)
		}
	}
}

func TestForm(t *testing.T) {
	text, err := eventjson.Encode(&turnv1.Event{
		Seq: 3, Type: "tool_call.completed", SessionId: "ses_1", TurnId: "trn_1",
		Data: &turnv1.Event_ToolCallCompleted{ToolCallCompleted: &turnv1.ToolCallCompleted{Result: &turnv1.ToolResult{
			CallId: "c", Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: "a\nb"}}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil || strings.Contains(string(text), "\n") {
		t.Fatalf("%s: %v", text, err)
	}
	data, _ := got["data"].(map[string]any)
	result, _ := data["result"].(map[string]any)
	if got["seq"] != 3.0 || got["session_id"] != "ses_1" || result["is_error"] != false || data["cached"] != false ||
		got["tool_call_completed"] != nil {
		t.Errorf("got %s", text)
	}
	for _, absent := range []string{"delta", "step", "trace_id", "time"} {
		if _, ok := got[absent]; ok {
			t.Errorf("%s is there: %s", absent, text)
		}
	}
}

func TestNewerServer(t *testing.T) {
	ev, err := eventjson.Decode([]byte(`{"seq":1,"type":"moon.landed","x":1,"data":{"y":2}}`))
	if err != nil || ev.GetType() != "moon.landed" || ev.GetData() != nil {
		t.Errorf("got %v, %v", ev, err)
	}
	ev, err = eventjson.Decode([]byte(`{"seq":1,"type":"message.delta","data":{"text":"a","mood":"good"}}`))
	if err != nil || ev.GetMessageDelta().GetText() != "a" {
		t.Errorf("got %v, %v", ev, err)
	}
	for _, bad := range []string{``, `[]`, `{"seq":-1}`, `{"type":"message.delta","data":3}`} {
		if ev, err := eventjson.Decode([]byte(bad)); err == nil {
			t.Errorf("%q gave %v", bad, ev)
		}
	}
}
